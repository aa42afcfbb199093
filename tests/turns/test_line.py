"""Messages that wait in line: kept over restarts, asked in order and once, on any node."""

import asyncio
from contextlib import suppress

import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.buses.memory import MemoryBus
from turnlog.errors import BeingDeleted, Closing, NotFound, Reused, TooMany
from turnlog.events import kinds as k
from turnlog.events.clock import now
from turnlog.events.ids import new_id
from turnlog.ports import Decision, InLine, Question, Waiting
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.transports import wire
from turnlog.turns.healer import Healer

USER = "ann"
WAITS = Reply("Let me see.", ToolCall("wait"))


@tool(writes=False)
async def wait() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return ""


@tool(approval="always")
async def pay() -> str:
    """A person is asked first."""
    return "paid"


class Place:
    """Nodes on one store, or one after the other, and one session."""

    def __init__(self, url):
        self._settings = Settings(api_key="k", base_url=url, grace=0.0)
        self.session = ""

    async def node(self, store, bus=None):
        bus = bus or MemoryBus(wire.encode)
        agent = Agent("a", tools=[wait, pay])
        app = create_app([agent], settings=self._settings, store=store, bus=bus)
        await app.__aenter__()
        if not self.session:
            self.session = (await app.create_session(USER)).id
        return app

    def ask(self, node, message, **more):
        return node.start_turn(USER, self.session, Question(message=message, **more))

    def enqueue(self, node, message, **more):
        return asyncio.create_task(self.ask(node, message, on_busy="enqueue", **more))

    async def in_line(self, node, count):
        while len(await node.store.line.turn_ids(self.session)) < count:
            await asyncio.sleep(0)

    async def left_in_line(self, node):
        """Two sessions with a message in line each, whose process has died."""
        sessions = [self.session, (await node.create_session(USER)).id]
        for self.session in sessions:
            await self.ask(node, "wait")
            await node.store.line.join(
                Waiting(
                    turn_id=new_id(),
                    session_id=self.session,
                    user_id=USER,
                    question=Question(message="next", on_busy="enqueue"),
                    created_at=now(),
                )
            )
            await node.stop_turn(USER, self.session)
        return sessions

    async def asked(self, node, count):
        """What was asked, once there are so many questions and no turn runs."""
        while True:
            log = await node.store.read(USER, self.session)
            asked = [e.event.content for e in log if isinstance(e.event, k.UserMessageSent)]
            idle = (await node.store.get_session(USER, self.session)).state == "idle"
            if len(asked) >= count and idle:
                assert prove(await node.store.evidence(self.session)).problems == []
                return asked
            await asyncio.sleep(0)


@pytest.fixture
async def claude():
    def answer(body):
        last = body["messages"][-1]["content"][-1]
        if last["type"] == "tool_result":
            return Reply("Done.")
        return {"wait": WAITS, "pay": Reply(ToolCall("pay"))}.get(last["text"], Reply("Yes."))

    async with SimulatedClaude(answer=answer, pace=0).serve() as url, asyncio.timeout(60):
        yield url


async def test_a_line_is_kept_over_a_restart(claude, tmp_path):
    place = Place(claude)
    before = await place.node(SqliteStore(tmp_path))
    await place.ask(before, "wait")
    tasks = []
    for count, message in enumerate(("one", "two"), 1):
        tasks.append(place.enqueue(before, message, request_id=message))
        await place.in_line(before, count)
    await before.__aexit__()
    for task in tasks:
        with pytest.raises(Closing):
            await task
    after = await place.node(SqliteStore(tmp_path))
    again = await place.ask(after, "two", request_id="two")  # whoever sends it again finds it
    assert await place.asked(after, 3) == ["wait", "one", "two"]
    assert (await after.store.newest_turn(USER, place.session)).id == again.turn_id
    assert await after.store.line.turn_ids(place.session) == []
    await after.__aexit__()


