"""An event as a row of the log, sealed by a hash over itself and the row before.

Every store writes these and reads them back; `turnlog verify` follows the seals, so that
a row changed behind turnlog's back is found.

The seal covers a digest of the event's body, not the body itself: the body can be destroyed
later, when a person's data must go, and the chain still proves that nothing else has changed.
The digest is salted, and the salt goes with the body, so that nobody finds the content again
by guessing.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from turnlog.errors import UnknownEvent
from turnlog.events.base import AgentRef, Envelope, Event, Stamped
from turnlog.events.rows import codec

NO_SEAL = b""  # what the first row of a session is sealed onto
ERASED = b""  # the body of an event whose content was destroyed
_SALT_BYTES = 16
_ENVELOPE = 10  # so many fields, and whether it is internal


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
    salt: bytes | None
    digest: bytes | None  # None: written before there were digests, and sealed with its body
    seal: bytes

    @property
    def envelope(self) -> tuple[object, ...]:
        """All that is sealed beside the content."""
        return (*self[:_ENVELOPE], int(self.is_internal))

    @property
    def is_erased(self) -> bool:
        """Whether its content was destroyed: the body is gone, the digest is not."""
        return not self.body and bool(self.digest)

    @property
    def is_archived(self) -> bool:
        """Whether its body is in an archive: the salt stays, or nobody could tell it again."""
        return not self.body and bool(self.digest) and bool(self.salt)

    @property
    def bare(self) -> "BareRecord":
        fields: tuple[Any, ...] = self[: len(BareRecord.__struct_fields__)]
        return BareRecord(*fields)


class BareRecord(msgspec.Struct, frozen=True, gc=False):
    """A record without its proof, to be shown: the first fields, in the same order.

    A struct, because a page has a thousand of them: a tuple with names takes three times as long.
    """

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
    body: bytes  # empty: it was erased

    is_archived: ClassVar[bool] = False  # then it is not read like this

    @property
    def is_erased(self) -> bool:
        return not self.body

    @property
    def cursor(self) -> str:
        """Where to go on from, after this event."""
        return f"{self.seq}.{-1 if self.event_index is None else self.event_index}"


# The seal of a row: of its envelope and its digest, after the seal before it.
Seal = Callable[[tuple[object, ...], bytes, bytes], bytes]


def records(
    session_id: str,
    turn_id: str,
    events: Sequence[Envelope],
    first_seq: int,
    seal: bytes,
    seals: Seal | None = None,
) -> list[Record]:
    """Number the events from `first_seq` on, each sealed onto the one before."""
    seals = seals or _sealed
    rows = []
    for seq, placed in enumerate(events, first_seq):
        event, agent = placed.event, placed.agent
        body, salt = codec.encode(event), os.urandom(_SALT_BYTES)
        digest = digest_of(body, salt)
        place = (session_id, seq, turn_id, placed.event_id, event.type, event.version, placed.time,
                 agent.id, agent.name, placed.index)  # fmt: skip
        seal = seals((*place, int(placed.internal)), digest, seal)
        rows.append(Record(*place, placed.internal, body, salt, digest, seal))
    return rows


def digest_of(body: bytes, salt: bytes) -> bytes:
    """What stands for the body in the seal."""
    return hashlib.blake2b(body, digest_size=32, salt=salt).digest()


def sealed(row: Record, before: bytes) -> bytes:
    """The hash over the row before, the envelope of this one and the digest of its body.

    That was the seal before it named the owner: see `seal.py`.

    A row without a digest has its body in the place of it, as all rows once had.
    """
    if row.digest is not None:
        return _sealed(row.envelope, row.digest, before)
    content = msgspec.json.encode(row.envelope) + row.body
    return hashlib.blake2b(before + content, digest_size=16).digest()


def _sealed(envelope: tuple[object, ...], digest: bytes, before: bytes) -> bytes:
    content = msgspec.json.encode((2, *envelope)) + digest
    return hashlib.blake2b(before + content, digest_size=16).digest()


def has_its_body(row: Record) -> bool:
    """Whether the digest is that of the body."""
    return row.salt is not None and digest_of(row.body, row.salt) == row.digest


def stamped(row: Record | BareRecord) -> Stamped:
    """The event that the row holds, with its place. Raises UnknownEvent where it was erased."""
    if not row.body and row.is_archived:
        raise UnknownEvent(f"The content of number {row.seq} is in an archive.")
    if not row.body and row.is_erased:
        raise UnknownEvent(f"The content of number {row.seq} was erased.")
    return placed(row, codec.decode(row.type, row.version, row.body))


def placed(row: Record | BareRecord, event: Event) -> Stamped:
    """The event in the place of the row."""
    place = Envelope(
        event=event,
        event_id=row.event_id,
        time=row.at,
        agent=AgentRef(id=row.agent_id, name=row.agent_name),
        index=row.event_index,
        internal=bool(row.is_internal),
        kept=True,
    )
    return numbered(place, row.session_id, row.turn_id, row.seq)


def numbered(placed: Envelope, session_id: str, turn_id: str, seq: int) -> Stamped:
    """A kept event that has got its number."""
    return Stamped(session_id=session_id, turn_id=turn_id, envelope=placed, seq=seq, position=seq)
