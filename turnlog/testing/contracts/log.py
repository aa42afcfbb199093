"""The contract of the EventLog."""

import asyncio

import pytest

from turnlog.errors import MessageIdTaken, NotFound
from turnlog.events.kinds import HistoryAnchored
from turnlog.ports import Excerpt, Store
from turnlog.projections import tables
from turnlog.projections.proof import prove
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import EVERY_PROJECTION, Contract, Opened, numbers, said


class EventLogContract(Contract):
    """Order, numbers, atomic appends, projections in the same step, and privacy."""

    async def test_what_was_appended_reads_back_in_order(self, store: Store) -> None:
        turn = await self.begun(store)
        events = s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a", x=[1, {"y": None}]))
        await store.append(turn, events)
        await store.append(turn, more := s.placed(s.result("a", {"é": 1.5}), s.said("Done.")))
        log = await store.read("alice", "s")
        assert [entry.envelope for entry in log[1:]] == [*events, *more]
        assert {(entry.session_id, entry.turn_id) for entry in log} == {("s", turn.id)}

    async def test_numbers_are_consecutive_from_zero_in_each_session(self, store: Store) -> None:
        one, other = await self.begun(store, "one"), await self.begun(store, "other")
        firsts = [await store.append(turn, said(2)) for turn in (one, other, one)]
        assert firsts == [1, 1, 3]
        assert numbers(await store.read("alice", "one")) == [0, 1, 2, 3, 4]
        assert numbers(await store.read("alice", "other")) == [0, 1, 2]

    async def test_many_appends_at_once_to_one_session_leave_no_gap(self, store: Store) -> None:
        turn = await self.begun(store)
        firsts = await asyncio.gather(*(store.append(turn, said(2)) for _ in range(50)))
        assert sorted(firsts) == list(range(1, 101, 2))
        assert numbers(await store.read("alice", "s")) == list(range(101))
        assert prove(await store.evidence("s")).problems == []

    async def test_the_tail_is_the_newest_events_oldest_first(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, said(9))
        assert numbers(await store.tail("alice", "s", limit=3)) == [7, 8, 9]
        assert numbers(await store.tail("alice", "s", limit=3, before=7)) == [4, 5, 6]
        assert numbers(await store.tail("alice", "s", limit=30, before=2)) == [0, 1]
        with pytest.raises(NotFound):
            await store.tail("bob", "s", limit=3)

    async def test_an_excerpt_names_the_event_that_it_comes_after(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, said(9))
        log = await store.read("alice", "s")
        for after in (-1, 0, 5, 8):
            part = await store.excerpt("alice", "s", anchor=0, after=after)
            before = log[after].envelope.event_id if after >= 0 else ""
            assert part == Excerpt(log[after + 1 :], emptied=0, before=before)
        assert await store.excerpt("alice", "s", anchor=0, after=9) == Excerpt([])

    async def test_the_last_number_is_that_of_the_newest_event(self, store: Store) -> None:
        await store.create_session(s.new_session())
        assert await store.last_number("alice", "s") == -1
        turn = await store.begin_turn(s.new_turn(), said(3))
        assert await store.last_number("alice", "s") == 2
        await store.append(turn, said(2))
        assert await store.last_number("alice", "s") == 4
        with pytest.raises(NotFound):
            await store.last_number("bob", "s")

    async def test_many_appends_at_once_to_many_sessions_leave_no_gap(self, store: Store) -> None:
        turns = [await self.begun(store, f"s{n}") for n in range(5)]
        await asyncio.gather(*(store.append(turns[n % 5], said(1 + n % 3)) for n in range(50)))
        for turn in turns:
            log = await store.read("alice", turn.session_id)
            assert numbers(log) == list(range(len(log)))
        assert sum([len(await store.read("alice", t.session_id)) for t in turns]) == 5 + 99

    async def test_a_batch_stays_together(self, store: Store) -> None:
        turn = await self.begun(store)
        batches = [said(3) for _ in range(20)]
        firsts = await asyncio.gather(*(store.append(turn, batch) for batch in batches))
        log = await store.read("alice", "s")
        for first, batch in zip(firsts, batches, strict=True):
            assert [entry.envelope for entry in log[first : first + 3]] == batch

    async def test_read_begins_after_a_number_and_stops_at_a_limit(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, said(4))
        assert numbers(await store.read("alice", "s", after=2)) == [3, 4]
        assert numbers(await store.read("alice", "s", after=0, limit=2)) == [1, 2]
        assert await store.read("alice", "s", after=4) == []
        assert await store.read("alice", "s", limit=0) == []

    async def test_a_taken_message_id_writes_nothing_of_its_batch(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said("First.", id="msg_1")))
        before = await store.evidence("s")
        before = before._replace(log=list(before.log))
        with pytest.raises(MessageIdTaken):
            await store.append(turn, s.placed(s.said("Kept?"), s.said("Again.", id="msg_1")))
        assert await store.evidence("s") == before

    async def test_a_message_id_twice_in_one_batch_is_taken(self, store: Store) -> None:
        turn = await self.begun(store)
        with pytest.raises(MessageIdTaken):
            await store.append(turn, s.placed(s.said("One.", id="m"), s.said("Two.", id="m")))
        assert numbers(await store.read("alice", "s")) == [0]

    async def test_a_message_id_is_taken_for_everybody(self, store: Store) -> None:
        turn, other = await self.begun(store), await self.begun(store, "other", "bob")
        await store.append(turn, s.placed(s.said("Mine.", id="msg_1")))
        with pytest.raises(MessageIdTaken):
            await store.append(other, s.placed(s.said("Mine!", id="msg_1")))
        assert numbers(await store.read("bob", "other")) == [0]

    async def test_the_next_append_after_a_refused_one_leaves_no_gap(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said("First.", id="msg_1")))
        with pytest.raises(MessageIdTaken):
            await store.append(turn, s.placed(s.said("Again.", id="msg_1")))
        assert await store.append(turn, said(1)) == 2

    async def test_a_refused_append_harms_no_neighbor(self, store: Store) -> None:
        turns = [await self.begun(store, f"s{n}") for n in range(10)]
        same = [store.append(turn, s.placed(s.said("Mine.", id="msg_1"))) for turn in turns]
        good = [store.append(turn, said(1)) for turn in turns]
        outcomes = await asyncio.gather(*same, *good, return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, BaseException)]
        assert {type(each) for each in refused} == {MessageIdTaken}
        assert len(refused) == 9
        assert all([prove(await store.evidence(t.session_id)).ok for t in turns])

    async def test_another_user_reads_nothing(self, store: Store) -> None:
        await self.begun(store)
        with pytest.raises(NotFound):
            await store.read("bob", "s")

    async def test_an_unknown_session_reads_like_another_users(self, store: Store) -> None:
        await self.begun(store, "s1")
        with pytest.raises(NotFound) as foreign:
            await store.read("bob", "s1")
        with pytest.raises(NotFound) as unknown:
            await store.read("bob", "s2")
        assert str(foreign.value).replace("s1", "s2") == str(unknown.value)

    async def test_the_rows_of_every_projection_are_written_with_the_events(
        self, store: Store
    ) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(*EVERY_PROJECTION))
        evidence = await store.evidence("s")
        folded = tables.fold("alice", await store.read("alice", "s"))
        for table, rows in folded.items():
            assert by_key(table, evidence.tables[table]) == rows
            assert rows, f"nothing was written to {table}"

    async def test_an_anchor_moves_in_the_same_step(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(HistoryAnchored(anchor=7)))
        assert (await store.get_session("alice", "s")).anchor == 7

    async def test_web_searches_are_counted_in_the_same_step(self, store: Store) -> None:
        turn, other = await self.begun(store), await self.begun(store, "other")
        for times in (1, 3):
            await store.append(turn, s.placed(s.searched(times), s.said("No search.")))
        assert (await store.get_session("alice", turn.session_id)).searches == 4
        assert (await store.get_session("alice", other.session_id)).searches == 0
        assert prove(await store.evidence("s")).problems == []

    async def test_another_handle_reads_the_same_log(self, opened: Opened) -> None:
        store, other = await opened(), await opened()
        turn = await self.begun(store)
        await store.append(turn, s.placed(*EVERY_PROJECTION))
        assert await other.read("alice", "s") == await store.read("alice", "s")


def by_key(table: str, rows: list[dict[str, object]]) -> dict[tuple[object, ...], object]:
    return {tuple(row[key] for key in tables.KEYS[table]): row for row in rows}
