"""The contract of what people decide: approvals, turns that wait, and writes that began."""

import pytest
from msgspec.structs import replace

from turnlog.errors import AlreadyBegun, AlreadyDecided, Busy, Forbidden, NotFound, TurnOver
from turnlog.events.base import Event
from turnlog.events.kinds import DecisionRefused, ToolSettled
from turnlog.ports import Store, Turn, User
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, Opened, numbers

LATER = "2026-11-16T12:00:00.000Z"
FINANCE = frozenset({"finance"})
RULES = ["asker", "others", "role:finance", "others:finance", "role:100%_a'", "nonsense"]
ROOT = User(id="root", roles=frozenset({"admin"}))
# Who may decide on what Alice asked for, by which rules.
DECIDERS = {
    User(id="alice"): ["asker"],
    User(id="alice", roles=FINANCE): ["asker", "role:finance"],
    User(id="alice", roles=frozenset({"admin"})): ["asker", "role:finance", "role:100%_a'"],
    User(id="bob"): ["others"],
    User(id="bob", roles=frozenset({"Finance", "100%_b'", "nonsense"})): ["others"],
    User(id="fay", roles=FINANCE): ["others", "role:finance", "others:finance"],
    ROOT: ["others", "role:finance", "others:finance", "role:100%_a'"],
}


