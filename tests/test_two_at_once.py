"""Two agents write at the same time: whatever happens, each keeps its own words."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from played_model import PlayedModel
from raw_events import block, json_piece, start, stop

from turnlog import Agent, Settings, create_app
from turnlog.errors import MessageIdTaken
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.events.rows.record import stamped
from turnlog.pipeline import turn
from turnlog.pipeline.ending import left_open
from turnlog.pipeline.live_chunks import show_chunks
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import emit, stamp, store_and_emit
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import NO_ATTACHMENTS, Batch, CallFailed, CallStarted, Question, no_price
from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing import samples as s
from turnlog.transports import wire
from turnlog.turns.answers.drafts import DraftKeeper
from turnlog.turns.recovery import recover

TEA, COFFEE = (AgentRef(id=name, name=name.title()) for name in ("tea", "coffee"))
USER = "alice"


# in one turn's state


class Stage:
    """Stages 3, 4 and 5 without a store."""

    def __init__(self, turn=None):
        self.state = TurnState(turn or s.new_turn(), s.AGENT)
        self.shown = []
        self.say(Batch([s.asked()]))

    def say(self, *batches):
        for said in batches:
            for placed in place(normalize(said, self.state), self.state):
                entry = stamp(placed, len(self.shown) if placed.kept else None, self.state)
                self.shown.append(entry)

    def kept(self):
        """Who said what, as the log has it."""
        kept = [entry for entry in self.shown if isinstance(entry.event, k.Message | k.Thinking)]
        return [
            (entry.envelope.agent.id, entry.event.message_id, entry.event.content) for entry in kept
        ]


def begins(agent, call):
    started = CallStarted(message_id=f"msg_{agent.id}", model="m", reported={"input_tokens": 7})
    return Batch([started], agent, call)


def writes(agent, call, text, thinks=False):
    kind = k.ThinkingChunk if thinks else k.MessageChunk
    block_index = 0 if thinks else 1
    return Batch([kind(message_id="", content=text, block_index=block_index)], agent, call)


def thinks(agent, call, text):
    begun = k.ThinkingStart(message_id="", block_index=0)
    return Batch([begun, *writes(agent, call, text, thinks=True).outputs], agent, call)


INTERLEAVED = [
    begins(TEA, "1"), begins(COFFEE, "2"),
    thinks(COFFEE, "2", "Hm."),
    writes(TEA, "1", "Tea is "), writes(COFFEE, "2", "Coffee was "),
    writes(TEA, "1", "hot"), writes(COFFEE, "2", "cold"),
]  # fmt: skip
WORDS = [
    ("tea", "msg_tea", "Tea is hot"),
    ("coffee", "msg_coffee", "Hm."),
    ("coffee", "msg_coffee", "Coffee was cold"),
]


def test_each_piece_has_the_id_and_the_name_of_its_own_answer():
    stage = Stage()
    stage.say(*INTERLEAVED)
    pieces = [entry for entry in stage.shown if isinstance(entry.event, k.MessageChunk)]
    words = [
        (entry.envelope.agent.id, entry.event.message_id, entry.event.content) for entry in pieces
    ]
    assert words == [
        ("tea", "msg_tea", "Tea is "), ("coffee", "msg_coffee", "Coffee was "),
        ("tea", "msg_tea", "hot"), ("coffee", "msg_coffee", "cold"),
    ]  # fmt: skip


@pytest.mark.parametrize("stopped", [True, False])
def test_two_that_are_stopped_or_broken_off_keep_their_own_words(stopped):
    stage = Stage()
    stage.say(*INTERLEAVED)
    failure = asyncio.CancelledError() if stopped else RuntimeError("bug")
    stage.say(*left_open(stage.state, failure))
    assert stage.kept() == WORDS
    reasons = [
        entry.event.stop_reason for entry in stage.shown if isinstance(entry.event, k.Message)
    ]
    assert reasons == (["cancelled"] * 2 if stopped else ["interrupted"] * 2)
    assert stage.state.drafts == {}


def test_one_that_fails_leaves_the_words_of_the_other_alone():
    stage = Stage()
    stage.say(*INTERLEAVED, Batch([CallFailed()], COFFEE, "2"))
    assert stage.kept() == WORDS[1:]
    stage.say(writes(TEA, "1", "!"))
    assert [draft.agent for draft in stage.state.drafts.values()] == [TEA]
    stage.say(Batch([s.said("Tea is hot!")], TEA, "1"))
    assert stage.kept()[-1] == ("tea", "msg_tea", "Tea is hot!")
    assert stage.state.drafts == {}


def test_a_decision_is_of_the_agent_whose_call_it_is_about():
    stage = Stage()
    for agent, call in ((TEA, "a"), (COFFEE, "b")):
        message = s.said(s.call(call), stop="tool_use")
        asked = [message, s.used(call), s.approval(f"ok_{call}", call)]
        stage.say(Batch(asked, agent, call))
    stage.say(stage.state.from_outside(s.decision("ok_b")))
    assert stage.shown[-1].envelope.agent == COFFEE


def test_what_was_used_is_counted_for_both():
    stage = Stage()
    stage.say(*INTERLEAVED, *left_open(stage.state, asyncio.CancelledError()))
    stage.say(*left_open(stage.state, asyncio.CancelledError()))
    assert stage.state.usage.input_tokens == 14


class Deciding:
    """A decision about a call of tea, on its way to a slow disk, while coffee writes."""

    def __init__(self):
        self.stage, self.shown = Stage(), []
        asked = [s.said(s.call("a"), stop="tool_use"), s.used("a"), s.approval("ok_a", "a")]
        self.stage.say(Batch(asked, TEA, "1"), begins(COFFEE, "2"))
        self.reached, self.disk = asyncio.Event(), asyncio.Event()
        self.parts = SimpleNamespace(
            show=self.shown.extend,
            store=SimpleNamespace(append=self._append),
            rate=no_price,
            note=lambda placed: None,
            files=NO_ATTACHMENTS,
        )

    async def _append(self, turn, kept):
        self.reached.set()
        await self.disk.wait()
        return self.stage.state.position + 1

    def deliver(self, batch):
        return asyncio.create_task(turn.deliver([batch], self.stage.state, self.parts))

    async def begun(self):
        task = self.deliver(self.stage.state.from_outside(s.decision("ok_a")))
        await self.reached.wait()
        return task

    def writes(self, text):
        show_chunks(writes(COFFEE, "2", text), self.stage.state, self.parts.show)

    @property
    def kinds(self):
        return [type(entry.event) for entry in self.shown]


async def test_chunks_that_cross_a_decision_come_after_it():
    """One agent writes while a decision about the other's call is on its way to the disk."""
    deciding = Deciding()
    task = await deciding.begun()
    deciding.writes("Coffee")
    assert deciding.shown == []
    deciding.disk.set()
    await task
    deciding.writes(" was")
    assert deciding.kinds == [k.ApprovalResolved, *[k.MessageChunk] * 2]
    first = deciding.shown[0].envelope.index
    indexes = [entry.envelope.index for entry in deciding.shown]
    assert indexes == [first, first + 1, first + 2]


