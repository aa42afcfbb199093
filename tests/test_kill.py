"""kill -9 of a real server in mid-turn, at random moments: nothing that was promised is lost."""

import asyncio
import logging
import os
import random
import secrets
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

import aiohttp
import msgspec
import pytest

from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.pipeline.drafts import Drafts
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, Stall, Text, Thinking, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.server import serving, start
from turnlog.transports import wire

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)

PACE = 0.03  # seconds between two events of the simulated Claude
LONGEST = 3.0  # seconds into the turns; they take four and more

LONG = " ".join(f"word-{n}" for n in range(130))  # about four seconds
THOUGHT = " ".join(f"thought-{n}" for n in range(50))
LOOKING = "Let me look that up for you, it may take a moment. "
SCRIPTED = (LONG, THOUGHT, LOOKING, "Fine.")
REPLIES = {
    "write": Reply(LONG),
    "think": Reply(Thinking(THOUGHT), Text(LONG)),
    "look": Reply(LOOKING, ToolCall("slow_lookup", {"key": "a"})),
    "next": Reply("Fine."),
    "hang": Reply(LONG, ending=Stall(after=60, seconds=600)),
}
UNFINISHED = ("write", "think", "look")
APP = """
import asyncio
from turnlog import Agent, create_app, tool

@tool(writes=False)
async def slow_lookup(key: str) -> str:
    "Look something up."
    await asyncio.sleep(1)
    return f"the value of {key}"

app = create_app(agents=[Agent("helper", prompt="You help.", tools=[slow_lookup])])
"""


def answer(body):
    """What the first word of the question asks for; a long text after a tool."""
    last = body["messages"][-1]["content"][-1]
    return Reply(LONG) if last["type"] == "tool_result" else REPLIES[last["text"].split()[0]]


@pytest.fixture
def sim():
    return SimulatedClaude(answer=answer, pace=PACE)


@pytest.fixture
async def claude(sim):
    async with sim.serve() as url:
        yield url


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow.py").write_text(APP)
    return tmp_path


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as http:
        yield http


@pytest.fixture
async def store(folder):
    store = SqliteStore(folder / "data")
    await store.open()
    yield store
    await store.close()


@dataclass
class Watched:
    """What a client was shown of one turn, and what was on disk when the server died."""

    session: str
    message: str
    events: list = field(default_factory=list)
    drafts: list = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)  # the model has said something

    def see(self, event):
        self.events.append(event)
        if event["type"].endswith("_chunk"):
            self.begun.set()

    def shown(self, kind):
        return "".join(event["content"] for event in self.events if event["type"] == kind)

    @property
    def persisted(self):
        return [event for event in self.events if event["persistenceState"] == "persisted"]

    @property
    def last(self):
        return self.events[-1]["type"] if self.events else None


async def ask(http, url, session, message):
    """Ask, and read the stream until it ends, however it ends."""
    watched = Watched(session, message)
    await watch(http, url, watched)
    return watched


async def ask_and_begin(http, url, message):
    """Ask in a new session; returns when the answer has begun, and goes on watching."""
    watched = Watched(await new_session(http, url), message)
    watching = asyncio.create_task(watch(http, url, watched))
    await watched.begun.wait()
    return watched, watching


async def watch(http, url, watched):
    thinks = watched.message.startswith("think")
    body = {"message": watched.message, "enableThinking": thinks, "onBusy": "enqueue"}
    try:
        async with http.post(
            f"{url}/api/sessions/{watched.session}/messages",
            json=body,
            headers={"accept": "text/event-stream"},
        ) as response:
            assert response.status == 200, await response.text()
            async for line in response.content:
                if line.startswith(b"data: "):
                    watched.see(msgspec.json.decode(line[6:]))
    except aiohttp.ClientError as error:
        _log.info("the stream broke: %r", error)


async def new_session(http, url):
    async with http.post(f"{url}/api/sessions") as response:
        return (await response.json())["id"]


async def examine(store, watched):
    """Everything promised about this turn holds on disk. Returns the turn's kept events."""
    evidence = await store.evidence(watched.session)
    assert prove(evidence).problems == []
    assert evidence.running == []
    log = [stamped(row) for row in evidence.log]
    for event in watched.persisted:
        assert wire.decode(wire.encode(log[event["sequenceNumber"]])) == event
    if not watched.events:
        return []  # killed before the message was acknowledged
    turn = [entry.event for entry in log if entry.turn_id == watched.events[0]["turnId"]]
    assert turn[0].content == watched.message
    assert_ended(turn)
    for draft in watched.drafts:
        kept = [event.content for event in turn if isinstance(event, type(draft))]
        assert any(content.startswith(draft.content) for content in kept)
    return turn


DRAFTS = """SELECT piece FROM drafts JOIN turns ON turns.id = drafts.turn_id
            WHERE turns.session_id = ? ORDER BY part"""


def drafts_of(folder, session):
    """What is on disk of answers that are not kept yet, as events."""
    drafts = Drafts(index=0, answers=[])
    with closing(sqlite3.connect(folder / "data" / "turnlog.db")) as db:
        for (piece,) in db.execute(DRAFTS, (session,)):
            drafts.grow(msgspec.json.decode(piece, type=Drafts))
    return [event for answer in drafts.answers for event in answer.events("interrupted")]


def assert_ended(turn):
    """With a whole answer, or with an error that says what happened."""
    match turn[-1]:
        case k.Message(stop_reason=reason):
            assert reason == "end_turn"
        case last:
            assert last.code == "interrupted"
    for event in turn:
        if isinstance(event, k.Message | k.Thinking):
            assert any(text.startswith(event.content) for text in SCRIPTED)


