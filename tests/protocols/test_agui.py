"""`/agui`, with the HttpAgent of npm's @ag-ui/client, which checks the order of the events.

What goes over the wire is also read with the models of the Python package `ag-ui-protocol`.
"""

import asyncio
import base64
import json
import uuid

import pytest
from ag_ui.core import Event
from npm_talk import npm_talk
from pydantic import TypeAdapter

from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.simulator.script import invalid_request
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, served
from turnlog.testing.office import office
from turnlog.tokens import mint

slow = pytest.mark.slow
STREAM = TypeAdapter(Event)


def events(response):
    frames = [frame for frame in response.text.split("\n\n") if frame.startswith("data: ")]
    return [json.loads(frame[6:]) for frame in frames]


def url(server):
    return str(server.http.base_url).rstrip("/")


def said(answer):
    return [m["content"] for m in answer["messages"] if m["role"] == "assistant"]


def kinds(answer):
    return [event["type"] for event in answer["events"]]


def talk(server, thread, *more):
    return npm_talk("agui_client.mjs", url(server), thread, *more)


@slow
async def test_a_run_shows_thought_tool_and_answer_and_the_thread_again_the_same():
    script = [Reply(Thinking("Hm."), "Let me see.", ToolCall("wait")), Reply("It went.")]
    async with served(*script) as server:
        server.go.set()
        session = await server.session()
        await server.http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        async with talk(server, session) as agent:
            live = await agent.tell("ask", "Go")
            again = await agent.tell("fresh")
        assert (live["problem"], live["outcome"]) == (None, {"type": "success"})
        assert [STREAM.validate_python(event).type.value for event in live["events"]] == kinds(live)
        roles = ["user", "reasoning", "assistant", "tool", "assistant"]
        assert [m["role"] for m in live["messages"]] == roles
        assert [m["role"] for m in again["messages"]] == roles
        assert live["messages"][1]["encryptedValue"]
        assert live["messages"][3]["content"] == "went"
        for one, other in zip(live["messages"][1:], again["messages"][1:], strict=True):
            names = ("id", "role", "content", "toolCalls", "toolCallId")
            assert {n: one.get(n) for n in names} == {n: other.get(n) for n in names}
        kept = (await server.http.get(f"/api/sessions/{session}/messages")).json()["events"]
        ids = [event["messageId"] for event in kept if event["type"] == "message"]
        assert [m["id"] for m in live["messages"] if m["role"] == "assistant"] == ids
        assert live["state"]["turn"]["usage"]["totalTokens"] > 0


@slow
async def test_a_client_that_lost_its_run_gets_it_again_and_nothing_is_asked_twice():
    async with served(Reply("Before.", ToolCall("wait")), Reply("After.")) as server:
        thread, run = str(uuid.uuid4()), {"runId": "run-1"}
        async with talk(server, thread) as lost, talk(server, thread) as back:
            lost.say("ask", "Go", run)
            while not server.sim.accepted:
                await server.http.get("/healthz")
            back.say("fresh")
            server.go.set()
            for answer in (await lost.hear(), await back.hear(), await lost.tell("run", run)):
                assert answer["problem"] is None
                assert said(answer) == ["Before.", "After."]
        assert server.sim.accepted == 2


