"""What every Billing promises."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from msgspec.structs import replace

from turnlog.errors import NotFound
from turnlog.events.base import Envelope
from turnlog.events.kinds import Message
from turnlog.events.money import picousd
from turnlog.ports import Spent, Store
from turnlog.projections.billing.bill import charges_of
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract

ADVISED = {
    "iterations": [
        {"type": "message", "input_tokens": 10, "output_tokens": 5},
        {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 3},
    ]
}
CENT = Decimal("0.010000000001")  # and a picodollar, which must not get lost


def priced(*costs: Decimal | None, id: str | None = None) -> Message:
    reported = ADVISED if len(costs) == 2 else {"input_tokens": 10, "output_tokens": 5}
    return replace(s.said("Hi.", id=id), costs=list(costs), reported=reported)


def at(time: str, *events: Message) -> list[Envelope]:
    return [replace(placed, time=time) for placed in s.placed(*events)]


class BillingContract(Contract):
    async def kept(self, store: Store, session_id: str, user_id: str, *placed: Envelope) -> None:
        turn = await self.begun(store, session_id, user_id)
        await store.append(turn, placed)

    async def test_every_part_of_a_call_is_a_row(self, store: Store) -> None:
        await self.kept(store, "s", "alice", *s.placed(priced(CENT, None, id="msg_a")))
        rows = await store.charges(user_id="alice")
        assert [(row.message_id, row.kind, row.model) for row in rows] == [
            ("msg_a", "message", "claude-sonnet-5-5"),
            ("msg_a", "advisor_message", "claude-opus-4-8"),
        ]
        assert [row.cost_picousd for row in rows] == [picousd(CENT), None]

    async def test_the_rows_are_those_of_the_log(self, store: Store) -> None:
        await self.kept(store, "s", "alice", *s.placed(priced(CENT, CENT), priced(CENT)))
        log = await store.read("alice", "s")
        assert list(await store.charges(session_id="s")) == charges_of("alice", log)

    async def test_the_start_is_in_and_the_end_is_not(self, store: Store) -> None:
        times = [f"2026-11-{day}T00:00:00.000Z" for day in (14, 15, 16)]
        placed = [each for time in times for each in at(time, priced(CENT))]
        await self.kept(store, "s", "alice", *placed)
        assert await self._days(store, start=times[0], end=times[2]) == ["14", "15"]
        assert await self._days(store, start=times[1]) == ["15", "16"]
        assert await self._days(store, end=times[0]) == []

    async def test_rows_come_in_the_order_of_time(self, store: Store) -> None:
        late, early = "2026-11-16T00:00:00.000Z", "2026-11-14T00:00:00.000Z"
        await self.kept(store, "a", "alice", *at(late, priced(CENT)))
        await self.kept(store, "b", "alice", *at(early, priced(CENT)))
        assert await self._days(store) == ["14", "16"]

    async def test_everybody_is_charged_for_their_own(self, store: Store) -> None:
        for user in ("alice", "bob"):
            await self.kept(store, f"{user}'s", user, *s.placed(priced(CENT)))
        assert [row.user_id for row in await store.charges(user_id="bob")] == ["bob"]
        assert await store.charges(user_id="bob", session_id="alice's") == []
        assert len(await store.charges()) == 2

    async def test_what_was_spent_is_the_sum_of_the_rows(self, store: Store) -> None:
        await self.kept(store, "a", "alice", *s.placed(priced(CENT, None), priced(CENT)))
        await self.kept(store, "b", "alice", *s.placed(priced(CENT)))
        assert await store.spent("alice") == Spent(48, picousd(CENT * 3))
        assert await store.spent("alice", session_id="b") == Spent(15, picousd(CENT))
        assert await store.spent("alice", start="2027-01-01T00:00:00.000Z") == Spent(0, 0)
        assert await store.spent("bob") == Spent(0, 0)

    async def test_visible_messages_are_counted_for_their_owner(self, store: Store) -> None:
        (hidden,) = s.placed(priced(CENT))
        hidden = replace(hidden, internal=True, index=None)
        await self.kept(store, "s", "alice", *s.placed(priced(CENT)), hidden)
        assert await store.count_messages("alice", "s") == 2
        assert len(await store.charges()) == 2
        with pytest.raises(NotFound):
            await store.count_messages("bob", "s")

    async def _days(self, store: Store, **bounds: str) -> Sequence[str]:
        return [row.created_at[8:10] for row in await store.charges(user_id="alice", **bounds)]