def is_interrupted(turn):
    """It ended with the process, or another one went on with it."""
    return any(isinstance(event, k.Error | k.TurnResumed) for event in turn)


async def survive(folder, claude, http, *, lives, sessions):
    """Kill that many servers in mid-turn; return how many turns were interrupted."""
    seed = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
    _log.warning("KILL_SEED=%d repeats this run", seed)  # shown when the test fails
    rng = random.Random(seed)
    ids, turns, interrupted = [], [], 0
    for life in range(lives + 1):
        async with serving(folder, claude, "slow:app") as server:
            ids = ids or [await new_session(http, server.url) for _ in range(sessions)]
            assert_answered(await ask_all(http, server.url, ids, ["next"]))
            interrupted += await _check(folder, turns)
            if life < lives:
                asking = asyncio.create_task(ask_all(http, server.url, ids, UNFINISHED))
                await asyncio.sleep(rng.uniform(0.0, LONGEST))  # the random moment
                await server.kill()
                turns = await asking
                for turn in turns:
                    turn.drafts = drafts_of(folder, turn.session)
    _log.warning("%d kills, %d turns interrupted", lives, interrupted)
    return interrupted


async def _check(folder, turns):
    store = SqliteStore(folder / "data")
    await store.open()
    try:
        return sum([is_interrupted(await examine(store, turn)) for turn in turns])
    finally:
        await store.close()


async def ask_all(http, url, ids, messages):
    """One turn in every session, all at once, the messages taken in turns."""
    each = [messages[n % len(messages)] for n in range(len(ids))]
    return await asyncio.gather(*(ask(http, url, *pair) for pair in zip(ids, each, strict=True)))


def assert_answered(turns):
    assert [turn.last for turn in turns] == ["complete"] * len(turns)


@pytest.mark.parametrize("run", [1, 2])  # two halves, for two cores
async def test_nothing_promised_is_lost_when_the_server_is_killed(run, folder, sim, claude, http):
    interrupted = await survive(folder, claude, http, lives=8, sessions=5)
    assert sim.refused == []
    assert interrupted >= 8, interrupted


@pytest.mark.soak
async def test_nothing_promised_is_lost_in_fifty_kills(folder, sim, claude, http):
    interrupted = await survive(folder, claude, http, lives=50, sessions=10)
    assert sim.refused == []
    assert interrupted >= 100, interrupted


async def test_what_is_shown_is_soon_on_disk_and_survives(folder, claude, http, store):
    """Also when nothing comes after it: the model hangs in the middle of its answer."""
    async with serving(folder, claude) as server:
        turn, watching = await ask_and_begin(http, server.url, "hang")
        async with asyncio.timeout(60):
            while True:
                drafts = drafts_of(folder, turn.session)
                shown = turn.shown("message_chunk")
                if len(shown) > 200 and [draft.content for draft in drafts] == [shown]:
                    break
                await asyncio.sleep(0.05)  # another process does it
        await server.kill()
        await watching
    async with serving(folder, claude):
        kept = await examine(store, turn)
    assert [event.content for event in kept if isinstance(event, k.Message)] == [shown]


async def test_a_kill_while_nothing_runs_changes_nothing(folder, claude, http, store):
    async with serving(folder, claude) as server:
        session = await new_session(http, server.url)
        assert_answered([await ask(http, server.url, session, "next one")])
        before = await store.evidence(session)
        await server.kill()
    async with serving(folder, claude) as server:
        assert await store.evidence(session) == before
        assert_answered([await ask(http, server.url, session, "next two")])


async def test_kills_during_the_start_leave_the_turn_to_the_next_server(
    folder, sim, claude, http, store
):
    async with serving(folder, claude) as server:
        turn, watching = await ask_and_begin(http, server.url, "write")
        await server.kill()
        await watching
    for tenths in range(7):  # it listens after four or five
        starting = await start(folder, claude)
        await asyncio.sleep(tenths / 10)
        await starting.kill()
    async with serving(folder, claude) as server:
        assert is_interrupted(await examine(store, turn))
        assert_answered([await ask(http, server.url, turn.session, "next")])
    assert sim.refused == []


async def test_a_second_server_is_refused_and_leaves_the_turns_of_the_first_alone(
    folder, claude, http, store
):
    async with serving(folder, claude) as first:
        turn, watching = await ask_and_begin(http, first.url, "write")
        second = await start(folder, claude)
        assert await second.process.wait() == 2
        await watching
        assert_answered([turn, await ask(http, first.url, turn.session, "next")])
    assert not is_interrupted(await examine(store, turn))


@pytest.mark.parametrize("message", UNFINISHED)
async def test_a_stopped_server_keeps_all_that_was_shown(folder, claude, http, store, message):
    async with serving(folder, claude, "slow:app", {"TURNLOG_GRACE": "0.5"}) as server:
        turn, watching = await ask_and_begin(http, server.url, message)
        assert await server.stop() == -signal.SIGTERM
        await watching
    assert turn.last == "error"  # whoever watched was told
    assert is_interrupted(await examine(store, turn))


async def test_a_stopped_server_lets_a_short_turn_end(folder, claude, http, store):
    async with serving(folder, claude) as server:
        turn, watching = await ask_and_begin(http, server.url, "next")
        assert await server.stop() == -signal.SIGTERM
        await watching
    assert_answered([turn])
    assert not is_interrupted(await examine(store, turn))