@slow
@pytest.mark.parametrize(
    ("payload", "paid"),
    [({"approved": True}, [("Bob", 3)]), ({"approved": False, "reason": "no"}, []),
     ({"approved": True, "args": {"amount": 1}}, [("Bob", 1)])],
)  # fmt: skip
async def test_a_person_resumes_an_interrupt(payload, paid):
    async with office(Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")) as bureau:
        async with talk(bureau, "my thread") as agent:
            asked = await agent.tell("ask", "Pay")
            again = await agent.tell("fresh")
            (interrupt,) = asked["outcome"]["interrupts"]
            assert again["outcome"]["interrupts"][0]["id"] == interrupt["id"]
            entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            done = await agent.tell("run", {"resume": [entry]})
        assert (done["problem"], done["outcome"]) == (None, {"type": "success"})
        assert bureau.world.paid == paid
        assert said(done) == ["Sure.", "Done."]


@slow
async def test_a_tool_of_the_client_is_run_by_the_client():
    call = Reply(ToolCall("ask_color", {"of": "ducks"}))
    async with served(call, Reply("They are red.")) as server:
        schema = {"type": "object", "properties": {"of": {"type": "string"}}}
        tool = {"name": "ask_color", "description": "Asks the user.", "parameters": schema}
        async with talk(server, "t") as agent:
            asked = await agent.tell("ask", "Which color?", {"tools": [tool]})
            (pending,) = asked["outcome"]["pendingToolCallIds"]
            done = await agent.tell("tool", pending, '{"color": "red"}')
        assert done["problem"] is None
        assert done["messages"][-1]["content"] == "They are red."
        offered = [tool["name"] for tool in server.sim.requests[0]["tools"]]
        assert "ask_color" in offered
        result = server.sim.requests[1]["messages"][-1]["content"][0]
        assert '{"color":"red"}' in str(result["content"]) and "changed" not in str(result)


@slow
async def test_the_client_runs_one_tool_after_the_other():
    calls = [Reply(ToolCall("ask_color", {"of": of})) for of in ("ducks", "geese")]
    tool = {"name": "ask_color", "description": "Asks.", "parameters": {"type": "object"}}
    async with served(*calls, Reply("They differ.")) as server:
        async with talk(server, "t") as agent:
            told = await agent.tell("ask", "Which color?", {"tools": [tool]})
            for color in ("red", "grey"):
                (pending,) = told["outcome"]["pendingToolCallIds"]
                told = await agent.tell("tool", pending, color)
        assert (told["problem"], told["messages"][-1]["content"]) == (None, "They differ.")


@slow
async def test_a_message_brings_its_files_along():
    picture = base64.b64encode(made.picture("PNG", (20, 20))).decode()
    letter = base64.b64encode(made.pdf("Dear Sir")).decode()
    source = {"type": "data", "value": picture, "mimeType": "image/png"}
    paper = {"type": "data", "value": letter, "mimeType": "application/pdf"}
    content = [{"type": "text", "text": "Look"}, {"type": "image", "source": source},
               {"type": "document", "source": paper}]  # fmt: skip
    async with served(Reply("A square."), Reply("Again.")) as server:
        async with talk(server, "t") as agent:
            live = await agent.tell("ask", content)
            again = await agent.tell("fresh")
        assert said(live) == ["A square."]
        kinds_sent = [block["type"] for block in server.sim.requests[0]["messages"][0]["content"]]
        assert kinds_sent == ["image", "document", "text"]
        shown = again["messages"][0]["content"]
        assert [part["type"] for part in shown] == ["text", "image", "document"]
        old = {"type": "binary", "mimeType": "image/png", "data": picture, "filename": "a.png"}
        message = {"role": "user", "content": [content[0], old]}  # as before 1.0
        body = {"threadId": "old", "runId": "r", "messages": [message]}
        told = events(await server.http.post("/agui", json=body))
        assert told[-1]["outcome"] == {"type": "success"}


@slow
async def test_a_thread_belongs_to_who_named_it():
    async with served(Reply("For Alice."), Reply("For Bob."), secret=SECRET) as server:
        tokens = [mint(SECRET, name) for name in ("alice", "bob")]
        async with talk(server, "same", tokens[0]) as alice, talk(server, "same", tokens[1]) as bob:
            assert said(await alice.tell("ask", "Hi")) == ["For Alice."]
            assert (await bob.tell("fresh"))["messages"] == []
            assert said(await bob.tell("ask", "Hi")) == ["For Bob."]
            assert said(await alice.tell("fresh")) == ["For Alice."]


@pytest.mark.parametrize(("version", "outcome"), [("1.0", "cancelled"), (None, "success")])
async def test_an_old_client_is_told_no_outcome_that_it_does_not_know(version, outcome):
    async with served(Reply("Before.", ToolCall("wait"))) as server:
        session = await server.session()
        body = {"threadId": session, "runId": "r", "messages": [{"role": "user", "content": "Go"}]}
        body |= {"protocolVersion": version} if version else {}
        running = asyncio.create_task(server.http.post("/agui", json=body))
        while not server.sim.accepted:
            await server.http.get("/healthz")
        await server.http.post(f"/api/sessions/{session}/stop")
        assert events(await running)[-1]["outcome"] == {"type": outcome}


async def test_what_fails_is_a_run_error():
    async with served(invalid_request("No.")) as server:
        body = {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "Hi"}]}
        told = events(await server.http.post("/agui", json=body))
        assert [STREAM.validate_python(event).type.value for event in told][-1] == "RUN_ERROR"


async def test_bob_cannot_answer_what_alice_is_asked():
    script = [Reply(ToolCall("pay", {"amount": 3}))]
    async with office(*script, secret=SECRET) as bureau:
        body = {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "Pay"}]}
        told = events(await bureau.http.post("/agui", json=body, headers=as_user("alice")))
        (interrupt,) = told[-1]["outcome"]["interrupts"]
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
        answer = {"threadId": "t", "runId": "r2", "resume": [entry]}
        refused = await bureau.http.post("/agui", json=answer, headers=as_user("bob"))
        assert refused.status_code == 404
        assert bureau.world.paid == []