class ApprovalsContract(Contract):
    """An approval is its user's and is decided once; a turn that waits is nobody's."""

    async def waiting(self, store: Store, session_id: str = "s", user_id: str = "alice") -> Turn:
        """A turn that waits for the approval `ok-SESSION`."""
        turn = await self.begun(store, session_id, user_id)
        asked = s.approval(f"ok-{session_id}", "a")
        await store.append(turn, s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a"), asked))
        await store.suspend_turn(turn)
        return turn

    async def test_a_turn_that_waits_keeps_the_session_busy(self, store: Store) -> None:
        turn = await self.waiting(store)
        with pytest.raises(Busy) as busy:
            await store.begin_turn(s.new_turn("t2"), s.placed(s.asked()))
        assert (busy.value.turn_id, busy.value.waiting) == (turn.id, True)

    async def test_a_turn_that_waits_is_not_abandoned(self, opened: Opened) -> None:
        first, second = await opened(), await opened()
        await self.waiting(first)
        await self.dies(first)
        assert await second.claim_abandoned() == []

    async def test_what_was_asked_for_calls_is_found_however_many_there_are(
        self, store: Store
    ) -> None:
        """Open or decided, and only the user's own."""
        turn = await self.begun(store)
        calls = [f"c{number}" for number in range(250)]
        events: list[Event] = [s.said(*map(s.call, calls), stop="tool_use")]
        for call in calls:
            events += [s.used(call), s.approval(f"ok-{call}", call)]
        await store.append(turn, s.placed(*events))
        await store.append(turn, s.placed(s.decision("ok-c7")))
        await self.waiting(store, "s2", "bob")
        found = await store.approvals_of_calls("alice", [*calls[5:], "unknown", "c7"])
        assert sorted(each.tool_use_id for each in found) == sorted(calls[5:])
        assert [each.id for each in found if each.status == "approved"] == ["ok-c7"]
        assert await store.approvals_of_calls("bob", calls) == []
        assert await store.approvals_of_calls("alice", []) == []

    async def test_a_turn_that_is_named_is_claimed_and_no_other(self, store: Store) -> None:
        turn = await self.waiting(store)
        assert await store.claim_waiting("alice", "s", "the one before") is None
        claimed = await store.claim_waiting("alice", "s", turn.id)
        assert claimed is not None and claimed.id == turn.id

    async def test_one_of_many_goes_on_with_a_turn_that_waited(self, opened: Opened) -> None:
        first, second = await opened(), await opened()
        turn = await self.waiting(first)
        claimed = await second.claim_waiting("alice", "s")
        assert claimed is not None and claimed.id == turn.id
        assert await first.claim_waiting("alice", "s") is None
        with pytest.raises(TurnOver):
            await first.append(turn, s.placed(s.decision("ok-s")))
        assert await second.append(claimed, s.placed(s.decision("ok-s"))) == 4

    async def test_nobody_else_claims_it(self, store: Store) -> None:
        await self.waiting(store)
        with pytest.raises(NotFound):
            await store.claim_waiting("bob", "s")

    async def test_an_approval_is_decided_once(self, store: Store) -> None:
        await self.waiting(store)
        turn = await store.claim_waiting("alice", "s")
        assert turn is not None
        await store.append(turn, s.placed(s.decision("ok-s")))
        with pytest.raises(AlreadyDecided):
            await store.append(turn, s.placed(s.decision("ok-s", approved=False)))
        decided = await store.get_approval("alice", "ok-s")
        assert (decided.status, decided.decided_by) == ("approved", "alice")
        assert numbers(await store.read("alice", "s")) == [0, 1, 2, 3, 4]

    async def test_an_approval_that_was_never_asked_for_cannot_be_decided(
        self, store: Store
    ) -> None:
        turn = await self.begun(store)
        with pytest.raises(AlreadyDecided):
            await store.append(turn, s.placed(s.decision("forged")))

    async def test_approvals_are_their_users(self, store: Store) -> None:
        await self.waiting(store, "s1", "alice")
        await self.waiting(store, "s2", "bob")
        assert [a.id for a in await store.list_approvals("alice")] == ["ok-s1"]
        assert [a.id for a in await store.list_approvals("bob", status="pending")] == ["ok-s2"]
        assert await store.list_approvals("bob", status="approved") == []
        with pytest.raises(NotFound):
            await store.get_approval("bob", "ok-s1")

    async def asking(self, store: Store, session_id: str, may_decide: str) -> None:
        """Alice's turn waits for the approval `ok-SESSION`, on which these may decide."""
        turn = await self.begun(store, session_id, "alice")
        asked = replace(s.approval(f"ok-{session_id}", "a"), may_decide=may_decide)
        await store.append(turn, s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a"), asked))
        await store.suspend_turn(turn)

    async def test_approvals_are_found_by_those_who_may_decide(self, store: Store) -> None:
        for place, rule in enumerate(RULES):
            await self.asking(store, f"s{place}", rule)
        for user, rules in DECIDERS.items():
            listed = await store.approvals_to_decide(user, status="pending")
            assert [approval.may_decide for approval in listed] == rules
            for place, rule in enumerate(RULES):
                if rule in rules:
                    one = await store.approval_to_decide(user, f"ok-s{place}")
                    assert (one.asked_by, one.may_decide) == ("alice", rule)
                    continue
                with pytest.raises(Forbidden if user.id == "alice" else NotFound):
                    await store.approval_to_decide(user, f"ok-s{place}")
        assert len(await store.approvals_to_decide(ROOT, limit=2)) == 2

    async def test_what_others_decided_is_listed_for_nobody_else(self, store: Store) -> None:
        await self.asking(store, "s", "role:finance")
        turn = await store.claim_waiting("alice", "s")
        assert turn is not None
        await store.append(turn, s.placed(replace(s.decision("ok-s"), decided_by="fay")))
        fay, kim = User(id="fay", roles=FINANCE), User(id="kim", roles=FINANCE)
        assert [a.status for a in await store.approvals_to_decide(fay)] == ["approved"]
        assert await store.approvals_to_decide(kim) == []
        assert (await store.approval_to_decide(kim, "ok-s")).status == "approved"

    async def test_time_is_kept_for_everybody(self, store: Store) -> None:
        assert await store.next_expiry() is None
        await self.waiting(store, "s1", "alice")
        await self.waiting(store, "s2", "bob")
        assert await store.next_expiry() == s.AT
        assert [user for user, _ in await store.due_approvals(LATER)] == ["alice", "bob"]
        assert await store.due_approvals("2020-01-01T00:00:00.000Z") == []

    async def test_a_write_that_began_is_known_until_it_ends(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a")))
        await store.start_tools(turn, [s.started("a")])
        assert await store.started_tools(turn) == {"a"}
        await store.append(turn, s.placed(s.result("a")))
        assert await store.started_tools(turn) == set()

    async def test_a_write_begins_once(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.start_tools(turn, [s.started("a")])
        with pytest.raises(AlreadyBegun):
            await store.start_tools(turn, [s.started("b"), s.started("a")])
        assert await store.started_tools(turn) == {"a"}

    async def test_a_doubt_is_its_users_until_it_is_settled(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a")))
        await store.start_tools(turn, [s.started("a")])
        await store.append(turn, s.placed(s.unclear("a")))
        assert [d.tool_use_id for d in await store.list_doubts("alice")] == ["a"]
        assert await store.list_doubts("bob") == []
        settled = ToolSettled(tool_use_id="a", tool_name="look", happened=True, decided_by="alice")
        await store.annotate(turn, s.placed(settled))
        assert await store.list_doubts("alice") == []
        with pytest.raises(AlreadyDecided):
            await store.annotate(turn, s.placed(settled))

    async def test_a_turn_that_is_over_can_be_annotated(self, store: Store) -> None:
        turn = await self.waiting(store)
        refused = DecisionRefused(approval_id="ok-s", tried_by="alice", why="late")
        assert await store.annotate(turn, s.placed(refused)) == 4
