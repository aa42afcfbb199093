"""What every store promises, as tests that anybody can inherit.

    class TestMyStore(EventLogContract, SessionsContract, TurnsContract, AuditContract):
        @pytest.fixture
        async def opened(self, tmp_path):
            ...  # a function: each await of it opens one more handle on the same place

        async def dies(self, store):
            ...  # let go of the store as a process does that is killed

The tests are coroutines: run them with pytest-asyncio's `asyncio_mode = "auto"`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from turnlog.errors import AlreadyAsked, Busy, MessageIdTaken, NotFound
from turnlog.events.base import Event, Stamped
from turnlog.ports import Store, Turn
from turnlog.projections import tables
from turnlog.projections.proof import prove
from turnlog.testing import samples as s

Opened = Callable[[], Awaitable[Store]]  # one more handle on the same place


class Contract:
    """What the contracts below have in common: stores on one place, and how one dies."""

    @pytest.fixture
    async def store(self, opened: Opened) -> Store:
        return await opened()

    async def dies(self, store: Store) -> None:
        """The process that holds this store is killed. The place stays."""
        raise NotImplementedError

    async def begun(
        self, store: Store, session_id: str = "s", user_id: str = "alice", turn_id: str = ""
    ) -> Turn:
        """A new session with a running turn whose question is kept as number 0."""
        await store.create_session(s.new_session(session_id, user_id))
        turn = s.new_turn(turn_id or f"t-{session_id}", session_id, user_id)
        return await store.begin_turn(turn, s.placed(s.asked()))


class EventLogContract(Contract):
    """Order, numbers, atomic appends, projections in the same step, and privacy."""

    async def test_what_was_appended_reads_back_in_order(self, store: Store) -> None:
        turn = await self.begun(store)
        events = s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a", x=[1, {"y": None}]))
        await store.append(turn, events)
        await store.append(turn, more := s.placed(s.result("a", {"é": 1.5}), s.said("Done.")))
        log = await store.read("alice", "s")
        assert [at.placed for at in log[1:]] == [*events, *more]
        assert {(at.session_id, at.turn_id) for at in log} == {("s", turn.id)}

    async def test_numbers_are_consecutive_from_zero_in_each_session(self, store: Store) -> None:
        one, other = await self.begun(store, "one"), await self.begun(store, "other")
        firsts = [await store.append(turn, said(2)) for turn in (one, other, one)]
        assert firsts == [1, 1, 3]
        assert numbers(await store.read("alice", "one")) == [0, 1, 2, 3, 4]
        assert numbers(await store.read("alice", "other")) == [0, 1, 2]

    async def test_many_appends_at_once_to_one_session_leave_no_gap(self, opened: Opened) -> None:
        stores = [await opened(), await opened()]
        turn = await self.begun(stores[0])
        firsts = await asyncio.gather(*(stores[n % 2].append(turn, said(2)) for n in range(50)))
        assert sorted(firsts) == list(range(1, 101, 2))
        assert numbers(await stores[0].read("alice", "s")) == list(range(101))
        assert prove(await stores[1].evidence("s")).problems == []

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
            assert [at.placed for at in log[first : first + 3]] == batch

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
        await store.append(turn, s.placed(s.k.HistoryAnchored(anchor=7)))
        assert (await store.get_session("alice", "s")).anchor == 7

    async def test_another_handle_reads_the_same_log(self, opened: Opened) -> None:
        store, other = await opened(), await opened()
        turn = await self.begun(store)
        await store.append(turn, s.placed(*EVERY_PROJECTION))
        assert await other.read("alice", "s") == await store.read("alice", "s")
        assert await other.append(turn, said(1)) == 1 + len(EVERY_PROJECTION)


class SessionsContract(Contract):
    """Who owns which conversation."""

    async def test_a_session_comes_back_as_it_was_created(self, store: Store) -> None:
        session = s.new_session("s", "alice")
        await store.create_session(session)
        assert await store.get_session("alice", "s") == session

    async def test_an_unknown_session_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.get_session("alice", "nowhere")

    async def test_someone_elses_session_looks_like_an_unknown_one(self, store: Store) -> None:
        await store.create_session(s.new_session("s1", "alice"))
        with pytest.raises(NotFound) as foreign:
            await store.get_session("bob", "s1")
        with pytest.raises(NotFound) as unknown:
            await store.get_session("bob", "s2")
        assert str(foreign.value).replace("s1", "s2") == str(unknown.value)


class TurnsContract(Contract):
    """One running turn a session, and none that nobody ends."""

    async def test_a_turn_begins_with_its_question_on_record(self, store: Store) -> None:
        question = s.placed(s.asked("Who?"))
        await store.create_session(s.new_session())
        begun = await store.begin_turn(s.new_turn(), question)
        assert begun == s.new_turn()
        assert [at.placed for at in await store.read("alice", "s")] == question

    async def test_a_later_turn_knows_its_first_number(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, said(2))
        await store.finish_turn(turn.id)
        later = await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))
        assert later.first_seq == 3

    async def test_a_second_turn_waits_for_the_first(self, store: Store) -> None:
        turn = await self.begun(store)
        with pytest.raises(Busy) as busy:
            await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))
        assert busy.value.turn_id == turn.id
        assert numbers(await store.read("alice", "s")) == [0]

    async def test_of_many_turns_at_once_one_begins(self, opened: Opened) -> None:
        stores = [await opened(), await opened()]
        await stores[0].create_session(s.new_session())
        begins = (stores[n % 2].begin_turn(s.new_turn(f"t{n}"), said(1)) for n in range(20))
        outcomes = await asyncio.gather(*begins, return_exceptions=True)
        kinds = [type(each) for each in outcomes]
        assert sorted(kind.__name__ for kind in kinds) == ["Busy"] * 19 + ["Turn"]
        assert numbers(await stores[0].read("alice", "s")) == [0]

    async def test_turns_of_different_sessions_run_side_by_side(self, store: Store) -> None:
        await asyncio.gather(*(self.begun(store, f"s{n}") for n in range(10)))
        running = [(await store.evidence(f"s{n}")).running for n in range(10)]
        assert running == [[f"t-s{n}"] for n in range(10)]

    async def test_a_finished_turn_frees_the_session(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.finish_turn(turn.id)
        assert (await store.evidence("s")).running == []
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))

    async def test_an_error_frees_the_session_in_the_same_step(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.broke()))
        assert (await store.evidence("s")).running == []
        await store.finish_turn(turn.id)  # changes nothing any more
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))

    async def test_a_request_is_asked_once(self, store: Store) -> None:
        await store.create_session(s.new_session())
        await store.begin_turn(s.new_turn("t1", request_id="r"), s.placed(s.asked()))
        for _ in ("while it runs", "when it is over"):
            with pytest.raises(AlreadyAsked) as asked:
                await store.begin_turn(s.new_turn("t2", request_id="r"), s.placed(s.asked()))
            assert asked.value.turn_id == "t1"
            await store.finish_turn("t1")
        assert numbers(await store.read("alice", "s")) == [0]

    async def test_an_old_request_is_known_while_another_turn_runs(self, store: Store) -> None:
        await store.create_session(s.new_session())
        await store.begin_turn(s.new_turn("t1", request_id="r"), s.placed(s.asked()))
        await store.finish_turn("t1")
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))
        with pytest.raises(AlreadyAsked):
            await store.begin_turn(s.new_turn("t3", request_id="r"), s.placed(s.asked()))

    async def test_a_request_id_is_known_in_its_session_only(self, store: Store) -> None:
        for name in ("one", "other"):
            await store.create_session(s.new_session(name))
            turn = s.new_turn(f"t-{name}", name, request_id="r")
            assert (await store.begin_turn(turn, s.placed(s.asked()))).id == turn.id

    async def test_an_empty_request_id_is_one_too(self, store: Store) -> None:
        await store.create_session(s.new_session())
        await store.begin_turn(s.new_turn("t1", request_id=""), s.placed(s.asked()))
        with pytest.raises(AlreadyAsked):
            await store.begin_turn(s.new_turn("t2", request_id=""), s.placed(s.asked()))

    async def test_nobody_begins_a_turn_in_another_users_session(self, store: Store) -> None:
        await store.create_session(s.new_session("s", "alice"))
        for turn in (s.new_turn(user_id="bob"), s.new_turn(session_id="nowhere")):
            with pytest.raises(NotFound):
                await store.begin_turn(turn, s.placed(s.asked()))
        assert await store.read("alice", "s") == []

    async def test_a_turn_whose_question_is_refused_has_not_begun(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said("Mine.", id="msg_1")))
        await store.finish_turn(turn.id)
        with pytest.raises(MessageIdTaken):
            await store.begin_turn(s.new_turn("t2"), s.placed(s.said("Mine.", id="msg_1")))
        assert (await store.evidence("s")).running == []

    async def test_a_draft_is_there_for_whoever_claims_the_turn(self, opened: Opened) -> None:
        store, other = await opened(), await opened()
        turn = await self.begun(store)
        await store.save_draft(turn.id, b"half")
        await store.save_draft(turn.id, b"half an answer")
        await self.dies(store)
        assert [t.draft for t in await other.claim_abandoned()] == [b"half an answer"]

    async def test_a_draft_is_saved_only_while_the_turn_runs(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.finish_turn(turn.id)
        await store.save_draft(turn.id, b"too late")
        assert (await store.evidence("s")).running == []
        assert await store.claim_abandoned() == []

    async def test_a_dead_process_leaves_its_turn_to_exactly_one(self, opened: Opened) -> None:
        dead, *others = [await opened() for _ in range(4)]
        turn = await self.begun(dead)
        await self.dies(dead)
        claims = await asyncio.gather(*(store.claim_abandoned() for store in others))
        assert sorted(map(len, claims)) == [0, 0, 1]
        assert [claimed for claim in claims for claimed in claim] == [turn]

    async def test_a_living_process_keeps_its_turns(self, opened: Opened) -> None:
        store, other = await opened(), await opened()
        await self.begun(store)
        assert await other.claim_abandoned() == []
        assert await other.claim_abandoned("s") == []

    async def test_what_a_dead_heir_had_claimed_is_claimed_again(self, opened: Opened) -> None:
        stores = [await opened() for _ in range(3)]
        turn = await self.begun(stores[0])
        for dead, heir in ((stores[0], stores[1]), (stores[1], stores[2])):
            await self.dies(dead)
            assert await heir.claim_abandoned() == [turn]

    async def test_claims_can_be_for_one_session(self, opened: Opened) -> None:
        dead, store = await opened(), await opened()
        for name in ("one", "other"):
            await self.begun(dead, name)
        await self.dies(dead)
        assert [turn.id for turn in await store.claim_abandoned("one")] == ["t-one"]
        assert [turn.id for turn in await store.claim_abandoned()] == ["t-one", "t-other"]

    async def test_a_process_claims_what_it_began_and_does_not_work_on(self, store: Store) -> None:
        lost, running = await self.begun(store, "one"), await self.begun(store, "other")
        assert await store.claim_abandoned(working_on={running.id}) == [lost]

    async def test_a_turn_that_is_over_is_nobodys(self, opened: Opened) -> None:
        dead, store = await opened(), await opened()
        done, broken = await self.begun(dead, "one"), await self.begun(dead, "other")
        await dead.finish_turn(done.id)
        await dead.append(broken, s.placed(s.broke()))
        await self.dies(dead)
        assert await store.claim_abandoned() == []


class AuditContract(Contract):
    """For those who may see everything."""

    async def test_every_session_is_listed(self, store: Store) -> None:
        for name, user in (("one", "alice"), ("other", "bob")):
            await store.create_session(s.new_session(name, user))
        assert sorted(await store.session_ids()) == ["one", "other"]

    async def test_there_is_no_evidence_of_what_never_was(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.evidence("nowhere")

    async def test_whole_sessions_are_proven(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(*EVERY_PROJECTION))
        proof = prove(await store.evidence("s"))
        assert (proof.first, proof.last, proof.count) == (0, 7, 8)
        assert proof.problems == []

    async def test_evidence_is_of_one_moment(self, opened: Opened) -> None:
        store, writing = await opened(), await opened()
        turn = await self.begun(writing)
        appends = [asyncio.create_task(writing.append(turn, said(3))) for _ in range(40)]
        while not all(task.done() for task in appends):
            assert prove(await store.evidence("s")).problems == []
        assert len((await store.evidence("s")).log) == 121


_SOURCE = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}
EVERY_PROJECTION: list[Event] = [
    s.said({"type": "text", "text": "It says so.", "citations": [_SOURCE]}, s.call("a"),
           stop="tool_use", id="msg_every"),
    s.used("a"),
    s.approval("ok?", "a"),
    s.decision("ok?"),
    s.approval("sure?", "a"),
    s.result("a"),
    s.said("Done.", id="msg_done"),
]  # fmt: skip


def said(times: int) -> list[s.Placed]:
    return s.placed(*(s.said("Something.") for _ in range(times)))


def numbers(log: Sequence[Stamped]) -> list[int | None]:
    return [at.seq for at in log]


def by_key(table: str, rows: list[dict[str, object]]) -> dict[tuple[object, ...], object]:
    return {tuple(row[key] for key in tables.KEYS[table]): row for row in rows}
