"""Tickets in a dictionary."""

from turnlog.events.clock import now
from turnlog.ports import Ticket, too_many_tickets


class MemoryTickets:
    """The tickets of a MemoryStore."""

    _tickets: dict[str, Ticket]  # by their digests

    async def issue_ticket(self, ticket: Ticket, *, at_once: int) -> None:
        for old in [each for each in self._tickets.values() if each.expires_at <= now()]:
            del self._tickets[old.digest]
        if sum(each.user_id == ticket.user_id for each in self._tickets.values()) >= at_once:
            raise too_many_tickets()
        self._tickets[ticket.digest] = ticket

    async def take_ticket(self, digest: str) -> Ticket | None:
        ticket = self._tickets.pop(digest, None)
        return ticket if ticket is not None and ticket.expires_at > now() else None