@pytest.mark.parametrize("is_in_line", [True, False])
async def test_whoever_looks_at_the_line_while_the_server_closes_is_told_so(
    claude, tmp_path, is_in_line
):
    place = Place(claude)
    app = await place.node(SqliteStore(tmp_path))
    await place.ask(app, "wait")
    question = Question(message="one", on_busy="enqueue")
    waits = app.accept(USER, place.session, question)
    if is_in_line:
        waits = app.begun(await waits)
    looks, closed, look = asyncio.Event(), asyncio.Event(), app.store.line.turn_ids

    async def look_late(session_id):
        looks.set()
        await closed.wait()
        return await look(session_id)

    app.store.line.turn_ids = look_late
    waiting = asyncio.create_task(waits)
    app._turns._wakes.wake_all()
    await looks.wait()
    await app.__aexit__()
    closed.set()
    with pytest.raises(Closing):
        await waiting


async def test_another_node_goes_on_with_the_line_of_one_that_died(claude):
    place = Place(claude)
    one = await place.node(MemoryStore("one"))
    two = await place.node(MemoryStore("two", one.store), MemoryBus(wire.encode, beside=one.bus))
    await place.ask(one, "wait")
    lost = place.enqueue(one, "next")
    await place.in_line(one, 1)
    del one.bus._listeners[one.bus._line]  # it hears nothing, and is dead to the others
    await one.store.close()
    lost.cancel()
    await two.stop_turn(USER, place.session)
    await two._healer.look()
    assert await place.asked(two, 2) == ["wait", "next"]
    await two.__aexit__()
    with suppress(Exception):
        await one.__aexit__()


async def test_a_message_in_line_outlives_a_turn_that_another_process_settles(claude, monkeypatch):
    """It withdraws the open question, and finds that another process has just decided it."""
    place = Place(claude)
    one = await place.node(MemoryStore("one"))
    two = await place.node(MemoryStore("two", one.store), MemoryBus(wire.encode, beside=one.bus))
    turn = await place.ask(one, "pay")
    await one._turns.rest(turn.turn_id)
    (approval,) = await one.store.list_approvals(USER, status="pending")
    claim = two.store.claim_waiting

    async def too_late(*where):
        monkeypatch.setattr(two.store, "claim_waiting", claim)
        await one.answer_approval(USER, approval.id, Decision(approved=True))
        return await claim(*where)

    monkeypatch.setattr(two.store, "claim_waiting", too_late)
    await place.ask(two, "next", on_busy="enqueue")
    assert await place.asked(two, 2) == ["pay", "next"]
    (decided,) = await one.store.list_approvals(USER)
    assert decided.status == "approved"
    await two.__aexit__()
    await one.__aexit__()


async def test_a_request_in_line_is_one_whoever_repeats_it(claude):
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    first = place.enqueue(node, "next", request_id="r")
    await place.in_line(node, 1)
    with pytest.raises(Reused):
        await place.ask(node, "something else", request_id="r")
    again = asyncio.create_task(place.ask(node, "next", request_id="r"))  # would be refused else
    await node.stop_turn(USER, place.session)
    assert (await first) == (await again)
    assert await place.asked(node, 2) == ["wait", "next"]
    await node.__aexit__()


async def test_what_cannot_be_asked_any_more_is_ended_with_the_reason(claude, monkeypatch):
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    files = node._attachments.get

    async def there(user_id, file_id):
        raise NotFound("deleted") if file_id == "gone" else AssertionError(file_id)

    class Kept:
        facts, details = {"id": "gone", "mediaType": "text/plain", "size": 1}, {}

    async def still_there(user_id, file_id):
        return Kept

    monkeypatch.setattr(node._attachments, "get", still_there)
    first = place.enqueue(node, "with a file", file_ids=["gone"])
    await place.in_line(node, 1)
    second = place.enqueue(node, "next")
    await place.in_line(node, 2)
    monkeypatch.setattr(node._attachments, "get", there)
    await node.stop_turn(USER, place.session)
    refused = (await first).turn_id
    monkeypatch.setattr(node._attachments, "get", files)
    await second
    assert await place.asked(node, 3) == ["wait", "with a file", "next"]
    log = await node.store.read(USER, place.session)
    message, error = [entry.event for entry in log if entry.turn_id == refused]
    assert (message.files, error.code, error.error) == ([], "not_found", "deleted")
    await node.__aexit__()


