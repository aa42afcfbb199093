"""One turn, stopped and broken at every place: it always ends, and nothing is kept twice."""

import asyncio
import time
from contextlib import asynccontextmanager
from itertools import count
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from turnlog import Agent, Settings, create_app, tool
from turnlog.errors import TimedOut
from turnlog.events import clock
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.pipeline.ending import ShuttingDown, completed_again
from turnlog.ports import Question
from turnlog.projections.proof import prove
from turnlog.projections.transcript import transcript
from turnlog.simulator import Cut, Reply, SimulatedClaude, Stall, ToolCall, invalid_request
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import invariants
from turnlog.transports import wire

USER = "ann"


@tool(writes=False)
async def wait_for_ever() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return ""


@asynccontextmanager
async def running(*replies, store=None):
    sim = SimulatedClaude(*replies)
    async with sim.serve() as url:
        settings = Settings(api_key="test", base_url=url, grace=0.0)
        app = create_app(
            [Agent("a", tools=[wait_for_ever])], settings=settings, store=store or MemoryStore()
        )
        async with app:
            yield app, sim


async def stopped(app, session_id, when, how=None):
    """Ask, and stop the turn once `when(events so far)` holds."""
    turn = await app.start_turn(USER, session_id, Question(message="Go"))
    live = app._turns.live(turn.turn_id)
    seen = []
    async for batch in app.follow_turn(USER, turn):
        seen += [event.entry for event in batch]
        if when(seen):
            live.stop(how)
    return seen


async def followed(app, turn):
    """Every event of the turn, until it is over."""
    return [event.entry async for batch in app.follow_turn(USER, turn) for event in batch]


async def problems(app, session_id, seen):
    evidence = await app.store.evidence(session_id)
    kept = [stamped(row) for row in evidence.log]
    log, live = ([wire.decode(wire.encode(entry)) for entry in ats] for ats in (kept, seen))
    return [*invariants.broken(live, log), *prove(evidence).problems, *evidence.running]


@pytest.mark.parametrize("after", range(1, 12))
async def test_a_turn_that_is_stopped_keeps_what_was_shown(after, migrated):
    replies = [Reply("one two three four", chunk=4, delay=0.001), Reply("Yes.")]
    async with running(*replies, store=SqliteStore(migrated)) as (app, sim):
        session = await app.create_session(USER)
        seen = await stopped(app, session.id, lambda seen: len(seen) >= after)
        assert await problems(app, session.id, seen) == []
        assert [entry.event.reason for entry in seen if isinstance(entry.event, k.Complete)]
        sim.queue(Reply("Yes."))
        assert (await app.run_turn("Go on", session_id=session.id, user_id=USER)).success
        assert sim.refused == []


async def test_a_turn_that_is_stopped_while_a_tool_runs_closes_the_tool():
    async with running(Reply("Let me see.", ToolCall("wait_for_ever")), Reply("Ok.")) as (app, sim):
        session = await app.create_session(USER)
        seen = await stopped(app, session.id, lambda seen: isinstance(seen[-1].event, k.ToolUse))
        assert await problems(app, session.id, seen) == []
        *_, result, message, complete = [entry.event for entry in seen]
        assert (result.success, result.error) == (False, "Stopped by the user.")
        assert (message.stop_reason, complete.reason) == ("cancelled", "cancelled")
        assert (await app.run_turn("And now?", session_id=session.id, user_id=USER)).success
        assert sim.refused == []


async def test_a_turn_that_is_stopped_while_it_stores_keeps_its_message_once():
    class SlowStore(MemoryStore):  # a disk that takes its time, so that the stop comes first
        async def append(self, turn, events, complete=None):
            number = await super().append(turn, events, complete)
            asyncio.get_running_loop().call_soon(live.stop)
            await asyncio.sleep(0)
            return number

    async with running(Reply("Hello."), store=SlowStore()) as (app, _):
        session = await app.create_session(USER)
        turn = await app.start_turn(USER, session.id, Question(message="Go"))
        live = app._turns.live(turn.turn_id)
        seen = await followed(app, turn)
        assert await problems(app, session.id, seen) == []
        assert [entry.event.content for entry in seen if isinstance(entry.event, k.Message)] == [
            "Hello."
        ]


class OneStepStore(MemoryStore):
    """A turn that ends well needs no step of its own for that."""

    async def finish_turn(self, turn, complete=None):
        assert self.ending, "the turn was ended by itself"
        await super().finish_turn(turn, complete)

    async def append(self, turn, events, complete=None):
        self.ending = complete is not None
        return await super().append(turn, events, complete)


