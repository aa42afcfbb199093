"""The contract of Turns."""

import asyncio

import msgspec
import pytest

from turnlog.errors import AlreadyAsked, Busy, MessageIdTaken, NotFound
from turnlog.ports import Store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, Opened, numbers, said


class TurnsContract(Contract):
    """One running turn a session, and none that nobody ends."""

    async def test_a_turn_begins_with_its_question_on_record(self, store: Store) -> None:
        question = s.placed(s.asked("Who?"))
        await store.create_session(s.new_session())
        begun = await store.begin_turn(s.new_turn(), question)
        assert msgspec.structs.replace(begun, lease="") == s.new_turn()
        assert [entry.envelope for entry in await store.read("alice", "s")] == question

    async def test_a_later_turn_knows_its_first_number(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, said(2))
        await store.finish_turn(turn)
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
        await store.finish_turn(turn)
        assert (await store.evidence("s")).running == []
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))

    async def test_a_turn_is_over_with_its_last_answer_or_has_neither(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.add_draft(turn, b"a draft")
        taken = await store.append(turn, s.placed(s.said("One.", id="m")))
        with pytest.raises(MessageIdTaken):
            await store.append(turn, s.placed(s.said("Two.", id="m")), s.completed())
        assert (await store.evidence("s")).running == [turn.id]
        assert await store.append(turn, s.placed(s.said("Two.")), s.completed()) == taken + 1
        found = await store.evidence("s")
        assert (found.running, [t.draft for t in found.turns]) == ([], [None])
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))

    async def test_the_newest_turn_is_known_in_every_state(self, store: Store) -> None:
        await store.create_session(s.new_session())
        assert await store.newest_turn("alice", "s") is None
        first = await store.begin_turn(s.new_turn("t1"), s.placed(s.asked()))
        running = await store.newest_turn("alice", "s")
        assert running is not None and (running.id, running.state) == ("t1", "running")
        await store.finish_turn(first)
        done = await store.newest_turn("alice", "s")
        assert done is not None and (done.id, done.state) == ("t1", "done")
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))
        newest = await store.newest_turn("alice", "s")
        assert newest is not None and (newest.id, newest.lease) == ("t2", "")
        for user_id, session_id in (("bob", "s"), ("alice", "nowhere")):
            with pytest.raises(NotFound):
                await store.newest_turn(user_id, session_id)

    async def test_an_error_frees_the_session_in_the_same_step(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.broke()))
        assert (await store.evidence("s")).running == []
        await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))

    async def test_a_request_is_asked_once(self, store: Store) -> None:
        await store.create_session(s.new_session())
        turn = await store.begin_turn(s.new_turn("t1", request_id="r"), s.placed(s.asked()))
        for state in ("running", "done"):
            with pytest.raises(AlreadyAsked) as asked:
                await store.begin_turn(s.new_turn("t2", request_id="r"), s.placed(s.asked()))
            assert (asked.value.turn_id, asked.value.state) == ("t1", state)
            if state == "running":
                await store.finish_turn(turn)
        assert numbers(await store.read("alice", "s")) == [0]

    async def test_an_old_request_is_known_while_another_turn_runs(self, store: Store) -> None:
        await store.create_session(s.new_session())
        turn = await store.begin_turn(s.new_turn("t1", request_id="r"), s.placed(s.asked()))
        await store.finish_turn(turn)
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
        await store.finish_turn(turn)
        with pytest.raises(MessageIdTaken):
            await store.begin_turn(s.new_turn("t2"), s.placed(s.said("Mine.", id="msg_1")))
        assert (await store.evidence("s")).running == []

    async def test_a_draft_is_there_for_whoever_claims_the_turn(self, opened: Opened) -> None:
        store, other = await opened(), await opened()
        turn = await self.begun(store)
        await store.add_draft(turn, b"half")
        await store.add_draft(turn, b"an answer")
        await self.dies(store)
        (claimed,) = await other.claim_abandoned()
        assert claimed.draft == b"half\nan answer"
        await other.add_draft(claimed, b"and more")
        assert [t.draft for t in (await other.evidence("s")).turns] == [
            b"half\nan answer\nand more"
        ]

    @pytest.mark.parametrize("end", ["finish", "suspend", "fail"])
    async def test_a_turn_that_is_let_go_has_no_draft(self, store: Store, end: str) -> None:
        turn = await self.begun(store)
        await store.add_draft(turn, b"half")
        if end == "fail":
            await store.append(turn, s.placed(s.broke()))
        else:
            await (store.finish_turn(turn) if end == "finish" else store.suspend_turn(turn))
        assert [t.draft for t in (await store.evidence("s")).turns] == [None]

    async def test_a_dead_process_leaves_its_turn_to_exactly_one(self, opened: Opened) -> None:
        dead, *others = [await opened() for _ in range(4)]
        turn = await self.begun(dead)
        await self.dies(dead)
        claims = await asyncio.gather(*(store.claim_abandoned() for store in others))
        assert sorted(map(len, claims)) == [0, 0, 1]
        assert [claimed.id for claim in claims for claimed in claim] == [turn.id]

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
            assert [claimed.id for claimed in await heir.claim_abandoned()] == [turn.id]

    async def test_claims_can_be_for_one_session(self, opened: Opened) -> None:
        dead, store = await opened(), await opened()
        for name in ("one", "other"):
            await self.begun(dead, name)
        await self.dies(dead)
        assert [turn.id for turn in await store.claim_abandoned("one")] == ["t-one"]
        both = await store.claim_abandoned()
        assert sorted(turn.id for turn in both) == ["t-one", "t-other"]

    async def test_a_process_claims_what_it_began_and_does_not_work_on(self, store: Store) -> None:
        lost, running = await self.begun(store, "one"), await self.begun(store, "other")
        claimed = await store.claim_abandoned(working_on={running.id})
        assert [turn.id for turn in claimed] == [lost.id]

    async def test_a_turn_that_is_over_is_nobodys(self, opened: Opened) -> None:
        dead, store = await opened(), await opened()
        done, broken = await self.begun(dead, "one"), await self.begun(dead, "other")
        await dead.finish_turn(done)
        await dead.append(broken, s.placed(s.broke()))
        await self.dies(dead)
        assert await store.claim_abandoned() == []
