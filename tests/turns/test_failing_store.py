"""A store that fails once, at any call of a turn: the session goes on, and live is as reloaded."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from inspect import iscoroutinefunction
from itertools import count

import pytest
from obedient_model import ObedientModel

from turnlog import Agent, Settings, create_app, tool
from turnlog.errors import NotStored
from turnlog.ports import Decision, Question
from turnlog.projections.proof import prove
from turnlog.projections.transcript import transcript
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire

USER = "ann"
INSIDE = ContextVar("INSIDE", default=False)  # a call that the store makes to itself


class FailsOnce(MemoryStore):
    """Its call number `fails_at` keeps nothing and says so."""

    fails_at, failed = None, False

    def __init__(self):
        super().__init__()
        self._calls = count()

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name.startswith("_") or INSIDE.get() or not iscoroutinefunction(found):
            return found

        async def counted(*args, **more):
            if self.fails_at is not None and next(self._calls) == self.fails_at:
                self.failed = True
                raise NotStored("The disk is full.")
            token = INSIDE.set(True)
            try:
                return await found(*args, **more)
            finally:
                INSIDE.reset(token)

        return counted


@tool(approval="always")
async def pay() -> str:
    """A person is asked first."""
    return "paid"


@tool(writes=True, approval="never")
async def send() -> str:
    """Nobody is asked."""
    return "sent"


class Place:
    """An app, one session of it, and somebody who watches."""

    def __init__(self):
        self.store, self.seen = FailsOnce(), []
        settings = Settings(api_key="none")
        agents = [Agent("a", tools=[pay, send])]
        self.app = create_app(
            agents, settings=settings, store=self.store, engine=ObedientModel(pay, send)
        )

    async def opened(self):
        self.session = (await self.app.create_session(USER)).id
        self.watching = asyncio.create_task(self._watch())
        await asyncio.sleep(0)

    async def ask(self, message):
        return await self.app.run_turn(message, session_id=self.session, user_id=USER)

    async def stop(self):
        await self.app.start_turn(USER, self.session, Question(message="wait"))
        await self.sees("message_chunk", "error")
        await self.app.stop_turn(USER, self.session)

    async def approve(self):
        for approval in await self.store.list_approvals(USER, status="pending"):
            await self.app.answer_approval(USER, approval.id, Decision(approved=True))
        await self.app._turns.all_at_rest()

    async def sees(self, *types):
        while not self.seen or self.seen[-1].event.type not in types:
            await asyncio.sleep(0)

    async def _watch(self):
        async for batch in self.app.follow(USER, self.session, None):
            self.seen += [live.entry for live in batch]


async def asks(place):
    await place.ask("send")


async def is_asked(place):
    await place.ask("pay send")
    await place.approve()


async def is_stopped(place):
    await place.stop()


def screen(entries):
    shown = (entry for entry in entries if not entry.envelope.internal)
    return transcript(wire.decode(wire.encode(entry)) for entry in shown)


async def fails_at(call, what):
    """Whether there was such a call."""
    place = Place()
    app, store = place.app, place.store
    async with asyncio.timeout(60), app:
        await place.opened()
        store.fails_at = call
        with suppress(NotStored):
            await what(place)
        store.fails_at = None
        if what is is_stopped:
            await app.stop_turn(USER, place.session)  # or the turn goes on
        await app._turns.all_at_rest()
        await app._turns.heal()
        await place.approve()
        assert not app._turns._live and not app._turns._limits._running
        assert (await place.ask("hello")).success
        assert prove(await store.evidence(place.session)).problems == []
        await place.sees("complete")
        assert screen(place.seen) == screen(await store.read(USER, place.session))
        place.watching.cancel()
    return store.failed


@pytest.mark.parametrize("what", [asks, is_asked, is_stopped])
async def test_a_store_that_fails_once_costs_no_session_and_shows_nothing_that_is_not_there(what):
    for call in count():
        if not await fails_at(call, what):
            break
    assert call > 5
