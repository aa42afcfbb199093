"""`/chatkit`: 002's flow over the package's own models, with our log behind it."""

import asyncio
import json
import logging
import re

import httpx2
import pytest
from chatkit.types import Attachment, Page, Thread, ThreadItem, ThreadMetadata, ThreadStreamEvent
from pydantic import TypeAdapter

from turnlog import Settings, create_app
from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, client_of, is_problem, served
from turnlog.testing.office import office

EVENT = TypeAdapter(ThreadStreamEvent)


def said(text, **more):
    content = [{"type": "input_text", "text": text}]
    return {"content": content, "attachments": [], "inference_options": {}, **more}


class ChatKit:
    """A client that reads every answer with the package's models."""

    def __init__(self, http, **headers):
        self._http = http
        self._headers = headers

    async def post(self, type, **params):
        body = {"type": type, "params": params}
        return await self._http.post("/chatkit", json=body, headers=self._headers)

    async def events(self, type, **params):
        answer = await self.post(type, **params)
        assert answer.status_code == 200, answer.text
        frames = [f for f in answer.text.split("\n\n") if f.startswith("data: ")]
        return [EVENT.validate_json(frame[6:]) for frame in frames]

    async def create(self, text):
        events = await self.events("threads.create", input=said(text))
        return events[0].thread.id, events

    async def ask(self, thread, text, **more):
        given = said(text, **more)
        return await self.events("threads.add_user_message", thread_id=thread, input=given)

    async def load(self, thread):
        answer = await self.post("threads.get_by_id", thread_id=thread)
        return Thread.model_validate_json(answer.content)

    async def items(self, thread, **params):
        answer = await self.post("items.list", thread_id=thread, **params)
        return Page[ThreadItem].model_validate_json(answer.content)


def done(events):
    """The items that were shown as whole, in the end."""
    found = {}
    for event in events:
        if event.type in ("thread.item.done", "thread.item.replaced"):
            found[event.item.id] = event.item
    return list(found.values())


def texts(items):
    return [i.content[0].text for i in items if i.type == "assistant_message"]


def tools(items):
    flows = [i.workflow for i in items if i.type == "workflow" and i.workflow.type == "custom"]
    return [flow.tasks[0].title for flow in flows]


async def test_the_stream_and_the_reload_have_the_same_items():
    script = [Reply(Thinking("Hm."), "Let me see.", ToolCall("wait")), Reply("It went.")]
    async with served(*script) as server:
        server.go.set()
        chat = ChatKit(server.http)
        session = await server.session()
        await server.http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        live = done(await chat.ask(session, "Go"))
        kinds = ["user_message", "workflow", "assistant_message", "workflow", "assistant_message"]
        assert [item.type for item in live] == kinds
        loaded = (await chat.load(session)).items.data
        assert [item.id for item in loaded] == [item.id for item in live]
        without = {"created_at"}
        assert [i.model_dump(exclude=without) for i in loaded] == [
            i.model_dump(exclude=without) for i in live
        ]
        kept = (await server.http.get(f"/api/sessions/{session}/messages")).json()["events"]
        assert kept[0]["messageId"] == live[0].id
        ids = [event["messageId"] for event in kept if event["type"] == "message"]
        assert [item.id for item in live if item.type == "assistant_message"] == ids


@pytest.mark.parametrize("name", ["a.png", "b.pdf", "c.csv"])
async def test_a_file_is_uploaded_and_sent_with_the_first_message_of_a_thread(name):
    contents = {"a.png": made.picture("PNG", (20, 20)), "b.pdf": made.pdf("Dear Sir"),
                "c.csv": b"name,amount\nBob,3\n"}  # fmt: skip
    async with served(Reply("I see."), secret=SECRET) as server:
        alice, bob = (ChatKit(server.http, **as_user(name)) for name in ("alice", "bob"))
        sent = await server.http.post(
            "/chatkit/attachments", files={"file": (name, contents[name])}, headers=as_user("alice")
        )
        attachment = TypeAdapter(Attachment).validate_json(sent.content)
        given = said("Look") | {"attachments": [attachment.id]}
        stolen = await bob.post("threads.create", input=given)
        assert "There is no file" in stolen.text and server.sim.accepted == 0
        events = await alice.events("threads.create", input=given)
        assert texts(done(events)) == ["I see."]
        question = (await alice.load(events[0].thread.id)).items.data[0]
        assert [(one.id, one.name) for one in question.attachments] == [(attachment.id, name)]
        await bob.post("attachments.delete", attachment_id=attachment.id)
        path = f"/api/files/{attachment.id}/content"
        kept = await server.http.get(path, headers=as_user("alice"))
        assert kept.content == contents[name]
        await alice.post("attachments.delete", attachment_id=attachment.id)
        assert (await server.http.get(path, headers=as_user("alice"))).status_code == 404