async def test_a_turn_ends_in_the_step_that_keeps_its_last_answer():
    replies = Reply("Hm.", ToolCall("look")), Reply("Hello.")
    async with running(*replies, store=OneStepStore()) as (app, _):
        result = await app.run_turn("Go", user_id=USER)
        session = result.events[0].session_id
        assert (result.success, result.text) == (True, "Hello.")
        assert await problems(app, session, [event.entry for event in result.events]) == []
        last, ending = result.events[-2:]
        assert [each.type for each in (last, ending)] == ["message", "complete"]
        kept = [event.entry for event in result.events if event.seq is not None]
        again = wire.decode(wire.encode(completed_again(kept)))
        assert again | {"timestamp": ""} == ending.as_dict() | {"timestamp": ""}


ENDS = {"complete": Reply("Hello."), "error": invalid_request(), "cut": Reply("Hm.", ending=Cut(3))}


@pytest.mark.parametrize("end", ENDS)
async def test_who_sees_the_end_of_a_turn_may_ask_again_at_once(end):
    async with running(ENDS[end]) as (app, _):
        publish, found = app.bus.publish, []

        def look():
            running = [*app.metrics.turns_running.lines()][0].split()[-1]
            found.append((app._turns._live, dict(app._turns._limits._running), running))
            found.append("".join(app.metrics.model_calls.lines()).endswith(" 1"))

        def watched(session_id, batch):
            publish(session_id, batch)
            if any(isinstance(entry.event, k.Complete | k.Error) for entry in batch):
                asyncio.get_running_loop().call_soon(look)  # as early as anybody can

        app.bus.publish = watched
        await app.run_turn("Go", user_id=USER)
        await asyncio.sleep(0)  # let it look
        assert found == [({}, {}, "0"), end != "error"]


@pytest.mark.parametrize("late", [TimedOut("Too long."), ShuttingDown(), ValueError("a bug"), None])
async def test_what_stops_a_turn_after_its_end_changes_nothing(late):
    class Store(MemoryStore):
        async def append(self, turn, events, complete=None):
            number = await super().append(turn, events, complete)
            if complete is not None:
                app._turns.live(turn.id).stop(late)
            return number

    async with running(Reply("Hello."), Reply("Again."), store=Store()) as (app, _):
        session = await app.create_session(USER)
        turn = await app.start_turn(USER, session.id, Question(message="Go"))
        seen = await followed(app, turn)
        assert await problems(app, session.id, seen) == []
        assert isinstance(seen[-1].event, k.Complete)
        await app.rest()
        result = await app.run_turn("And now?", session_id=session.id, user_id=USER)
        assert result.text == "Again."


async def test_a_server_that_stops_ends_the_turn_with_an_error():
    stalled = Reply("one two three", chunk=4, ending=Stall(6, 60))
    async with running(stalled) as (app, _):
        session = await app.create_session(USER)
        seen = await stopped(app, session.id, lambda seen: len(seen) >= 2, ShuttingDown())
        assert await problems(app, session.id, seen) == []
        message, error = [entry.event for entry in seen][-2:]
        assert (message.stop_reason, error.code) == ("interrupted", "interrupted")


async def test_leaving_the_app_ends_turns_that_take_too_long():
    store = MemoryStore()
    async with running(Reply("Hm.", ToolCall("wait_for_ever")), store=store) as (app, _):
        session = await app.create_session(USER)
        turn = await app.start_turn(USER, session.id, Question(message="Go"))
        live = app._turns.live(turn.turn_id)
    assert live.over.is_set()
    assert prove(await store.evidence(session.id)).ok


async def test_a_turn_that_begins_while_the_server_stops_gets_the_grace_period_too():
    """A rolling upgrade: its question was taken before the end began, its row is written after."""

    class SlowStore(MemoryStore):
        async def begin_turn(self, *args):
            reached.set()
            await written.wait()
            return await super().begin_turn(*args)

    reached, written = asyncio.Event(), asyncio.Event()
    async with running(Reply("Hello."), store=SlowStore()) as (app, _):
        session = await app.create_session(USER)
        turn = asyncio.create_task(app.run_turn("Go", session_id=session.id, user_id=USER))
        await reached.wait()
        end = asyncio.create_task(app._turns.end(60))
        await asyncio.sleep(0)  # it has begun, and there is no task to wait for
        written.set()
        await end
        assert (await app.store.newest_turn(USER, session.id)).state == "done"
        assert (await turn).text == "Hello."


