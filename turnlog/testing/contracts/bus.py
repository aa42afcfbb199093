"""The contract of the Bus. Subclass it and give it a `bus` fixture, and a `small_bus` one.

A small bus remembers `SMALL` bytes at most.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.cursor import Cursor, cursor_of
from turnlog.ports import Bus
from turnlog.testing import samples as s

Following = AsyncGenerator[Sequence[Stamped] | None, None]
BEGINNING = Cursor(-1, -1)
SMALL = 50_000


def turn(*events: Event, after: int = -1, turn_id: str = "t") -> list[Stamped]:
    """A question and these events as a client is shown them; the log had come to `after`."""
    shown: list[Stamped] = []
    for placed in s.placed(s.asked(), *events):
        after += placed.kept
        seq = after if placed.kept else None
        shown.append(
            Stamped(session_id="s", turn_id=turn_id, placed=placed, seq=seq, position=after)
        )
    return shown


def chunk(content: str, block: int = 0) -> k.MessageChunk:
    return k.MessageChunk(content=content, block_index=block)


def thought(content: str, block: int = 0) -> k.ThinkingChunk:
    return k.ThinkingChunk(content=content, block_index=block)


async def until(following: Following, last: Stamped) -> list[Stamped]:
    """What a follower gets, up to that event."""
    seen: list[Stamped] = []
    async with asyncio.timeout(60):  # or a broken bus would hang the suite
        while not seen or seen[-1].placed.event_id != last.placed.event_id:
            batch = await anext(following)
            assert batch is not None, "the follower was told to reload"
            seen += batch
    return seen


async def refused(following: Following) -> bool:
    """Whether the follower is told, once, that it must reload."""
    async with asyncio.timeout(60), aclosing(following):
        return [batch async for batch in following] == [None]


WHOLE = (chunk("Let me see."), s.used("a"), s.result("a"), chunk("Yes."), s.said("Yes."))


class BusContract:
    """Every event after the cursor, once, in order; or None, once."""

    async def test_it_is_empty_until_something_happens(self, bus: Bus) -> None:
        assert bus.is_empty("s")
        bus.publish("s", [])
        assert bus.is_empty("s")
        bus.publish("s", turn())
        assert (bus.is_empty("s"), bus.is_empty("other")) == (False, True)

    async def test_a_turn_that_began_elsewhere_is_not_shown_from_its_middle(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        knows_nothing, knows_too_little = bus.follow("s", None), bus.follow("s", BEGINNING)
        bus.publish("s", shown[3:])  # another process had shown the rest
        assert await refused(knows_nothing)
        assert await refused(knows_too_little)
        async with aclosing(bus.follow("s", cursor_of(shown[2]))) as following:
            assert await until(following, shown[-1]) == shown[3:]

    async def test_who_waits_for_the_first_thing_is_told_when_it_comes_too_late(
        self, bus: Bus
    ) -> None:
        shown = turn(*WHOLE, after=4)
        knows_it, does_not = bus.follow("s", Cursor(4, 9)), bus.follow("s", Cursor(3, 9))
        waiting = [asyncio.ensure_future(anext(each)) for each in (knows_it, does_not)]
        await asyncio.sleep(0)  # both are on an empty channel
        bus.publish("s", shown)
        async with asyncio.timeout(60):
            first, missed = [await each for each in waiting]
        assert first and first[0].placed.event_id == shown[0].placed.event_id
        assert missed is None
        await knows_it.aclose()
        await does_not.aclose()

    async def test_from_every_cursor_the_rest_follows(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        bus.publish("s", shown)
        for seen in range(len(shown)):
            after = cursor_of(shown[seen - 1]) if seen else BEGINNING
            async with aclosing(bus.follow("s", after)) as following:
                assert await until(following, shown[-1]) == shown[seen:]

    async def test_what_happens_later_follows_too(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            for at in shown:
                bus.publish("s", [at])
                assert await until(following, at) == [at]

    async def test_all_followers_see_the_same(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        async with (
            aclosing(bus.follow("s", BEGINNING)) as one,
            aclosing(bus.follow("s", None)) as two,
        ):
            for at in shown:
                bus.publish("s", [at])
            assert await until(one, shown[-1]) == await until(two, shown[-1]) == shown

    async def test_without_a_cursor_the_newest_turn_is_seen_from_its_start(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(chunk("Well"), after=1, turn_id="t2")
        bus.publish("s", first)
        bus.publish("s", second)
        async with aclosing(bus.follow("s", None)) as following:
            assert await until(following, second[-1]) == second

    async def test_one_who_has_seen_a_turn_goes_on_with_the_next(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(s.said("No."), after=1, turn_id="t2")
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            for shown in (first, second):
                bus.publish("s", shown)
                assert await until(following, shown[-1]) == shown

    async def test_nothing_comes_from_another_session(self, bus: Bus) -> None:
        mine, other = turn(s.said("Mine.")), turn(s.said("Other."))
        async with aclosing(bus.follow("s", None)) as following:
            bus.publish("other", other)
            bus.publish("s", mine)
            assert await until(following, mine[-1]) == mine

    async def test_waiting_chunks_of_one_block_are_one(self, bus: Bus) -> None:
        pieces = [
            thought("Hm"),
            thought("m."),
            chunk("a"),
            chunk("b"),
            chunk("c", 1),
            chunk("d", 1),
        ]
        shown = turn(*pieces)
        bus.publish("s", shown)
        async with aclosing(bus.follow("s", None)) as following:
            _, *seen = await until(following, shown[-1])
        assert [at.event for at in seen] == [thought("Hmm."), chunk("ab"), chunk("cd", 1)]
        assert [at.cursor for at in seen] == [shown[n].cursor for n in (2, 4, 6)]

    async def test_chunks_are_not_joined_across_what_stands_between_them(self, bus: Bus) -> None:
        shown = turn(chunk("a"), s.used("t"), s.result("t"), chunk("b"))
        bus.publish("s", shown)
        async with aclosing(bus.follow("s", None)) as following:
            assert await until(following, shown[-1]) == shown

    async def test_when_it_closes_followers_get_the_rest_and_are_done(self, bus: Bus) -> None:
        first, *rest = turn(*WHOLE)
        following, idle = bus.follow("s", None), bus.follow("other", None)
        bus.publish("s", [first])
        await until(following, first)
        waiting = asyncio.create_task(anext(idle, "over"))
        await asyncio.sleep(0)  # let it begin to wait
        bus.publish("s", rest)
        bus.close()
        async with asyncio.timeout(60):
            assert [at async for batch in following for at in batch or ()] == rest
            assert await waiting in ("over", [])

    async def test_a_cursor_of_an_older_turn_is_refused(self, bus: Bus) -> None:
        first, second = turn(*WHOLE), turn(s.said("No."), after=4, turn_id="t2")
        bus.publish("s", first)
        bus.publish("s", second)
        last = max(n for n, at in enumerate(first) if at.position < 3)
        for at in first[: last + 1]:
            assert await refused(bus.follow("s", cursor_of(at)))

    async def test_one_who_reads_nothing_for_a_turn_is_told_once(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(s.said("No."), after=1, turn_id="t2")
        third = turn(s.said("Oh."), after=3, turn_id="t3")
        following = bus.follow("s", None)
        bus.publish("s", first)
        await until(following, first[-1])
        bus.publish("s", second)
        bus.publish("s", third)
        assert await refused(following)

    async def test_a_cursor_that_no_event_had_is_refused(self, bus: Bus) -> None:
        shown = turn(chunk("a"), chunk("b"))
        bus.publish("s", shown)
        assert await refused(bus.follow("s", Cursor(shown[-1].position, 99)))

    async def test_what_was_read_from_the_log_first_is_not_shown_again(self, bus: Bus) -> None:
        *before, message, complete = turn(*WHOLE, chunk("more"))
        bus.publish("s", before)
        async with aclosing(bus.follow("s", cursor_of(message))) as following:
            reading = asyncio.create_task(until(following, complete))
            await asyncio.sleep(0)  # let it begin to wait
            bus.publish("s", [message, complete])
            assert await reading == [complete]

    async def test_internal_events_are_shown_to_nobody_and_are_no_gap(self, bus: Bus) -> None:
        claim = k.ClaimUnfounded(message_id="m", claim="Yes.", why="No.")
        *first, note = turn(s.said("Yes."), claim)
        second = turn(s.said("No."), after=note.position, turn_id="t2")
        bus.publish("s", first)
        async with aclosing(bus.follow("s", None)) as following:
            await until(following, first[-1])
            bus.publish("s", [note])
            bus.publish("s", second)
            assert await until(following, second[-1]) == second

    @pytest.mark.parametrize("watched", [True, False])
    async def test_a_gap_in_the_log_is_not_passed_over(self, bus: Bus, watched: bool) -> None:
        first, third = turn(s.said("Yes.")), turn(s.said("Oh."), after=3, turn_id="t3")
        following = bus.follow("s", Cursor(1, 1))
        if watched:
            bus.publish("s", first)
        reading = asyncio.create_task(refused(following))
        await asyncio.sleep(0)  # let it begin to wait
        bus.publish("s", third)
        assert await reading

    @pytest.mark.parametrize("ending", [(), (s.said("Yes."), s.broke())], ids=["running", "over"])
    async def test_what_was_forgotten_to_make_room_is_not_passed_over(
        self, small_bus: Bus, ending: tuple[Event, ...]
    ) -> None:
        shown = turn(*(chunk("x" * 1000) for _ in range(20)), *ending)
        small_bus.publish("s", shown)
        for n in range(SMALL // 1000):
            small_bus.publish(f"other {n}", turn(chunk("y" * 1000)))
        assert small_bus.is_empty("s")
        if not ending:
            small_bus.publish("s", turn(*(chunk("x" * 1000) for _ in range(21)))[-1:])
            assert await refused(small_bus.follow("s", cursor_of(shown[5])))
            assert await refused(small_bus.follow("s", None))

    async def test_a_turn_that_was_forgotten_goes_on_for_those_who_had_seen_it(
        self, small_bus: Bus
    ) -> None:
        *seen, last = turn(*(chunk("x" * 1000) for _ in range(20)))
        async with aclosing(small_bus.follow("s", None)) as keen:
            small_bus.publish("s", seen)
            await until(keen, seen[-1])
            lazy = small_bus.follow("s", cursor_of(seen[0]))
            small_bus.publish("other", turn(chunk("y" * SMALL)))
            small_bus.publish("s", [last])
            assert await until(keen, last) == [last]
            assert await refused(lazy)

    async def test_the_turn_after_a_forgotten_one_is_whole(self, small_bus: Bus) -> None:
        first, second = turn(chunk("x" * SMALL)), turn(s.said("No."), after=1, turn_id="t2")
        small_bus.publish("s", first)
        assert small_bus.is_empty("s")
        small_bus.publish("s", second)
        async with aclosing(small_bus.follow("s", None)) as following:
            assert await until(following, second[-1]) == second
