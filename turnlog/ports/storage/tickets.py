"""Tickets: one path, once, without a token."""

from typing import Protocol

from turnlog.errors import TooMany
from turnlog.events.base import Value


class Ticket(Value, frozen=True, kw_only=True):
    """Opens one path, once, for somebody who cannot send a token: an image, an EventSource."""

    digest: str  # of the ticket: what is stored opens nothing
    user_id: str
    holder: bytes  # who asked for it, as the door wrote it down
    path: str
    expires_at: str


class Tickets(Protocol):
    """Tickets that nobody has used yet. Any process may take one that another has issued."""

    async def issue_ticket(self, ticket: Ticket, *, at_once: int) -> None:
        """Keep it; those that have expired go. Raises TooMany where the user has `at_once`."""
        ...

    async def take_ticket(self, digest: str) -> Ticket | None:
        """The ticket, for the first one who asks; None for an unknown or an expired one."""
        ...


def too_many_tickets() -> TooMany:
    """For a user who asks for tickets and does not use them."""
    return TooMany("Too many tickets are unused. Use them, or wait until they expire.", 60)
