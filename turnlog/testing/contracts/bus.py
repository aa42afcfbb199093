"""The contract of the Bus. Subclass it and give it two fixtures:

class TestMyBus(BusContract):
    @pytest.fixture
    async def connected(self):
        ...  # a function: each await of it, with an OnSignal, opens a bus of one more process

    @pytest.fixture
    async def small_bus(self):
        ...  # an open bus that remembers `SMALL` bytes at most
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.cursor import BEGINNING, Cursor, before, cursor_of
from turnlog.ports import Bus, LiveEvent, Watcher
from turnlog.testing import samples as s
from turnlog.testing.contracts.signals import SignalContract
from turnlog.testing.shown_turns import (
    WHOLE,
    Connected,
    chunk,
    deaf,
    refused,
    thought,
    turn,
    until,
    waits,
)
from turnlog.transports import wire

SMALL = 50_000


class BusContract(SignalContract):
    """Every event after the cursor, once, in order; or None, once. And signals."""

    @pytest.fixture
    async def bus(self, connected: Connected) -> Bus:
        return await connected(deaf)

    # following

    async def test_the_first_batch_comes_at_once(self, bus: Bus) -> None:
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            await waits(following)

    async def test_a_sign_of_life_reaches_those_who_follow(self, bus: Bus) -> None:
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            await waits(following)
            bus.publish("s", [])
            await waits(following)

    async def test_from_every_cursor_the_rest_follows(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        bus.publish("s", shown)
        for seen in range(len(shown)):
            for after in [cursor_of(shown[seen - 1])] if seen else [BEGINNING, before(0)]:
                async with aclosing(bus.follow("s", after)) as following:
                    assert await until(following, shown[-1]) == shown[seen:]

    async def test_what_happens_later_follows_too(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            for entry in shown:
                bus.publish("s", [entry])
                assert await until(following, entry) == [entry]

    async def test_the_json_of_an_event_is_made_once(self, bus: Bus) -> None:
        shown = turn(chunk("a"), chunk("b"), s.said("ab"))
        async with (
            aclosing(bus.follow("s", BEGINNING)) as one,
            aclosing(bus.follow("s", BEGINNING)) as two,
        ):
            bus.publish("s", shown)
            batches = [await anext(each) or await anext(each) for each in (one, two)]
        assert batches[0] is not None and batches[1] is not None
        assert [live.json for live in batches[0]] == [
            wire.encode(live.entry) for live in batches[0]
        ]
        for mine, yours in zip(*batches, strict=True):
            assert mine.json is yours.json

    async def test_internal_events_reach_nobody(self, bus: Bus) -> None:
        first, *rest = turn(*WHOLE)
        hidden = [
            replace(entry, envelope=replace(entry.envelope, internal=True)) for entry in rest[:2]
        ]
        bus.publish("s", [first, *hidden, *rest[2:]])
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            assert await until(following, rest[-1]) == [first, *rest[2:]]

    async def test_all_followers_see_the_same(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        async with (
            aclosing(bus.follow("s", BEGINNING)) as one,
            aclosing(bus.follow("s", before(0))) as two,
        ):
            for entry in shown:
                bus.publish("s", [entry])
            assert await until(one, shown[-1]) == await until(two, shown[-1]) == shown

    async def test_the_newest_turn_can_be_seen_from_its_start(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(chunk("Well"), after=1, turn_id="t2")
        bus.publish("s", first)
        bus.publish("s", second)
        async with aclosing(bus.follow("s", before(2))) as following:
            assert await until(following, second[-1]) == second

    async def test_one_who_has_seen_a_turn_goes_on_with_the_next(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(s.said("No."), after=1, turn_id="t2")
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            for shown in (first, second):
                bus.publish("s", shown)
                assert await until(following, shown[-1]) == shown

    async def test_an_end_and_the_next_question_that_come_at_once_are_seen(self, bus: Bus) -> None:
        (asked, *rest), second = turn(*WHOLE, s.broke()), turn(chunk("No"), after=4, turn_id="t2")
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            bus.publish("s", [asked])
            await until(following, asked)
            watching = asyncio.create_task(until(following, second[-1]))
            await asyncio.sleep(0)  # it has read all there is
            for shown in (rest[:-1], rest[-1:], second):
                bus.publish("s", shown)
            assert await watching == [*rest, *second]

    async def test_what_is_given_and_what_is_in_batches_is_all_once_and_in_order(
        self, bus: Bus
    ) -> None:
        shown = turn(*map(chunk, "abc"), thought("d"), s.said("abc"), chunk("e"))
        got: list[Stamped] = []

        def give(events: Sequence[LiveEvent]) -> bool:
            has_room = events[-1].entry != shown[2]
            if has_room:
                got.extend(live.entry for live in events)
            return has_room

        async def listen() -> None:
            async for batch in following:
                got.extend(live.entry for live in batch or ())

        async with aclosing(bus.follow("s", BEGINNING, Watcher(give))) as following:
            listening = asyncio.create_task(listen())
            async with asyncio.timeout(60):
                for entry in shown:
                    bus.publish("s", [entry])
                    while got[-1:] != [entry]:  # noqa: ASYNC110  # in whichever way it comes
                        await asyncio.sleep(0.001)
            listening.cancel()
            await asyncio.wait([listening])
        assert got == shown

    async def test_nothing_comes_from_another_session(self, bus: Bus) -> None:
        mine, other = turn(s.said("Mine.")), turn(s.said("Other."))
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            bus.publish("other", other)
            bus.publish("s", mine)
            assert await until(following, mine[-1]) == mine

    async def test_what_was_read_from_the_log_first_is_not_shown_again(self, bus: Bus) -> None:
        *seen, message, more = turn(*WHOLE, chunk("more"))
        bus.publish("s", seen)
        async with aclosing(bus.follow("s", cursor_of(message))) as following:
            await waits(following)
            bus.publish("s", [message, more])
            assert await until(following, more) == [more]

    # those who are slow

    async def test_waiting_chunks_of_one_block_are_one(self, bus: Bus) -> None:
        thoughts = thought("Hm"), thought("m.")
        shown = turn(*thoughts, chunk("a"), chunk("b"), chunk("c", 1), chunk("d", 1))
        bus.publish("s", shown)
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            _, *seen = await until(following, shown[-1])
        assert [entry.event for entry in seen] == [thought("Hmm."), chunk("ab"), chunk("cd", 1)]
        assert [entry.cursor for entry in seen] == [shown[n].cursor for n in (2, 4, 6)]

    async def test_chunks_are_not_joined_across_what_stands_between_them(self, bus: Bus) -> None:
        shown = turn(chunk("a"), s.used("t"), s.result("t"), chunk("b"))
        bus.publish("s", shown)
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            assert await until(following, shown[-1]) == shown

    async def test_one_who_reads_nothing_for_a_turn_is_told_once(self, bus: Bus) -> None:
        first, second = turn(s.said("Yes.")), turn(s.said("No."), after=1, turn_id="t2")
        third = turn(s.said("Oh."), after=3, turn_id="t3")
        following = bus.follow("s", BEGINNING)
        bus.publish("s", first)
        await until(following, first[-1])
        bus.publish("s", second)
        bus.publish("s", third)
        assert await refused(following)

    # what is no longer there

    async def test_a_turn_that_began_elsewhere_is_not_shown_from_its_middle(self, bus: Bus) -> None:
        shown = turn(*WHOLE)
        following = bus.follow("s", BEGINNING)
        await waits(following)
        bus.publish("s", shown[3:])  # the rest was shown before this bus was there
        assert await refused(following)
        assert await refused(bus.follow("s", before(0)))
        async with aclosing(bus.follow("s", cursor_of(shown[2]))) as following:
            assert await until(following, shown[-1]) == shown[3:]

    async def test_who_waits_for_the_first_thing_is_told_when_it_comes_too_late(
        self, bus: Bus
    ) -> None:
        shown = turn(*WHOLE, after=4)
        knows_it, does_not = bus.follow("s", Cursor(4, 9)), bus.follow("s", Cursor(3, 9))
        await waits(knows_it)
        await waits(does_not)
        bus.publish("s", shown)
        assert await until(knows_it, shown[-1]) == shown
        assert await refused(does_not)
        await knows_it.aclose()

    async def test_a_cursor_of_an_older_turn_is_refused(self, bus: Bus) -> None:
        first, second = turn(*WHOLE), turn(s.said("No."), after=4, turn_id="t2")
        bus.publish("s", first)
        bus.publish("s", second)
        last = max(n for n, entry in enumerate(first) if entry.position < 3)
        for after in (BEGINNING, *map(cursor_of, first[: last + 1])):
            assert await refused(bus.follow("s", after))

    async def test_a_cursor_that_no_event_had_is_refused(self, bus: Bus) -> None:
        shown = turn(chunk("a"), chunk("b"))
        bus.publish("s", shown)
        assert await refused(bus.follow("s", Cursor(shown[-1].position, 99)))

    @pytest.mark.parametrize("watched", [True, False])
    async def test_a_gap_in_the_log_is_not_passed_over(self, bus: Bus, watched: bool) -> None:
        first, third = turn(s.said("Yes.")), turn(s.said("Oh."), after=3, turn_id="t3")
        if watched:
            bus.publish("s", first)
        following = bus.follow("s", Cursor(1, 1))
        await waits(following)
        bus.publish("s", third)
        assert await refused(following)

    @pytest.mark.parametrize("ending", [(), (s.said("Yes."), s.broke())], ids=["running", "over"])
    async def test_what_was_forgotten_to_make_room_is_not_passed_over(
        self, small_bus: Bus, ending: tuple[Event, ...]
    ) -> None:
        shown = turn(*(chunk("x" * 1000) for _ in range(20)), *ending)
        small_bus.publish("s", shown)
        for n in range(SMALL // 1000):
            small_bus.publish(f"other {n}", turn(chunk("y" * 1000)))
        if ending:  # the log has it all
            async with aclosing(small_bus.follow("s", before(0))) as following:
                await waits(following)
        else:
            small_bus.publish("s", turn(*(chunk("x" * 1000) for _ in range(21)))[-1:])
            assert await refused(small_bus.follow("s", cursor_of(shown[5])))
            assert await refused(small_bus.follow("s", before(0)))

    async def test_a_turn_that_was_forgotten_goes_on_for_those_who_had_seen_it(
        self, small_bus: Bus
    ) -> None:
        *seen, last = turn(*(chunk("x" * 1000) for _ in range(20)))
        async with aclosing(small_bus.follow("s", BEGINNING)) as keen:
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
        small_bus.publish("s", second)
        async with aclosing(small_bus.follow("s", before(2))) as following:
            assert await until(following, second[-1]) == second

    # several processes

    async def test_what_one_process_shows_another_one_sees(self, connected: Connected) -> None:
        here, there = await connected(deaf), await connected(deaf)
        shown = turn(*WHOLE)
        async with aclosing(there.follow("s", BEGINNING)) as following:
            for entry in shown:
                here.publish("s", [entry])
            assert await until(following, shown[-1]) == shown

    async def test_when_it_closes_followers_get_the_rest_and_are_done(self, bus: Bus) -> None:
        first, *rest = turn(*WHOLE)
        following, idle = bus.follow("s", BEGINNING), bus.follow("other", BEGINNING)
        bus.publish("s", [first])
        await until(following, first)
        await waits(idle)
        bus.publish("s", rest)
        await bus.close()
        async with asyncio.timeout(60):
            assert [live.entry async for batch in following for live in batch or ()] == rest
            assert [batch async for batch in idle if batch != []] == []

    async def test_when_one_process_closes_others_go_on(self, connected: Connected) -> None:
        here, there = await connected(deaf), await connected(deaf)
        first, *rest = turn(*WHOLE)
        async with aclosing(there.follow("s", BEGINNING)) as following:
            here.publish("s", [first])
            await until(following, first)
            await here.close()
            there.publish("s", rest)
            assert await until(following, rest[-1]) == rest

    async def test_internal_events_are_shown_to_nobody_and_are_no_gap(self, bus: Bus) -> None:
        claim = k.ClaimUnfounded(message_id="m", claim="Yes.", why="No.")
        *first, note = turn(s.said("Yes."), claim)
        second = turn(s.said("No."), after=note.position, turn_id="t2")
        bus.publish("s", first)
        async with aclosing(bus.follow("s", BEGINNING)) as following:
            await until(following, first[-1])
            bus.publish("s", [note])
            bus.publish("s", second)
            assert await until(following, second[-1]) == second
        async with aclosing(bus.follow("s", cursor_of(first[-1]))) as following:
            assert await until(following, second[-1]) == second