async def test_a_message_whose_wish_cannot_be_met_any_more_is_kept_with_the_reason(claude):
    place = Place(claude)
    node = await place.node(MemoryStore())
    await node.change_session(USER, place.session, thinking_enabled=True)
    await place.ask(node, "wait")
    first = place.enqueue(node, "next", thinking_budget=2_000)
    await place.in_line(node, 1)
    await node.change_session(USER, place.session, thinking_enabled=False)
    await node.stop_turn(USER, place.session)
    refused = (await first).turn_id
    assert await place.asked(node, 2) == ["wait", "next"]
    log = await node.store.read(USER, place.session)
    assert [entry.event for entry in log if entry.turn_id == refused][-1].code == "bad_input"
    await node.__aexit__()


async def test_what_cannot_even_be_kept_leaves_the_line(claude, monkeypatch):
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    first = place.enqueue(node, "next")
    await place.in_line(node, 1)

    async def never(*args):
        raise NotFound("There is no such agent.")

    monkeypatch.setattr(node._turns._lines, "_begin", never)
    await node.stop_turn(USER, place.session)
    with pytest.raises(NotFound, match="Send it again"):
        await first
    assert await place.asked(node, 1) == ["wait"]
    await node.__aexit__()


async def test_whoever_sends_a_message_has_its_place_at_once_and_may_go(claude, monkeypatch):
    monkeypatch.setattr(Healer.__init__, "__defaults__", (600.0,))  # nobody looks by themselves
    monkeypatch.setattr("turnlog.turns.waiting.line.LOOKS_EVERY", 600.0)
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    questions = [Question(message=each, on_busy="enqueue") for each in ("one", "two")]
    accepted = [await node.accept(USER, place.session, each) for each in questions]
    assert [each.place for each in accepted if isinstance(each, InLine)] == [1, 2]
    waits = asyncio.create_task(node.begun(accepted[1]))
    await asyncio.sleep(0)
    waits.cancel()  # it gives up; its message does not
    await node.stop_turn(USER, place.session)
    async with asyncio.timeout(5):
        assert await place.asked(node, 3) == ["wait", "one", "two"]
    begun = [await node.begun(each) for each in accepted]
    assert [turn.turn_id for turn in begun] == [each.turn_id for each in accepted]
    await node.__aexit__()


@pytest.mark.parametrize("error", [BeingDeleted("at this moment"), RuntimeError("a bug")])
async def test_a_message_that_fails_holds_up_no_other_session(claude, monkeypatch, error):
    place = Place(claude)
    node = await place.node(MemoryStore())
    sessions = await place.left_in_line(node)
    begin = node._turns._lines._begin

    async def fails_in_one(waiting, because):
        if waiting.session_id == sessions[0]:
            raise error
        return await begin(waiting, because)

    monkeypatch.setattr(node._turns._lines, "_begin", fails_in_one)
    await node._healer.look()
    assert await place.asked(node, 2) == ["wait", "next"]
    place.session = sessions[0]
    assert len(await node.store.line.turn_ids(place.session)) == 1  # it is tried again
    monkeypatch.setattr(node._turns._lines, "_begin", begin)
    await node._healer.look()
    assert await place.asked(node, 2) == ["wait", "next"]
    await node.__aexit__()


async def test_a_message_that_cannot_be_read_holds_up_no_other_session(claude, monkeypatch):
    """As one that a newer version wrote."""
    place, store = Place(claude), MemoryStore()
    node = await place.node(store)
    sessions = await place.left_in_line(node)
    (unreadable,), get = await store.line.turn_ids(sessions[0]), store.line.get

    async def fails_for_one(turn_id):
        if turn_id == unreadable:
            raise ValueError("no question")
        return await get(turn_id)

    monkeypatch.setattr(store.line, "get", fails_for_one)
    await node._healer.look()
    assert await place.asked(node, 2) == ["wait", "next"]
    await node.__aexit__()


async def test_the_line_of_a_session_is_bounded(claude, monkeypatch):
    monkeypatch.setattr("turnlog.stores.memory.line.MOST_IN_LINE", 1)
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    waits = place.enqueue(node, "next")
    await place.in_line(node, 1)
    with pytest.raises(TooMany):
        await place.ask(node, "one more", on_busy="enqueue")
    await node.__aexit__()
    with pytest.raises(Closing):
        await waits
