"""Tickets on a connection."""

import msgspec

from turnlog.events.clock import now
from turnlog.ports import Ticket, too_many_tickets
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL, insert

_COLUMNS = Ticket.__struct_fields__  # the statements list them in this order


def issue(db: Connection, ticket: Ticket, at_once: int) -> None:
    db.execute(SQL["forget_expired_tickets"], {"now": now()})
    (open_ones,) = db.execute(SQL["count_tickets"], {"user_id": ticket.user_id}).fetchone()
    if open_ones >= at_once:
        raise too_many_tickets()
    db.execute(insert("tickets", _COLUMNS), msgspec.structs.asdict(ticket))


def take(db: Connection, digest: str) -> Ticket | None:
    row = db.execute(SQL["take_ticket"], {"digest": digest, "now": now()}).fetchone()
    return None if row is None else Ticket(**dict(zip(_COLUMNS, row, strict=True)))