async def test_chunks_that_cross_a_decision_come_after_it_also_where_another_is_stopped():
    """What waits for its turn behind the decision shows nothing that the decision holds back."""
    deciding = Deciding()
    task = await deciding.begun()
    waiting = deciding.deliver(Batch([s.said("Coffee")], COFFEE, "2"))
    await asyncio.sleep(0)
    deciding.writes("Coffee")
    waiting.cancel()
    await asyncio.wait([waiting])
    assert deciding.shown == []
    deciding.disk.set()
    await task
    assert deciding.kinds == [k.ApprovalResolved, k.MessageChunk]


# after the process has died


async def in_mid_turn():
    """The store of a process that died while both were writing, with their drafts saved."""
    store = MemoryStore("dead")
    await store.open()
    await store.create_session(s.new_session())
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    stage = Stage(turn)
    stage.say(*INTERLEAVED)
    keeper = DraftKeeper(stage.state, store)
    keeper._save()  # what its clock does about once a second
    await keeper.close()
    await store.close()
    return MemoryStore("living", store)


async def test_the_drafts_of_both_are_saved_and_become_their_own_words():
    store = await in_mid_turn()
    await store.open()
    (turn,) = await store.claim_abandoned(None, working_on={})
    await recover(turn, store, lambda batch: None)
    evidence = await store.evidence("s")
    assert (prove(evidence).problems, evidence.running) == ([], [])
    log = [stamped(row) for row in evidence.log]
    kept = [entry for entry in log if isinstance(entry.event, k.Message | k.Thinking)]
    words = [
        (entry.envelope.agent.id, entry.event.message_id, entry.event.content) for entry in kept
    ]
    assert words == WORDS
    assert log[-1].event.code == "interrupted"


