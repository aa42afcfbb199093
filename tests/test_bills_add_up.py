"""Bills add up to what Claude reported: of everybody at once, on every store, whatever goes wrong.

The Claude here counts for itself. Of each stream it knows the last report that it has sent.
"""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from itertools import islice

import pytest
from msgspec.structs import replace
from own_model import OwnModel

from turnlog import Agent, Settings, create_app, tool
from turnlog.events.content import usage_of
from turnlog.events.usage import parts_of
from turnlog.ports import CallStarted
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall, Usage, overloaded, stream
from turnlog.simulator.script import Break, Cut, Stall
from turnlog.testing import samples as s
from turnlog.testing.apps import kept_events, scripted_app

USERS = ("alice", "bob", "carol")
TURNS = 12  # of each session
PARTS = ("input_tokens", "output_tokens", "write_5m_tokens", "write_1h_tokens", "read_tokens",
         "web_searches")  # fmt: skip


class CountingClaude(SimulatedClaude):
    """Adds up what it reports, by the user who is named in the request."""

    def __init__(self, seed):
        super().__init__(answer=self._any_answer, pace=0)
        self.reported = {name: Counter() for name in USERS}
        self._random = random.Random(seed)

    def _next(self, headers, body):
        said = super()._next(headers, body)
        if isinstance(said, Reply):
            (user,) = [name for name in USERS if f"I am {name}." in str(body["messages"])]
            self.reported[user] += counted(last_report(said, body))
        return said

    def _any_answer(self, body):
        """An answer, a call of a tool, a stream that breaks off, or no stream at all."""
        chance = self._random
        if chance.random() < 0.1:
            return overloaded(0.0)
        usage = Usage(
            input_tokens=chance.randrange(1, 5_000),
            output_tokens=chance.randrange(1, 900),
            cache_read=chance.randrange(9_000),
            **{chance.choice(["cache_write_5m", "cache_write_1h"]): chance.randrange(900)},
            web_searches=chance.randrange(3),
        )
        blocks = (
            ["Well, "] if not body.get("tools") or chance.random() < 0.7 else [ToolCall("look")]
        )
        ending = chance.choice([Cut, Break])(chance.randrange(9)) if chance.random() < 0.2 else None
        return Reply(*blocks, usage=usage, **({"ending": ending} if ending else {}))


def last_report(reply, body):
    """The usage object as it stands when the stream has ended, however it ends."""
    sent = stream.events(reply, body)
    if isinstance(reply.ending, Cut | Break | Stall):
        sent = islice(sent, reply.ending.after)
    usage = {}
    for event in sent:
        usage |= event.get("message", event).get("usage") or {}
    return usage


def counted(usage):
    parts = parts_of("claude-sonnet-5-5", usage)
    return Counter({name: sum(getattr(part, name) for part in parts) for name in PARTS})


def billed(charges):
    sums = Counter()
    for charge in charges:
        sums += Counter({name: getattr(charge.part, name) for name in PARTS})
    return sums


@tool(writes=False)
async def look() -> str:
    """Looks."""
    return "seen"


async def talk(app, user):
    """A session with turns that may fail: the bill must not care."""
    session = (await app.create_session(user)).id
    for number in range(TURNS):
        await app.run_turn(f"I am {user}. {number}", session_id=session, user_id=user)
    return session


async def talked(stack, claude, stores):
    """Everybody talks at once, in two sessions on each node. Returns the apps."""
    claude_url = await stack.enter_async_context(claude.serve())
    settings = Settings(
        api_key="k", base_url=claude_url, history_tokens=200, messages_a_minute=10_000
    )
    apps = [create_app([Agent("a", tools=[look])], settings=settings, store=url) for url in stores]
    for app in apps:
        await stack.enter_async_context(app)
    talks = [talk(app, user) for app in apps for user in USERS for _ in range(2)]
    sessions = await asyncio.gather(*talks)
    for session in sessions:
        assert prove(await apps[0].store.evidence(session)).problems == []
    return apps


async def adds_up(claude, *stores):
    async with AsyncExitStack() as stack:
        app, *_ = await talked(stack, claude, stores)
        for user in USERS:
            charges = await app.store.charges(user_id=user)
            assert billed(charges) == claude.reported[user]
            assert {charge.kind for charge in charges} == {"message", "summary"}
            spent = await app.store.spent(user)
            assert spent.picousd == sum(charge.cost_picousd for charge in charges)
            assert spent.tokens == sum(charge.part.total_tokens for charge in charges)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_everybodys_bill_is_what_claude_reported(seed, migrated):
    await adds_up(CountingClaude(seed), f"sqlite:{migrated}")


@pytest.mark.slow
async def test_two_nodes_on_one_database_bill_what_claude_reported(database):
    await adds_up(CountingClaude(7), database, database)


# summaries that come to nothing

USED = {"input_tokens": 9_000, "output_tokens": 1}
QUESTION = "What is 2 plus 2? " * 10


def is_summary(body):
    return "compaction" in body or "<conversation>" in str(body["messages"][-1]["content"])[:200]


async def summaries_billed(app, session):
    await kept_events(app.store, session)
    charges = await app.store.charges(session_id=session)
    return [(c.input_tokens, c.output_tokens, c.partial) for c in charges if c.kind == "summary"]


@pytest.mark.parametrize("ending", [Cut(after=4), Break(after=4)], ids=["cut", "broken"])
async def test_a_summary_that_is_cut_off_is_billed_by_what_it_began_with(ending):
    cut = Reply("They add up.", usage=Usage(**USED | {"output_tokens": 500}), ending=ending)
    async with scripted_app(history_tokens=200) as (app, sim):
        sim._answer = lambda body: cut if is_summary(body) else Reply("Four.")
        session = (await app.create_session("local")).id
        while not any(map(is_summary, sim.requests)):
            assert (await app.run_turn(QUESTION, session_id=session)).success
        assert await summaries_billed(app, session) == [(9_000, 1, 1)]


class SlowSummaries(OwnModel):
    """Begins a summary and does not end it."""

    def __init__(self):
        self.begun = asyncio.Event()

    async def call(self, prompt):
        yield [CallStarted(message_id="", model="claude-sonnet-5-5", reported=USED)]
        if prompt.compaction:
            self.begun.set()  # whoever asks for more has taken what there was
            await asyncio.Event().wait()
        yield [replace(s.said("Four.", id=""), reported=USED, token_usage=usage_of(USED))]


async def test_a_turn_that_is_stopped_while_it_summarizes_is_billed_for_that():
    model, settings = SlowSummaries(), Settings(history_tokens=200)
    app = create_app([Agent("a")], settings=settings, store="memory:", engine=model)
    async with app, asyncio.timeout(60):
        session = (await app.create_session("local")).id

        async def ask():
            while not model.begun.is_set():
                await app.run_turn(QUESTION, session_id=session)

        asking = asyncio.create_task(ask())
        await model.begun.wait()
        assert await app.stop_turn("local", session)
        await asking
        assert await summaries_billed(app, session) == [(9_000, 1, 1)]