async def test_when_the_store_breaks_the_user_is_told_and_the_session_heals():
    class BreakingStore(MemoryStore):  # no real disk can be made to fail at will
        broken = False

        async def append(self, turn, events, complete=None):
            if self.broken:
                raise OSError("disk full")
            return await super().append(turn, events, complete)

    store = BreakingStore()
    async with running(Reply("Lost."), Reply("Back."), store=store) as (app, sim):
        session = await app.create_session(USER)
        store.broken = True
        result = await app.run_turn("Go", session_id=session.id, user_id=USER)
        assert not result.success and "disk" not in result.error
        assert wire.decode(wire.encode(result.events[-1]))["persistenceState"] == "transient"
        store.broken = False
        assert (await app.run_turn("Again", session_id=session.id, user_id=USER)).success
        assert prove(await store.evidence(session.id)).ok
        assert sim.refused == []


async def test_a_turn_whose_log_is_whole_is_complete_though_the_store_could_not_end_it():
    """An error would be on the screen that no reload has: the healing ends it as complete."""

    class BreakingStore(MemoryStore):
        async def finish_turn(self, turn, ending):
            del BreakingStore.finish_turn
            raise OSError("disk full")

    async with running(Reply("Well, well."), Reply("Yes."), store=BreakingStore()) as (app, sim):
        session = await app.create_session(USER)
        seen = await stopped(app, session.id, lambda seen: len(seen) > 1)
        assert seen[-1].event.reason == "cancelled"
        assert (await app.run_turn("Again", session_id=session.id, user_id=USER)).success
        first = (await app.store.read(USER, session.id))[:2]
        views = [transcript(wire.decode(wire.encode(e)) for e in each) for each in (seen, first)]
        assert views[0] == views[1]
        assert prove(await app.store.evidence(session.id)).ok


async def test_who_repeats_a_request_sees_the_same_turn_from_its_start():
    asked = Question(message="Go", request_id="r1")
    async with running(Reply("one two three", chunk=4, delay=0.001)) as (app, _):
        session = await app.create_session(USER)
        first = await app.start_turn(USER, session.id, asked)
        meanwhile = await app.start_turn(USER, session.id, asked)
        assert meanwhile == first
        seen, also_seen = await asyncio.gather(followed(app, first), followed(app, meanwhile))
        assert also_seen == seen
        again = await app.start_turn(USER, session.id, asked)
        assert again == first
        assert ids(await followed(app, again)) == ids(seen)  # waiting chunks are joined
        app.bus.channels.clear()  # as after a restart
        kept = await followed(app, again)
        assert kept[:-1] == [entry for entry in seen if entry.seq is not None]
        assert same(kept[-1], seen[-1])


def same(one, other):
    """Whether it is the same event in the same place, whenever it was made."""
    return one == replace(other, envelope=replace(other.envelope, time=one.envelope.time))


HANDOVER = ToolCall("transfer_to_b", {"reason": "It knows."}, "toolu_1")


async def test_a_complete_that_is_fetched_again_is_the_one_that_was_shown():
    """Also where another agent has taken over, and what was said to that end is internal."""
    sim = SimulatedClaude(Reply(HANDOVER), Reply("Yes."))
    async with sim.serve() as url:
        agents = [Agent("a", hands_over_to=["b"]), Agent("b")]
        settings = Settings(api_key="test", base_url=url)
        async with (app := create_app(agents, settings=settings, store=MemoryStore())):
            result = await app.run_turn("Go", user_id=USER, request_id="r1")
            session, asked = result.session_id, Question(message="Go", request_id="r1")
            for _ in range(2):
                app.bus.channels.clear()  # as after a restart
                again = await app.start_turn(USER, session, asked)
                assert same((await followed(app, again))[-1], result.events[-1].entry)
    complete = result.events[-1].event
    assert complete.token_usage == result.usage
    assert result.events[-1].envelope.agent.id == "b"


def ids(seen):
    return [entry.envelope.event_id for entry in seen if not entry.event.type.endswith("_chunk")]


async def test_a_clock_that_jumps_does_not_make_a_turn_look_forged(monkeypatch):
    days = count()  # with each look
    jumping = SimpleNamespace(time_ns=lambda: time.time_ns() + next(days) * 86_400 * 10**9)
    monkeypatch.setattr(clock, "time", jumping)
    async with running(*[Reply("Yes.")] * 3) as (app, _):
        for _ in range(3):
            result = await app.run_turn("Go")
            assert prove(await app.store.evidence(result.session_id)).problems == []