# through the whole server


def asks_for(*agent_ids):
    calls = [
        block(
            {"type": "tool_use", "id": f"toolu_{n}", "name": f"transfer_to_{name}", "input": {}},
            json_piece('{"reason": "Say something."}'),
            index=n,
        )
        for n, name in enumerate(agent_ids)
    ]
    return [start(id="msg_boss"), *(raw for call in calls for raw in call), *stop("tool_use")]


def says(message_id, *pieces):
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return [start(id=message_id), *block({"type": "text", "text": ""}, *deltas), *stop()]


PIECES = {
    "tea": ("Tea ", "is ", "hot. ", "Very."),
    "coffee": ("Coffee ", "was ", "cold. ", "Very."),
}


class Gate:
    """Lets so many pieces of each of the two pass, by turns; then nothing comes any more."""

    def __init__(self, pieces):
        self._pieces = pieces
        self._passed = Counter()
        self._both = asyncio.Barrier(2)
        self.shut = asyncio.Event()

    async def __call__(self, prompt):
        if prompt.system in PIECES:
            await self._both.wait()
            if self._passed[prompt.system] == self._pieces:
                self.shut.set()
                await asyncio.Event().wait()
            self._passed[prompt.system] += 1


@asynccontextmanager
async def team(pieces, message_id):
    """A boss who gives a task to both at once; their provider may give both one id."""
    gate = Gate(pieces)
    streams = {name: [says(message_id or f"msg_{name}", *PIECES[name])] for name in PIECES}
    model = PlayedModel(team={"boss": [asks_for(*PIECES)], **streams}, pause=gate)
    boss = Agent("boss", prompt="boss", hands_over_to=list(PIECES))
    agents = [boss, *(Agent(name, prompt=name) for name in PIECES)]
    app = create_app(agents, settings=Settings(grace=0.0), store=MemoryStore(), engine=model)
    async with app, asyncio.timeout(60):
        yield app, gate


@pytest.mark.parametrize("message_id", [None, "msg_same"])
@pytest.mark.parametrize("pieces", [1, 2, 3])
async def test_a_team_that_is_stopped_keeps_everybody_s_words(pieces, message_id):
    async with team(pieces, message_id) as (app, gate):
        session = await app.create_session(USER)
        turn = await app.start_turn(USER, session.id, Question(message="Go"))
        await gate.shut.wait()
        await app.stop_turn(USER, session.id)
        batches = [batch async for batch in app.follow_turn(USER, turn)]
        live = [wire.decode(event.json) for batch in batches for event in batch]
        evidence = await app.store.evidence(session.id)
    kept = [stamped(row) for row in evidence.log]
    log = [wire.decode(wire.encode(entry)) for entry in kept if not entry.envelope.internal]
    assert [*prove(evidence).problems, *invariants.broken(live, log)] == []
    messages = [event for event in log if event["type"] == "message"]
    assert {event["agent"]["id"]: event["content"] for event in messages} == {
        name: "".join(words[:pieces]) for name, words in PIECES.items()
    }
    assert {event["stopReason"] for event in messages} == {"cancelled"}


async def test_an_answer_whose_id_is_taken_after_all_is_kept_once():
    stage = Stage()
    stage.say(begins(TEA, "1"), writes(TEA, "1", "Hot."))
    failures = iter([MessageIdTaken("msg_tea")])

    async def append(events):
        for failure in failures:
            raise failure
        return 1

    placed = place(normalize(Batch([s.said("Hot.")], TEA, "1"), stage.state), stage.state)

    def shown(placed, number):
        emit(placed, stage.state, number, stage.shown.extend)

    await store_and_emit(placed, stage.state, append, shown)
    assert stage.shown[-1].event.message_id != "msg_tea"
    assert left_open(stage.state, None) == []
