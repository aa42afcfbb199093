"""Tickets: what a browser can put into a URL where it cannot send a token.

An `EventSource` and an `<img>` send no headers, and a token in a URL ends up in logs and in
histories. A ticket opens one path, once, within a minute, for the user who asked for it. Only its
digest is stored, so a copy of the database opens nothing.
"""

import hashlib
import secrets
from typing import NamedTuple

import msgspec

from turnlog.errors import BadInput, Unauthorized
from turnlog.events.clock import in_seconds
from turnlog.ports import Ticket, Tickets, User

SECONDS = 60.0
AT_ONCE = 200  # unused tickets of one user
MOST_PATH = 500  # characters
MOST_TICKET = 100
QUERY = "ticket"  # its name in a URL


class Issued(NamedTuple):
    """A new ticket, as nobody will see it again."""

    ticket: str
    expires_at: str


async def issue(tickets: Tickets, user: User, path: str) -> Issued:
    """A ticket for this path. Raises BadInput for what is no path of the API, and TooMany."""
    if not path.startswith("/api/") or len(path) > MOST_PATH or not path.isprintable():
        raise BadInput("'path' must be a path of this server that begins with /api/.")
    if "?" in path or "#" in path:
        raise BadInput("'path' is the path alone: what follows '?' may be added later.")
    text = secrets.token_urlsafe(32)
    ticket = Ticket(
        digest=_digest(text),
        user_id=user.id,
        holder=msgspec.json.encode(user),
        path=path,
        expires_at=in_seconds(SECONDS),
    )
    await tickets.issue_ticket(ticket, at_once=AT_ONCE)
    return Issued(text, ticket.expires_at)


async def use(tickets: Tickets, text: str, path: str) -> User:
    """Whose ticket it is. It opens nothing any more, also where it was for another path."""
    ticket = None
    if text.isascii() and len(text) <= MOST_TICKET:
        ticket = await tickets.take_ticket(_digest(text))
    if ticket is None or ticket.path != path:
        raise Unauthorized("The ticket is used, expired, or for another path. Get a new one.")
    return msgspec.json.decode(ticket.holder, type=User)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
