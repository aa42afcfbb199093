"""The contract of Tickets."""

import asyncio

import pytest

from turnlog.errors import TooMany
from turnlog.events.clock import in_seconds
from turnlog.ports import Store, Ticket
from turnlog.testing.contracts.base import Contract, Opened


def ticket(digest: str, user_id: str = "alice", seconds: float = 60.0) -> Ticket:
    return Ticket(
        digest=digest,
        user_id=user_id,
        holder=b"{}",
        path="/api/here",
        expires_at=in_seconds(seconds),
    )


class TicketsContract(Contract):
    """Tickets that nobody has used yet."""

    async def test_a_ticket_is_taken_once_by_whichever_process(self, opened: Opened) -> None:
        here, there = await opened(), await opened()
        issued = ticket("a")
        await here.issue_ticket(issued, at_once=9)
        taken = await asyncio.gather(*(store.take_ticket("a") for store in (here, there) * 3))
        assert [each for each in taken if each is not None] == [issued]

    async def test_an_unknown_or_expired_ticket_is_nothing(self, store: Store) -> None:
        await store.issue_ticket(ticket("old", seconds=-1), at_once=9)
        assert await store.take_ticket("old") is None
        assert await store.take_ticket("never") is None

    async def test_a_user_has_so_many_and_no_more(self, store: Store) -> None:
        for name in "ab":
            await store.issue_ticket(ticket(name), at_once=2)
        with pytest.raises(TooMany):
            await store.issue_ticket(ticket("c"), at_once=2)
        await store.issue_ticket(ticket("his", "bob"), at_once=2)
        await store.take_ticket("a")
        await store.issue_ticket(ticket("c"), at_once=2)

    async def test_expired_tickets_do_not_count(self, store: Store) -> None:
        await store.issue_ticket(ticket("old", seconds=-1), at_once=1)
        await store.issue_ticket(ticket("new"), at_once=1)
        assert await store.take_ticket("new") is not None
