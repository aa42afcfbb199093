"""The contract of leases: who has lost a turn changes nothing of it, whatever it tries.

A process that is only slow, not dead, may wake up after its turn was claimed: a zombie.
"""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from turnlog.errors import TurnOver
from turnlog.events.kinds import DecisionRefused
from turnlog.ports import Evidence, Store, Turn
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, Opened, said

Change = Callable[[Store, Turn], Awaitable[object]]

# Every way to change a turn.
CHANGES: dict[str, Change] = {
    "append": lambda store, turn: store.append(turn, said(1)),
    "append an error": lambda store, turn: store.append(turn, s.placed(s.broke())),
    "append the end": lambda store, turn: store.append(turn, said(1), s.completed()),
    "add_draft": lambda store, turn: store.add_draft(turn, b"a zombie's draft"),
    "start_tools": lambda store, turn: store.start_tools(turn, [s.started("zombie")]),
    "suspend_turn": lambda store, turn: store.suspend_turn(turn),
    "finish_turn": lambda store, turn: store.finish_turn(turn),
}
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))


class LeasesContract(Contract):
    """Every change of a turn takes its lease."""

    @every_change
    async def test_a_holder_changes_its_turn(self, store: Store, change: Change) -> None:
        turn = await self.begun(store)
        before = await _copy(store)
        await change(store, turn)
        assert await _copy(store) != before

    @every_change
    async def test_a_zombie_changes_nothing_of_a_turn_that_was_claimed(
        self, opened: Opened, change: Change
    ) -> None:
        zombie, heir = await opened(), await opened()
        turn = await self.begun(zombie)
        await self.dies(zombie)
        (claimed,) = await heir.claim_abandoned()
        await heir.add_draft(claimed, b"the heir's draft")
        await self.refused(zombie, heir, turn, change)
        await self.goes_on(heir, claimed)

    @every_change
    async def test_a_zombie_changes_nothing_of_a_turn_that_waited_and_was_claimed(
        self, opened: Opened, change: Change
    ) -> None:
        zombie, heir = await opened(), await opened()
        turn = await self.begun(zombie)
        await zombie.suspend_turn(turn)
        claimed = await heir.claim_waiting("alice", "s")
        assert claimed is not None
        await self.refused(zombie, heir, turn, change)
        await self.goes_on(heir, claimed)

    @every_change
    async def test_a_process_that_claims_its_own_turn_again_fences_itself(
        self, store: Store, change: Change
    ) -> None:
        turn = await self.begun(store)
        (claimed,) = await store.claim_abandoned()
        await self.refused(store, store, turn, change)
        await self.goes_on(store, claimed)

    @every_change
    @pytest.mark.parametrize(
        "ending", ["suspend_turn", "finish_turn", "append an error", "append the end"]
    )
    async def test_a_turn_that_is_over_or_waits_takes_no_change(
        self, store: Store, ending: str, change: Change
    ) -> None:
        turn = await self.begun(store)
        await CHANGES[ending](store, turn)
        await self.refused(store, store, turn, change)

    @every_change
    @pytest.mark.parametrize("lease", ["", "made up"])
    async def test_a_turn_takes_no_change_without_its_lease(
        self, store: Store, lease: str, change: Change
    ) -> None:
        turn = await self.begun(store)
        stranger = msgspec.structs.replace(turn, lease=lease)
        await self.refused(store, store, stranger, change)
        await self.goes_on(store, turn)

    @every_change
    async def test_an_unknown_turn_takes_no_change(self, store: Store, change: Change) -> None:
        await self.begun(store)
        await self.refused(store, store, s.new_turn("never begun"), change)

    async def test_every_lease_is_another(self, opened: Opened) -> None:
        stores = [await opened() for _ in range(3)]
        turn = await self.begun(stores[0])
        leases = [turn.lease]
        for dead, heir in ((stores[0], stores[1]), (stores[1], stores[2])):
            await self.dies(dead)
            (claimed,) = await heir.claim_abandoned()
            leases.append(claimed.lease)
        await stores[2].suspend_turn(claimed)
        waiting = await stores[2].claim_waiting("alice", "s")
        assert waiting is not None
        leases.append(waiting.lease)
        assert "" not in leases and len(set(leases)) == 4

    async def test_an_audit_reads_no_lease(self, store: Store) -> None:
        await self.begun(store)
        assert [turn.lease for turn in (await store.evidence("s")).turns] == [""]

    async def test_a_remark_about_a_turn_needs_no_lease(self, store: Store) -> None:
        turn = msgspec.structs.replace(await self.begun(store), lease="")
        remark = DecisionRefused(approval_id="a", tried_by="alice", why="late")
        assert await store.annotate(turn, s.placed(remark)) == 1

    async def refused(self, store: Store, other: Store, turn: Turn, change: Change) -> None:
        """The change raises TurnOver, and leaves everything as it was."""
        before = await _copy(other)
        with pytest.raises(TurnOver):
            await change(store, turn)
        assert await _copy(other) == before

    async def goes_on(self, store: Store, turn: Turn) -> None:
        """The holder works as if nobody had tried anything."""
        await store.start_tools(turn, [s.started("a")])
        await store.append(turn, said(1))
        await store.finish_turn(turn)
        assert (await store.evidence("s")).running == []


async def _copy(store: Store) -> Evidence:
    """What is stored now. A memory store gives out the very lists that it goes on writing to."""
    found = await store.evidence("s")
    rows = {table: [dict(row) for row in rows] for table, rows in found.tables.items()}
    return found._replace(log=list(found.log), tables=rows)
