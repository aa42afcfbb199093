"""Events that are given to one who sleeps: nobody is woken, and nothing comes twice."""

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from turnlog.buses.joining import UNMADE
from turnlog.events.cursor import BEGINNING
from turnlog.ports import Watcher
from turnlog.testing import samples as s
from turnlog.testing.shown_turns import chunk, turn, until, waits


def noting(given):
    """One who takes all that it is given."""
    return Watcher(lambda new: not given.extend(new))


async def asleep(bus, batches):
    """Who follows has read all there is, and waits."""
    sleeping = asyncio.create_task(anext(batches))
    while not bus.channels["s"].sleeping:
        await asyncio.sleep(0)
    return sleeping


async def test_what_comes_is_given_to_one_who_sleeps_and_wakes_nobody(bus):
    given = []
    first, *more = turn(chunk("a"), chunk("b"), s.said("ab"), s.completed())
    async with aclosing(bus.follow("s", BEGINNING, noting(given))) as batches:
        await waits(batches)
        bus.publish("s", [first])
        assert await until(batches, first) == [first]
        sleeping = await asleep(bus, batches)
        bus.publish("s", more[:1])
        bus.publish("s", more[1:])
        assert [live.entry for live in given] == more
        assert len(bus.channels["s"].sleeping) == 1
        bus.publish("s", [])
        assert await sleeping == []  # what was given is in no batch


async def test_nothing_is_given_to_one_who_has_just_left(bus):
    given = []
    first, piece = turn(chunk("a"))
    async with aclosing(bus.follow("s", BEGINNING, noting(given))) as batches:
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

    def fail(events):
        raise OSError("the line is broken")

    async with (
        aclosing(bus.follow("s", BEGINNING, Watcher(fail))) as bad,
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
    async with aclosing(bus.follow("s", BEGINNING, noting(given))) as batches:
        assert await until(batches, first) == [first]
        sleeping = await asleep(bus, batches)
        bus.publish("s", [hidden])
        assert await sleeping == []
    assert given == []


async def test_the_first_event_of_a_turn_is_in_a_batch_and_what_follows_is_given(bus):
    given, whole = [], turn(s.said("a"), s.completed())
    first, answer = turn(s.said("b"), after=1, turn_id="t2")
    bus.publish("s", whole)
    async with aclosing(bus.follow("s", BEGINNING, noting(given))) as batches:
        assert await until(batches, whole[-1]) == whole
        sleeping = await asleep(bus, batches)
        bus.publish("s", [first])
        assert [live.entry for live in await sleeping] == [first]
        sleeping = await asleep(bus, batches)
        bus.publish("s", [answer])
        assert [live.entry for live in given] == [answer]
        bus.publish("s", [])
        assert await sleeping == []


async def test_a_turn_whose_end_is_given_rests(bus):
    shown = turn(s.said("a"), s.completed())
    bus.publish("s", shown[:1])
    async with aclosing(bus.follow("s", BEGINNING, Watcher(lambda new: True))) as batches:
        await until(batches, shown[0])
        sleeping = await asleep(bus, batches)
        bus.publish("s", shown[1:])
        assert all(live.json is UNMADE for live in bus.channels["s"].events)
        bus.publish("s", [])
        await sleeping


async def test_a_watcher_knows_the_newest_event_that_it_took_and_not_one_that_woke_it(bus):
    given = []
    first, piece, answer, end = turn(chunk("a"), s.said("a"), s.completed())
    watcher = Watcher(lambda new: not given.extend(new), wakes_for=(type(end.event),))
    bus.publish("s", [first])
    async with aclosing(bus.follow("s", BEGINNING, watcher)) as batches:
        assert await until(batches, first) == [first]
        sleeping = await asleep(bus, batches)
        bus.publish("s", [piece])
        bus.publish("s", [answer])
        assert watcher.newest == answer
        bus.publish("s", [end])
        assert [live.entry for live in await sleeping] == [end]
    assert [live.entry for live in given] == [piece, answer]
    assert watcher.newest == answer
