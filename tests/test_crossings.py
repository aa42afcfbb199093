"""Decisions that cross a stop, a new message, the clock, a shutdown or the death of a process."""

import asyncio
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import is_problem
from turnlog.testing.office import office
from turnlog.turns.waiting import resting

PAY = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
PAY_TWICE = Reply(ToolCall("pay", {"amount": 1}, "one"), ToolCall("pay", {"amount": 2}, "two"))
SLOWLY = ToolCall("pay_slowly", {"amount": 1})
DONE = Reply("Done.")
LATER = "2999-01-01T00:00:00.000Z"


class Gate:
    """Holds up those who come through it, once it is closed."""

    def __init__(self):
        self.open = asyncio.Event()
        self.reached = asyncio.Event()
        self.open.set()

    async def __call__(self):
        self.reached.set()
        await self.open.wait()

    def close(self):
        self.open.clear()
        self.reached.clear()


class GatedStore(MemoryStore):
    """A store whose disk takes as long as a test wants."""

    def __init__(self):
        super().__init__()
        self.deciding, self.resuming, self.answering = Gate(), Gate(), Gate()

    async def append(self, turn, events, complete=None):
        if any(isinstance(p.event, k.ApprovalResolved) for p in events):
            await self.deciding()
        elif any(isinstance(p.event, k.ToolResult) for p in events):
            await self.answering()
        return await super().append(turn, events, complete)

    async def started_tools(self, turn):
        await self.resuming()
        return await super().started_tools(turn)


async def agents_of(desk, session):
    """Who speaks in the messages of the session."""
    rows = (await desk.app.store.evidence(session)).log
    return {row.agent_id for row in rows if row.type in ("message", "tool_result")}


async def test_a_refused_answer_is_no_voice_in_the_turn():
    async with office(PAY_TWICE, DONE) as desk:
        session, (one, two) = await desk.asked()
        await desk.answer(one)
        await desk.rest()
        is_problem(await desk.answer(one), 409, "already_decided")
        await desk.answer(two)
        await desk.rest()
        assert (await desk.kept(session))[-1].content == "Done."
        assert await agents_of(desk, session) == {"clerk"}


async def stopped_across(desk, session, answer, gate):
    """Stop the session while the answer is held at the gate; then nothing runs any more."""
    stop = asyncio.create_task(desk.app.stop_turn("local", session))
    await asyncio.sleep(0)
    gate.open.set()
    assert (await answer).status_code == 200 and await stop
    assert (await desk.app.store.evidence(session)).running == []


async def test_a_stop_that_crosses_a_decision_ends_the_turn():
    store = GatedStore()
    first = Reply(SLOWLY, ToolCall("pay", {"amount": 5}))
    async with office(first, store=store) as desk:
        session = await desk.session()
        await desk.ask(session)
        (asked,) = await desk.until(desk.pending)
        store.deciding.close()
        answer = asyncio.create_task(desk.answer(asked))
        await store.deciding.reached.wait()
        await stopped_across(desk, session, answer, store.deciding)
        assert (await desk.kept(session))[-1].stop_reason == "cancelled"
        assert desk.world.paid == [("slow", 1)]


async def test_a_message_that_crosses_a_decision_finds_the_session_busy(monkeypatch):
    monkeypatch.setattr(resting, "WITHIN", 0)  # the decision is under way until the test opens it
    store = GatedStore()
    async with office(PAY, DONE, store=store) as desk:
        session, (asked,) = await desk.asked()
        store.resuming.close()
        answer = asyncio.create_task(desk.answer(asked))
        await store.resuming.reached.wait()
        is_problem(await desk.ask(session, "Never mind."), 409, "busy")
        store.resuming.open.set()
        assert (await answer).status_code == 200
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]
        assert (await desk.kept(session))[-1].content == "Done."


async def test_a_stop_that_crosses_a_decision_under_way_waits_for_its_turn():
    store = GatedStore()
    async with office(PAY, DONE, store=store) as desk:
        session, (asked,) = await desk.asked()
        store.resuming.close()
        answer = asyncio.create_task(desk.answer(asked))
        await store.resuming.reached.wait()
        await stopped_across(desk, session, answer, store.resuming)
        await desk.kept(session)


async def test_nothing_new_begins_at_a_server_that_ends_and_the_question_stays_open():
    store = GatedStore()
    async with office(Reply(SLOWLY), PAY, Reply(SLOWLY), store=store) as desk:
        first = await desk.session()
        await desk.ask(first)
        await desk.until(lambda: asyncio.sleep(0, desk.world.paid))
        second = await desk.session()
        await desk.ask(second)
        (asked,) = await desk.until(desk.pending)
        store.answering.close()
        end = asyncio.create_task(desk.app._turns.end(0))
        await store.answering.reached.wait()
        answers = [await desk.answer(asked), await desk.ask(second, "Never mind.")]
        store.answering.open.set()
        await end
        for answer in answers:
            is_problem(answer, 503, "closing")
        assert not desk.app._turns._live.tasks
        assert [each["id"] for each in await desk.pending()] == [asked["id"]]


async def test_a_turn_whose_agent_is_gone_keeps_no_other_from_expiring():
    store = MemoryStore()
    async with office(PAY, PAY, store=store, approval_timeout=0.01) as desk:
        desk.app._decisions._watching.cancel()
        gone, _ = await desk.asked()
        stays, _ = await desk.asked()
    store._sessions[gone] = msgspec.structs.replace(store._sessions[gone], agent_id="gone")
    async with office(DONE, store=store) as desk:

        async def goes_on():
            return getattr((await desk.kept(stays))[-1], "content", "") == "Done."

        await desk.until(goes_on)
        await desk.rest()
        assert (await store.evidence(gone)).running == []
        assert desk.app._turns._live == {}  # or its user would be held to work on it for ever
        assert await desk.pending() == []


@asynccontextmanager
async def beside_a_dead_process(expires_at, agent_id="clerk"):
    """An office; beside it a process has died, after its own had looked for such turns."""
    other = MemoryStore("other")
    await other.open()
    async with office(DONE, store=MemoryStore("ours", other)) as desk:
        session = msgspec.structs.replace(s.new_session("s", "local"), agent_id="clerk")
        await other.create_session(session)
        placed = partial(s.placed, agent=AgentRef(id=agent_id, name="Clerk"))
        turn = await other.begin_turn(s.new_turn("t", "s", "local"), placed(s.asked()))
        question = msgspec.structs.replace(s.approval("appr_a", "a"), expires_at=expires_at)
        calls = [s.said(s.call("a"), stop="tool_use"), s.used("a"), question]
        await other.append(turn, placed(*calls, first_index=1))
        await other.close()
        yield desk


async def test_a_decision_finds_a_turn_whose_process_has_died():
    async with beside_a_dead_process(LATER) as desk:
        assert (await desk.answer({"id": "appr_a"}, approved=False)).status_code == 200
        await desk.rest()
        assert (await desk.kept("s"))[-1].content == "Done."


async def test_a_question_of_a_process_that_has_died_expires():
    async with beside_a_dead_process(s.AT) as desk:
        desk.app._turns.asked.set()
        await desk.until(lambda: desk.pending(status="expired"))
        await desk.rest()
        assert (await desk.kept("s"))[-1].content == "Done."


async def test_a_turn_whose_speaker_is_gone_ends_and_says_so():
    async with beside_a_dead_process(LATER, "retired") as desk:
        assert (await desk.answer({"id": "appr_a"}, approved=False)).status_code == 200
        await desk.rest()
        last = (await desk.kept("s"))[-1]
        assert (last.code, "'retired'" in last.error) == ("not_found", True)
