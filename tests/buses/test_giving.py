"""Chunks that are given to one who sleeps: nobody is woken, and nothing comes twice."""

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from turnlog.events.cursor import BEGINNING
from turnlog.testing.shown_turns import chunk, turn, until, waits


async def asleep(bus, batches):
    """Who follows has read all there is, and waits."""
    sleeping = asyncio.create_task(anext(batches))
    while not bus.channels["s"].sleeping:
        await asyncio.sleep(0)
    return sleeping


async def test_a_chunk_is_given_to_one_who_sleeps_and_wakes_nobody(bus):
    given = []
    first, *chunks = turn(chunk("a"), chunk("b"))
    async with aclosing(bus.follow("s", BEGINNING, lambda live: not given.append(live))) as batches:
        await waits(batches)
        bus.publish("s", [first])
        assert await until(batches, first) == [first]
        sleeping = await asleep(bus, batches)
        for entry in chunks:
            bus.publish("s", [entry])
        assert [live.entry for live in given] == chunks
        assert len(bus.channels["s"].sleeping) == 1
        bus.publish("s", [])
        assert await sleeping == []  # what was given is in no batch


async def test_nothing_is_given_to_one_who_has_just_left(bus):
    given = []
    first, piece = turn(chunk("a"))
    async with aclosing(bus.follow("s", BEGINNING, lambda live: not given.append(live))) as batches:
        await waits(batches)
        bus.publish("s", [first])
        await until(batches, first)
        sleeping = await asleep(bus, batches)
        sleeping.cancel()
        bus.publish("s", [piece])
        await asyncio.wait([sleeping])
    assert given == []


async def test_one_who_fails_at_what_is_given_fails_alone(bus):
    first, piece = turn(chunk("a"))
    bus.publish("s", [first])

    def fail(live):
        raise OSError("the line is broken")

    async with (
        aclosing(bus.follow("s", BEGINNING, fail)) as bad,
        aclosing(bus.follow("s", BEGINNING)) as good,
    ):
        assert await until(bad, first) == await until(good, first) == [first]
        failing = await asleep(bus, bad)
        bus.publish("s", [piece])
        with pytest.raises(OSError, match="broken"):
            await failing
        assert await until(good, piece) == [piece]


async def test_an_internal_chunk_is_given_to_nobody(bus):
    given, (first, piece) = [], turn(chunk("a"))
    hidden = replace(piece, envelope=replace(piece.envelope, internal=True))
    bus.publish("s", [first])
    async with aclosing(bus.follow("s", BEGINNING, lambda live: not given.append(live))) as batches:
        assert await until(batches, first) == [first]
        sleeping = await asleep(bus, batches)
        bus.publish("s", [hidden])
        assert await sleeping == []
    assert given == []
