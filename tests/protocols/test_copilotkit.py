"""CopilotKit from npm, its runtime and its client, with `/agui` as its agent."""

import nodejs
import pytest
from npm_talk import npm_talk

from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import served
from turnlog.testing.office import office

pytestmark = pytest.mark.soak


def talk(server, thread):
    url = str(server.http.base_url).rstrip("/")
    return npm_talk("copilotkit.mjs", url, thread, folder=nodejs.COPILOTKIT)


def said(answer):
    assert answer["problem"] is None
    return [m.get("content") for m in answer["messages"] if m["role"] == "assistant"]


@pytest.mark.parametrize(("approved", "paid"), [(True, [("Bob", 3)]), (False, [])])
async def test_a_person_decides_in_copilotkit_and_the_conversation_goes_on(approved, paid):
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done."), Reply("Bye.")]
    async with office(*script) as bureau:
        session = await bureau.session()
        async with talk(bureau, session) as copilot:
            asked = await copilot.tell("ask", "Pay")
            (interrupt,) = asked["outcome"]["interrupts"]
            assert said(asked) == ["Sure."] and bureau.world.paid == []
            payload = {"approved": approved}
            entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            assert said(await copilot.tell("resume", [entry])) == ["Sure.", "Done."]
            live = await copilot.tell("ask", "Thanks")
            again = await copilot.tell("again")
        assert bureau.world.paid == paid
        assert said(live) == said(again) == ["Sure.", "Done.", "Bye."]
        kept = (await bureau.http.get(f"/api/sessions/{session}/messages")).json()["events"]
        ids = [event["messageId"] for event in kept if event["type"] == "message"]
        assert [m["id"] for m in live["messages"] if m["role"] == "assistant"] == ids


async def test_a_tool_of_the_page_is_run_by_copilotkit():
    call = Reply(ToolCall("ask_color", {"of": "Ducks"}))
    async with served(call, Reply("They are red.")) as server:
        async with talk(server, "a name of its own") as copilot:
            done = await copilot.tell("ask", "Which color?")
        assert said(done)[-1] == "They are red."
        result = server.sim.requests[1]["messages"][-1]["content"][0]
        assert "Ducks are red" in str(result["content"])
