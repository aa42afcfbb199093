"""A node that is killed at any call of its store: another goes on, and nobody misses a thing."""

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from contextvars import ContextVar
from inspect import iscoroutinefunction
from itertools import count

import pytest
from obedient_model import ObedientModel

from turnlog import Agent, Settings, create_app, tool
from turnlog.buses.nodes import NodesBus
from turnlog.errors import NotStored
from turnlog.ports import Decision, Question
from turnlog.projections.proof import prove
from turnlog.projections.transcript import transcript
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire
from turnlog.turns.following import Following

USER = "ann"
INSIDE = ContextVar("INSIDE", default=False)  # a call that the store makes to itself


class KilledAt(MemoryStore):
    """The store of a process that dies at one of its calls, before or after it took effect."""

    call, after = None, False

    def __init__(self):
        super().__init__("one")
        self._calls = count()
        self._killed, self._buried = asyncio.Event(), asyncio.Event()

    async def _dies(self):
        self._killed.set()
        await self._buried.wait()
        raise NotStored("This process was killed.")

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name[0] == "_" or name == "close" or INSIDE.get() or not iscoroutinefunction(found):
            return found

        async def counted(*args, **more):
            here = self.call is not None and next(self._calls) == self.call
            if self._killed.is_set() or (here and not self.after):
                await self._dies()
            token = INSIDE.set(True)
            try:
                answer = await found(*args, **more)
            finally:
                INSIDE.reset(token)
            if here:
                await self._dies()
            return answer

        return counted


class Wire:
    """A Stream between nodes of this process."""

    def __init__(self, others, parcels):
        self._others, self._parcels = others, parcels

    async def open(self, on_nudge, on_told, on_lost):
        self.nudge, self.told = on_nudge, on_told
        self._others.append(self)

    async def close(self):
        if self in self._others:
            self._others.remove(self)

    async def add(self, parcels):
        for parcel in parcels:
            self._parcels[parcel.session_id].append(parcel.body)
            for other in self._others:
                if other is not self:
                    other.nudge(parcel.session_id)

    async def read(self, after):
        return {
            session_id: [*enumerate(self._parcels[session_id], 1)][int(place or 0) :]
            for session_id, place in after.items()
        }

    async def watch(self, session_id): ...

    async def unwatch(self, session_id): ...

    async def signal(self, body):
        for other in list(self._others):
            other.told(body)


class Place:
    """Three nodes: one that is killed, one that goes on, and one where somebody only watches."""

    def __init__(self):
        self.runs = []

        @tool(approval="always")
        async def pay() -> str:
            """A person is asked first."""
            self.runs.append("pay")
            return "paid"

        @tool(writes=True, approval="never")
        async def send() -> str:
            """Nobody is asked."""
            self.runs.append("send")
            return "sent"

        self.killed, tools = KilledAt(), [pay, send]
        self.store = MemoryStore("two", self.killed)
        others, parcels = [], defaultdict(list)
        self.buses = [NodesBus(Wire(others, parcels), wire.encode, recall) for _ in range(3)]
        self.one, self.two = (
            create_app(
                [Agent("a", tools=tools)],
                settings=Settings(api_key="none", grace=0.0),
                store=store,
                bus=bus,
                engine=ObedientModel(pay, send),
            )
            for store, bus in zip((self.killed, self.store), self.buses, strict=False)
        )

    async def opened(self):
        await self.one.__aenter__()
        await self.two.__aenter__()
        await self.buses[2].open(lambda *signal: None)
        self.session = (await self.one.create_session(USER)).id
        third = Following(self.store, self.buses[2], wire.encode, lambda turn_id: None)
        watched = (
            self.two.follow(USER, self.session, None),
            third.session(USER, self.session, None),
        )
        self.screens = [[], []]
        self.watching = [
            asyncio.create_task(watch(batches, screen))
            for batches, screen in zip(watched, self.screens, strict=True)
        ]
        await asyncio.sleep(0.001)  # both watch

    async def is_killed(self, doing):
        """Whether it came to that, before it had done all of it."""
        self.doing = asyncio.create_task(doing(self))
        killed = asyncio.create_task(self.killed._killed.wait())
        await asyncio.wait([self.doing, killed], return_when=asyncio.FIRST_COMPLETED)
        self.killed._killed.set()
        await self.buses[0]._stream.close()
        await self.killed.close()
        return not self.doing.done()

    async def closed(self):
        """Also what is left of the one that was killed."""
        for task in self.watching:
            task.cancel()
        await self.two.__aexit__()
        await self.buses[2].close()
        self.killed._buried.set()
        with suppress(NotStored):
            await self.one.__aexit__()
        with suppress(NotStored):
            await self.doing

    async def approve(self, node):
        for approval in await node.store.list_approvals(USER, status="pending"):
            await node.answer_approval(USER, approval.id, Decision(approved=True))
        await node._turns.all_at_rest()


async def recall(session_id, seq):
    raise AssertionError("nothing here is large")


async def watch(batches, screen):
    async for batch in batches:
        screen += [live.entry for live in batch]


async def asks(place):
    await place.one.run_turn("send", session_id=place.session, user_id=USER)


async def is_asked(place):
    await place.one.run_turn("pay send", session_id=place.session, user_id=USER)
    await place.approve(place.one)


async def stops(place):
    await place.one.start_turn(USER, place.session, Question(message="wait"))
    for _ in range(20):
        await asyncio.sleep(0)
    await place.one.stop_turn(USER, place.session)


def has_ended(screen, turn_id):
    ends = {("complete", turn_id), ("resync_required", "")}
    return bool(screen) and (screen[-1].event.type, screen[-1].turn_id) in ends


def screen_of(entries):
    shown = (entry for entry in entries if not entry.envelope.internal)
    return transcript(wire.decode(wire.encode(entry)) for entry in shown)


async def killed_at(call, doing, *, after):
    """Whether there was such a call."""
    place = Place()
    await place.opened()
    place.killed.call, place.killed.after = call, after
    was_killed = await place.is_killed(doing)
    two = place.two
    await two._healer.look()
    await two._turns.all_at_rest()
    await place.approve(two)
    assert (await two.run_turn("hello", session_id=place.session, user_id=USER)).success
    assert prove(await place.store.evidence(place.session)).problems == []
    assert max(Counter(place.runs).values(), default=0) <= 1
    log = await place.store.read(USER, place.session)
    for screen in place.screens:
        while not has_ended(screen, log[-1].turn_id):
            await asyncio.sleep(0)
        if screen[-1].event.type == "complete":  # else it reloads
            assert screen_of(screen) == screen_of(log)
    await place.closed()
    return was_killed


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("doing", [asks, pytest.param(is_asked, marks=pytest.mark.slow), stops])
async def test_a_node_that_is_killed_at_any_call_of_its_store_is_missed_by_nobody(doing, after):
    for call in count():
        async with asyncio.timeout(60):
            if not await killed_at(call, doing, after=after):
                break
    assert call > 5
