"""The parts of a turn by themselves: the stages of a chunk, the store alone, a long session."""

import asyncio
import gc
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Attributed, Envelope, Event
from turnlog.events.clock import now
from turnlog.events.content import TokenUsage
from turnlog.events.ids import new_id, new_message_id
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import stamp
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Batch, LiveEvent, Session, Store, Turn
from turnlog.simulator import Reply
from turnlog.simulator.stream import events, frame
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.transports import sse, wire
from turnlog.transports.access.auth import LOCAL_USER

Say = Callable[[str], None]
AGENT = AgentRef(id="assistant", name="Assistant")
WINDOW = 40  # messages since the anchor in a filled session: the middle between 20 and 60


def head(title: str, *columns: str) -> str:
    """The first line of a table."""
    return "\n" + f"{title:58}" + "".join(f"{name:>13}" for name in columns)


def line(name: str, *values: str) -> str:
    return f"  {name:56}" + "".join(f"{value:>13}" for value in values)


def stages(say: Say, chunks: int, rounds: int) -> None:
    """Where a chunk's time goes: each stage in a loop, on the output of the one before."""
    say(head("The same chunk, stage by stage, without any I/O", "µs a chunk"))
    gc.disable()  # it would hit one stage or the other
    took = [stage_times(chunks) for _ in range(rounds)]
    gc.enable()
    medians = {name: median([one[name] for one in took]) for name in took[0]}
    medians["sum"] = sum(medians.values())
    for name, seconds in medians.items():
        say(line(name, f"{seconds / chunks * 1e6:.2f}"))


def stage_times(chunks: int, together: int = 1) -> dict[str, float]:
    """Seconds of each stage, for so many chunks, of which some are read at once."""
    reply = Reply("x" * 12 * chunks, chunk=12)
    sent = [frame(event) for event in events(reply, {"model": "bench", "messages": []})]
    pieces = [b"".join(sent[at : at + together]) for at in range(0, len(sent), together)]
    splitter, call, state = SseSplitter(), Call(), TurnState(_turn("bench"), AGENT)
    took: dict[str, float] = {}

    def timed(name: str, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        begun = time.process_time()
        out = [work(item) for item in items]
        took[name] = time.process_time() - begun
        return out

    raws = timed("split the bytes, decode the JSON", lambda piece: [*splitter.feed(piece)], pieces)
    outputs = timed("accumulate the answer", call.feed, raws)
    normal = timed("normalize", lambda one: normalize(Batch(one), state), outputs)
    placed = timed("place", lambda one: place(one, state), normal)
    stamped = timed("stamp", lambda one: [stamp(p, None, state) for p in one], placed)
    live = timed("encode", lambda one: [LiveEvent(at, wire.encode(at)) for at in one], stamped)
    timed("frame for the wire", sse.frames, live)
    return took


async def filled(store: Store, messages: int, *, anchored: bool = True) -> str:
    """A session with so many earlier messages, anchored near its end."""
    session = Session(
        id=new_id(), user_id=LOCAL_USER, title="Filled", agent_id="assistant", created_at=now()
    )
    await store.create_session(session)
    turn = _turn(session.id)
    state = TurnState(turn, AGENT)
    events: list[Event] = [event for n in range(messages // 2) for event in _exchange(n)]
    if anchored and messages > WINDOW:
        events.append(k.HistoryAnchored(anchor=messages - WINDOW))
    await store.finish_turn(await store.begin_turn(turn, _placed(events, state)))
    return session.id


def _exchange(n: int) -> list[Event]:
    """A question and its answer, as short as most are."""
    used = TokenUsage(input_tokens=800, output_tokens=60, total_tokens=860)
    text = f"Order {n} was delivered on Tuesday; the invoice is open and due in 14 days. " * 3
    return [
        k.UserMessageSent(message_id=new_id(), content=f"What is the state of order {n}?"),
        k.Message(
            message_id=new_message_id(),
            blocks=[{"type": "text", "text": text}],
            stop_reason="end_turn",
            model="claude-sonnet-5-5",
            token_usage=used,
            reported={"input_tokens": 800, "output_tokens": 60},
        ),
    ]


async def appends(say: Say, folder: Path, events: int) -> None:
    """The store alone. Callers that wait at the same time share one commit, so one fsync."""
    say(head("The store alone, one event an append", "events/s", "µs an event", "a commit"))
    store = _CountingStore(folder)
    await store.open()
    for callers in (1, 50):
        ids = [await filled(store, 2) for _ in range(callers)]
        commits, cpu, wall = store.commits, time.process_time(), time.perf_counter()
        await asyncio.gather(*(_append(store, one, events // callers) for one in ids))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        done, commits = events // callers * callers, store.commits - commits
        name = "1 caller" if callers == 1 else f"{callers} callers at once"
        figures = f"{done / wall:,.0f}", f"{cpu / done * 1e6:.0f}", f"{done / commits:.1f}"
        say(line(name, *figures))
    await store.close()


async def stored_time(folder: Path, times: int = 300) -> float:
    """Seconds of CPU to keep one message, where nobody shares the commit."""
    store = SqliteStore(folder)
    await store.open()
    session = await filled(store, 2)
    begun = time.process_time()
    await _append(store, session, times)
    took = time.process_time() - begun
    await store.close()
    return took / times


async def _append(store: Store, session_id: str, times: int) -> None:
    state = TurnState(_turn(session_id), AGENT)
    turn = await store.begin_turn(state.turn, _placed(_exchange(0)[:1], state))
    for n in range(times):
        await store.append(turn, _placed([_exchange(n)[1]], state))
    await store.finish_turn(turn)


class _CountingStore(SqliteStore):
    """Knows how often it has committed."""

    commits = 0

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.set_trace_callback(self._count)
        return db

    def _count(self, statement: str) -> None:
        self.commits += statement == "COMMIT"


def _placed(events: list[Event], state: TurnState) -> list[Envelope]:
    return place([Attributed(e, AGENT, e.internal, e.kept) for e in events], state)


def _turn(session_id: str) -> Turn:
    return Turn(
        id=new_id(),
        session_id=session_id,
        user_id=LOCAL_USER,
        state="running",
        first_seq=0,
        started_at=now(),
    )
