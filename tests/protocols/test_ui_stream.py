"""The UI-message stream, with the transport and the chat of the npm packages `ai` and `@ai-sdk`."""

import base64

import pytest
from npm_talk import npm_talk

from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.testing import made_files as made
from turnlog.testing.apps import is_problem, served
from turnlog.testing.office import office

slow = pytest.mark.slow


def url(server):
    return str(server.http.base_url).rstrip("/")


def data_url(media_type, content):
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def texts(message):
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def kinds(message):
    return [part["type"] for part in message["parts"]]


@slow
async def test_use_chat_shows_thought_tool_and_answer_and_a_reload_shows_the_same():
    script = [Reply(Thinking("Hm."), "Let me see.", ToolCall("wait")), Reply("It went.")]
    async with served(*script) as server:
        server.go.set()
        session = await server.session()
        await server.http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        async with npm_talk("ui_chat.mjs", url(server), session) as chat:
            live = await chat.tell("ask", "Go")
            again = await chat.tell("reload")
        assert (live["problem"], live["status"]) == (None, "ready")
        _question, answer = live["messages"]
        assert kinds(answer) == ["step-start", "reasoning", "text", "dynamic-tool",
                                 "step-start", "text"]  # fmt: skip
        thought, tool = answer["parts"][1], answer["parts"][3]
        assert thought["text"] == "Hm." and thought["providerMetadata"]["anthropic"]["signature"]
        assert (tool["state"], tool["output"]) == ("output-available", "went")
        assert texts(answer) == ["Let me see.", "It went."]
        assert answer["metadata"]["turnlog"]["usage"]["totalTokens"] > 0
        assert "It went." in live["html"]
        assert [m["id"] for m in again["messages"]][1] == answer["id"]
        assert again["messages"][1]["parts"] == answer["parts"]


@slow
async def test_use_chat_resumes_an_answer_and_shows_it_once():
    async with served(Reply("Before.", ToolCall("wait")), Reply("After.")) as server:
        session = await server.session()
        async with npm_talk("ui_chat.mjs", url(server), session) as chat:
            await server.ask(session, "Go")
            loaded = await chat.tell("reload")
            assert [m["role"] for m in loaded["messages"]] == ["user"]
            chat.say("resume")
            server.go.set()
            resumed = await chat.hear()
            assert [m["role"] for m in resumed["messages"]] == ["user", "assistant"]
            assert texts(resumed["messages"][1]) == ["Before.", "After."]
            nothing = await chat.tell("resume")
            assert nothing["messages"] == resumed["messages"] and nothing["problem"] is None


@slow
@pytest.mark.parametrize("over", [False, True], ids=["still written", "over by now"])
async def test_a_tab_that_lost_its_stream_comes_back_without_a_reload_and_shows_it_once(over):
    async with served(Reply("Before.", ToolCall("wait")), Reply("After.")) as server:
        session = await server.session()
        async with npm_talk("ui_chat.mjs", url(server), session) as chat:
            lost = await chat.tell("lose", "Go")
            assert texts(lost["messages"][1]) == ["Before."]
            if over:
                server.go.set()
                await server.ended()
                back = await chat.tell("comeBack")
            else:
                chat.say("comeBack")
                server.go.set()
                back = await chat.hear()
            again = await chat.tell("reload")
        assert back["problem"] is None
        assert [m["role"] for m in back["messages"]] == ["user", "assistant"]
        assert texts(back["messages"][1]) == ["Before.", "After."]
        assert back["messages"][1]["parts"] == again["messages"][1]["parts"]
        assert server.sim.accepted == 2


@slow
@pytest.mark.parametrize(("approved", "paid"), [(True, [("Bob", 3)]), (False, [])])
@pytest.mark.parametrize("reloaded", [False, True])
async def test_use_chat_decides_on_an_approval(approved, paid, reloaded):
    async with office(Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")) as bureau:
        session = await bureau.session()
        async with npm_talk("ui_chat.mjs", url(bureau), session) as chat:
            asked = await chat.tell("ask", "Pay")
            if reloaded:
                asked = await chat.tell("reload")
            (part,) = [p for p in asked["messages"][1]["parts"] if p["type"] == "dynamic-tool"]
            assert part["state"] == "approval-requested"
            done = await chat.tell("decide", approved)
            again = await chat.tell("reload")
        assert done["problem"] is None
        assert bureau.world.paid == paid
        (question, answer) = done["messages"]
        assert texts(answer) == ["Sure.", "Done."]
        (part,) = [p for p in answer["parts"] if p["type"] == "dynamic-tool"]
        assert part["state"] == ("output-available" if approved else "output-denied")
        assert texts(again["messages"][1]) == ["Sure.", "Done."]


async def test_an_answer_cannot_be_made_anew():
    async with served() as server:
        path = f"/api/sessions/{await server.session()}/ui-stream"
        body = {"messages": [], "trigger": "regenerate-message"}
        detail = is_problem(await server.http.post(path, json=body), 400, "bad_input")
        assert "append-only" in detail


async def test_the_same_message_twice_is_asked_once():
    async with served(Reply("Hello.")) as server:
        path = f"/api/sessions/{await server.session()}/ui-stream"
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
        one, other = [await server.http.post(path, json={"messages": [message]}) for _ in range(2)]
        assert one.text.split("Hello.")[0] == other.text.split("Hello.")[0]
        assert server.sim.accepted == 1
        assert other.text.endswith("data: [DONE]\n\n")


@slow
async def test_use_chat_sends_pictures_and_pdfs_and_a_reload_shows_them():
    async with served(Reply("A square, and a letter.")) as server:
        session = await server.session()
        picture = data_url("image/png", made.picture("PNG", (20, 20)))
        letter = data_url("application/pdf", made.pdf("Dear Sir"))
        files = [
            {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": picture},
            {"type": "file", "mediaType": "application/pdf", "filename": "b.pdf", "url": letter},
        ]
        async with npm_talk("ui_chat.mjs", url(server), session) as chat:
            live = await chat.tell("show", "Look", files)
            again = await chat.tell("reload")
        assert live["problem"] is None and texts(live["messages"][1]) == ["A square, and a letter."]
        kinds_sent = [block["type"] for block in server.sim.requests[0]["messages"][0]["content"]]
        assert kinds_sent == ["image", "document", "text"]
        shown = [part for part in again["messages"][0]["parts"] if part["type"] == "file"]
        assert [part["filename"] for part in shown] == ["a.png", "b.pdf"]
        assert (await server.http.get(shown[0]["url"])).content == made.picture("PNG", (20, 20))


async def test_a_file_of_another_server_is_refused_with_what_to_do():
    async with served() as server:
        path = f"/api/sessions/{await server.session()}/ui-stream"
        part = {"type": "file", "url": "https://ducks.example/a.png", "mediaType": "image/png"}
        message = {"role": "user", "parts": [{"type": "text", "text": "Look"}, part]}
        answer = await server.http.post(path, json={"messages": [message]})
        assert "Other servers are not asked" in is_problem(answer, 400, "bad_input")
