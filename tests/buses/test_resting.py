"""A turn that is over and that all have read rests: its JSON is made again for who comes back."""

import asyncio
from contextlib import aclosing

from turnlog.buses.joining import UNMADE
from turnlog.events.cursor import BEGINNING, cursor_of
from turnlog.testing import samples as s
from turnlog.testing.shown_turns import WHOLE, chunk, turn
from turnlog.transports import wire


async def read(batches):
    async with asyncio.timeout(60):
        while not (batch := await anext(batches)):
            pass
    return [live.json for live in batch]


async def sleeps(bus, batches):
    """One who has read all there is waits for more."""
    sleeping = asyncio.create_task(anext(batches, None))
    async with asyncio.timeout(60):
        while not bus.channels["s"].sleeping:
            await asyncio.sleep(0)
    return sleeping


def rests(bus):
    return [live.json is UNMADE for live in bus.channels["s"].events]


async def test_who_comes_back_to_a_turn_that_rests_gets_the_same_bytes(bus):
    shown = turn(*WHOLE, s.completed())
    bus.publish("s", shown)
    async with aclosing(bus.follow("s", BEGINNING)) as first:
        seen = await read(first)
        assert not any(rests(bus))
        sleeping = await sleeps(bus, first)
        assert all(rests(bus))
        async with aclosing(bus.follow("s", BEGINNING)) as second:
            assert await read(second) == seen == [wire.encode(entry) for entry in shown]
        for index, entry in enumerate(shown[:-1]):
            async with aclosing(bus.follow("s", cursor_of(entry))) as late:
                assert await read(late) == seen[index + 1 :]
        assert all(rests(bus))
        sleeping.cancel()
        await asyncio.wait([sleeping])


async def test_chunks_of_a_turn_that_rests_are_joined_as_ever(bus):
    first, *chunks, end = turn(chunk("a"), chunk("b"), chunk("c"), s.completed())
    bus.publish("s", [first, *chunks, end])
    async with aclosing(bus.follow("s", BEGINNING)) as follower:
        seen = await read(follower)
    assert len(seen) == 3 and all(rests(bus))
    async with aclosing(bus.follow("s", BEGINNING)) as follower:
        assert await read(follower) == seen


async def test_what_comes_after_the_end_comes_with_what_rests(bus):
    shown = turn(*WHOLE, s.completed(), s.result("late"))
    bus.publish("s", shown[:-1])
    async with aclosing(bus.follow("s", BEGINNING)) as follower:
        await read(follower)
    assert all(rests(bus))
    bus.publish("s", shown[-1:])
    async with aclosing(bus.follow("s", BEGINNING)) as follower:
        assert await read(follower) == [wire.encode(entry) for entry in shown]


async def test_a_turn_does_not_rest_while_one_has_not_read_it_or_it_goes_on(bus):
    *shown, end = turn(*WHOLE, s.completed())
    bus.publish("s", shown)
    async with aclosing(bus.follow("s", BEGINNING)) as slow:
        await read(slow)
        async with aclosing(bus.follow("s", BEGINNING)) as keen:
            await read(keen)
            assert not any(rests(bus))  # it goes on
            bus.publish("s", [end])
            await read(keen)
        assert not any(rests(bus))
        assert await read(slow) == [wire.encode(end)]
    assert all(rests(bus))
