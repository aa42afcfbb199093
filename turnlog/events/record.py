"""An event as a row of the log, sealed by a hash over itself and the row before.

Every store writes these and reads them back; `turnlog verify` follows the seals, so that
a row changed behind turnlog's back is found.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from turnlog.events import codec
from turnlog.events.base import AgentRef, Placed, Stamped

NO_SEAL = b""  # what the first row of a session is sealed onto


class Record(NamedTuple):
    """One row of the log. The order of the fields is the order of the columns."""

    session_id: str
    seq: int
    turn_id: str
    event_id: str
    type: str
    version: int
    at: str
    agent_id: str
    agent_name: str
    event_index: int | None
    is_internal: bool
    body: bytes
    seal: bytes


def records(
    session_id: str, turn_id: str, events: Sequence[Placed], first_seq: int, seal: bytes
) -> Iterator[Record]:
    """Number the events from `first_seq` on, each sealed onto the one before."""
    for seq, placed in enumerate(events, first_seq):
        event = placed.event
        row = Record(
            session_id,
            seq,
            turn_id,
            placed.event_id,
            event.type,
            event.version,
            placed.at,
            placed.agent.id,
            placed.agent.name,
            placed.index,
            placed.internal,
            codec.encode(event),
            NO_SEAL,
        )
        seal = sealed(row, seal)
        yield row._replace(seal=seal)


def sealed(row: Record, before: bytes) -> bytes:
    """The hash over the row before and every field of this one but its own seal."""
    head = msgspec.json.encode((*row[:10], int(row.is_internal)))
    return hashlib.blake2b(before + head + row.body, digest_size=16).digest()


def stamped(row: Record) -> Stamped:
    """The event that the row holds, with its place."""
    return numbered(_placed(row), row.session_id, row.turn_id, row.seq)


def numbered(placed: Placed, session_id: str, turn_id: str, seq: int) -> Stamped:
    """A kept event that has got its number."""
    return Stamped(session_id=session_id, turn_id=turn_id, placed=placed, seq=seq, position=seq)


def _placed(row: Record) -> Placed:
    return Placed(
        event=codec.decode(row.type, row.version, row.body),
        event_id=row.event_id,
        at=row.at,
        agent=AgentRef(id=row.agent_id, name=row.agent_name),
        index=row.event_index,
        internal=bool(row.is_internal),
        kept=True,
    )