async def test_an_upload_that_cannot_be_taken_is_refused_with_a_sentence():
    async with served() as server:
        chat = ChatKit(server.http)
        wrong = {"file": ("a.exe", b"MZ" + bytes(5000))}
        refused = await server.http.post("/chatkit/attachments", files=wrong)
        assert "must be" in is_problem(refused, 400, "unreadable_file")
        is_problem(await server.http.post("/chatkit/attachments", json={}), 400, "bad_input")
        about = {"name": "a.png", "size": 5, "mime_type": "image/png"}
        assert "`direct`" in is_problem(
            await chat.post("attachments.create", **about), 400, "bad_input"
        )


async def test_a_thread_gets_its_title_and_is_listed_renamed_and_archived():
    async with served(Reply("Hello.")) as server:
        chat = ChatKit(server.http)
        thread, _ = await chat.create("Ducks")
        await chat.post("threads.update", thread_id=thread, title="Geese")
        listed = Page[ThreadMetadata].model_validate_json((await chat.post("threads.list")).content)
        assert [(one.id, one.title) for one in listed.data] == [(thread, "Geese")]
        await chat.post("threads.delete", thread_id=thread)
        listed = Page[ThreadMetadata].model_validate_json((await chat.post("threads.list")).content)
        assert listed.data == []


async def test_the_last_items_are_really_the_last_and_pages_hold_every_item_once():
    async with served(*[Reply(f"Answer {n}.") for n in range(15)]) as server:
        chat = ChatKit(server.http)
        thread, _ = await chat.create("Question 0")
        for n in range(1, 15):
            await chat.ask(thread, f"Question {n}")
        loaded = (await chat.load(thread)).items.data
        assert len(loaded) == 20
        assert texts(loaded)[-1] == "Answer 14." and texts(loaded)[0] == "Answer 5."
        found, after = [], None
        while True:
            page = await chat.items(thread, limit=7, order="desc", after=after)
            found += page.data
            if not page.has_more:
                break
            after = page.after
        assert len(found) == len({item.id for item in found}) == 30
        assert texts(found) == [f"Answer {n}." for n in reversed(range(15))]


@pytest.mark.parametrize(("approved", "paid"), [(True, [("Bob", 3)]), (False, [])])
async def test_an_approval_is_a_widget_with_buttons(approved, paid):
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")]
    async with office(*script) as bureau:
        chat = ChatKit(bureau.http)
        thread, events = await chat.create("Pay")
        (widget,) = [item for item in done(events) if item.type == "widget"]
        buttons = widget.widget.children[1].children
        action = buttons[0 if approved else 1].onClickAction.model_dump()
        params = {"thread_id": thread, "item_id": widget.id, "action": action}
        decided = await chat.events("threads.custom_action", **params)
        assert bureau.world.paid == paid
        assert texts(done(decided)) == ["Done."]
        loaded = (await chat.load(thread)).items.data
        (card,) = [item for item in loaded if item.type == "widget"]
        assert "llowed by local" in card.model_dump_json()
        again = await chat.events("threads.custom_action", **params)
        assert again[-1].type == "error" and bureau.world.paid == paid


async def test_a_stream_that_is_cancelled_keeps_what_was_said():
    async with served(Reply("Half of it.", ToolCall("wait"))) as server:
        body = {"type": "threads.create", "params": {"input": said("Go")}}
        async with server.http.stream("POST", "/chatkit", json=body) as response:
            seen = b""
            async for piece in response.aiter_bytes():
                seen += piece
                if b'"loading"' in seen:
                    break
        thread = json.loads(seen.split(b"\n\n")[0][6:])["thread"]["id"]
        await server.ended()
        loaded = (await ChatKit(server.http).load(thread)).items.data
        assert texts(loaded)[0] == "Half of it."
        assert [event.type for event in await server.kept(thread)].count("tool_result") == 1


async def test_feedback_is_kept_and_shown_to_nobody():
    async with served(Reply("Hello.")) as server:
        chat = ChatKit(server.http)
        thread, events = await chat.create("Hi")
        answer = done(events)[-1]
        told = await chat.post(
            "items.feedback", thread_id=thread, item_ids=[answer.id], kind="negative"
        )
        assert told.status_code == 200
        (given,) = [e for e in await server.kept(thread) if e.type == "feedback_given"]
        assert (given.message_ids, given.positive, given.given_by) == ([answer.id], False, "local")
        shown = await server.http.get(f"/api/sessions/{thread}/messages")
        assert "feedback" not in shown.text


async def test_what_is_wrong_is_said():
    async with served() as server:
        chat = ChatKit(server.http)
        is_problem(await chat.post("threads.nonsense"), 400, "bad_input")
        for limit in (-1, 0, 10**30):
            is_problem(await chat.post("threads.list", limit=limit), 400, "bad_input")
        deep = b'{"type": "threads.list", "params": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}"
        is_problem(await server.http.post("/chatkit", content=deep), 400, "bad_input")
        retry = await chat.post("threads.retry_after_item", thread_id="x", item_id="y")
        assert "append-only" in is_problem(retry, 400, "bad_input")
        (*_, error) = await chat.events("threads.create", input=said(" "))
        assert (error.type, "empty" in error.message) == ("error", True)


async def test_bob_sees_nothing_of_alices():
    async with served(Reply("For Alice."), secret=SECRET) as server:
        alice, bob = (ChatKit(server.http, **as_user(name)) for name in ("alice", "bob"))
        thread, events = await alice.create("Hi")
        item = done(events)[-1].id
        action = {"type": "turnlog.decide", "payload": {}}
        for type, more in [
            ("threads.get_by_id", {}),
            ("items.list", {}),
            ("threads.update", {"title": "x"}),
            ("threads.delete", {}),
            ("threads.add_user_message", {"input": said("Hi")}),
            ("items.feedback", {"item_ids": [item], "kind": "positive"}),
            ("threads.custom_action", {"action": action}),
        ]:
            refused = await bob.post(type, thread_id=thread, **more)
            is_problem(refused, 404, "not_found")
        assert "For Alice." not in (await bob.post("threads.list")).text
        is_problem(await ChatKit(server.http).post("threads.list"), 401, "unauthorized")


async def test_the_page_speaks_the_protocol_and_loads_nothing_from_elsewhere():
    async with served() as server:
        page = await server.http.get("/chatkit")
        assert page.status_code == 200 and "threads.create" in page.text
        assert not re.search(r"(src|href)=|https?://", page.text)
        assert "connect-src 'self'" in page.headers["content-security-policy"]


# 002: the four dialogues and the seven verification points, with the task tools over MCP


async def test_the_dialogues_of_002(caplog, hurried):
    caplog.set_level(logging.INFO)
    app = create_app(settings=Settings(api_key=None), store=MemoryStore())
    async with app, client_of(app) as http:
        assert isinstance(http, httpx2.AsyncClient)
        for n in range(12):
            await app.tasks.add_task("local", title=f"Task {n}", description="", at="t")
        session = await app.create_session("local", agent="tasks")
        chat = ChatKit(http)
        shown = []

        async def dialogue(text):
            items = done(await chat.ask(session.id, text))
            shown.extend(items)
            return items

        greeting = await dialogue("hello, how are you?")
        assert tools(greeting) == []  # 6: greetings call no tool
        assert "task" not in texts(greeting)[-1].lower()
        listed = await dialogue("show me my tasks")
        assert tools(listed) == ["list_tasks"]  # 7: queries do
        assert "12 tasks" in texts(listed)[-1]
        deleted = await dialogue("delete all my tasks")
        assert tools(deleted) == ["list_tasks", *["delete_task"] * 12, "list_tasks"]
        assert await app.tasks.list_tasks("local") == []  # 3: the database is as the answer says
        before = [item.id for item in shown]
        name = await dialogue("what is your name?")
        assert tools(name) == [] and "Todo AI Assistant" in texts(name)[-1]
        assert len({item.id for item in shown}) == len(shown)  # 4: ids are unique
        found, after = [], None
        while True:
            page = await chat.items(session.id, limit=20, order="desc", after=after)
            found, after = [*found, *page.data], page.after
            if not page.has_more:
                break
        ids = [item.id for item in reversed(found)]
        assert ids == [item.id for item in shown]  # 5: appended, never overwritten
        assert ids[: len(before)] == before
        await asyncio.sleep(0)
    log = caplog.text
    assert "list_tasks" in log and "delete_task" in log  # 1, 2: the tools, and each call


async def test_every_time_has_a_zone_and_a_question_has_the_time_of_the_log():
    async with served(Reply("Hello.")) as server:
        chat = ChatKit(server.http)
        thread, events = await chat.create("Hi")
        shown = [event.thread for event in events if hasattr(event, "thread")] + done(events)
        loaded = await chat.load(thread)
        times = [each.created_at for each in [*shown, loaded, *loaded.items.data]]
        assert [time.tzinfo for time in times if time.tzinfo is None] == []
        assert done(events)[0].created_at == loaded.items.data[0].created_at
