"""Entries and signals as bytes between nodes. A large kept event travels as a reference."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from turnlog.events.base import AgentRef, Envelope, Stamped
from turnlog.events.kinds import ApprovalResolved
from turnlog.events.rows import codec
from turnlog.ports import Decided, Signal, Stop

LARGEST = 64_000  # bytes of an event that travels as it is


class _Packed(msgspec.Struct, array_like=True):
    turn_id: str
    event_id: str
    time: str
    agent_id: str
    agent_name: str
    index: int | None
    internal: bool
    kept: bool
    seq: int | None
    position: int
    type: str
    version: int
    body: bytes | None  # None: it is in the log, under this number


class _Batch(msgspec.Struct, array_like=True):
    node: str
    entries: list[_Packed]


class _OfTurn(msgspec.Struct):
    """A Stop, or a Decided, which has an event."""

    turn_id: str
    event: ApprovalResolved | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Batch).decode
_signal = msgspec.json.Decoder(tuple[str, str, Literal["stop", "wake"] | _OfTurn]).decode


class Reference(msgspec.Struct, frozen=True):
    """An entry that must be read from the log."""

    seq: int


def pack(node: str, batch: Sequence[Stamped]) -> bytes:
    return _encode(_Batch(node, [_packed(entry) for entry in batch]))


def unpack(session_id: str, body: bytes) -> tuple[str, list[Stamped | Reference]]:
    """The node that shows it, and the entries."""
    batch = _decode(body)
    return batch.node, [_entry(session_id, packed) for packed in batch.entries]


def pack_signal(node: str, session_id: str, signal: Signal) -> bytes:
    return msgspec.json.encode((node, session_id, signal))


def unpack_signal(body: bytes) -> tuple[str, str, Signal]:
    """The node that gives it, of which session, and the signal."""
    node, session_id, signal = _signal(body)
    if not isinstance(signal, _OfTurn):
        return node, session_id, signal
    turn_id, event = signal.turn_id, signal.event
    return node, session_id, Stop(turn_id) if event is None else Decided(turn_id, event)


def _packed(entry: Stamped) -> _Packed:
    placed = entry.envelope
    body: bytes | None = codec.encode(placed.event)
    if entry.seq is not None and len(body or b"") > LARGEST:
        body = None
    return _Packed(
        entry.turn_id,
        placed.event_id,
        placed.time,
        placed.agent.id,
        placed.agent.name,
        placed.index,
        placed.internal,
        placed.kept,
        entry.seq,
        entry.position,
        placed.event.type,
        placed.event.version,
        body,
    )


def _entry(session_id: str, packed: _Packed) -> Stamped | Reference:
    if packed.body is None:
        assert packed.seq is not None
        return Reference(packed.seq)
    envelope = Envelope(
        event=codec.decode(packed.type, packed.version, packed.body),
        event_id=packed.event_id,
        time=packed.time,
        agent=AgentRef(id=packed.agent_id, name=packed.agent_name),
        index=packed.index,
        internal=packed.internal,
        kept=packed.kept,
    )
    return Stamped(
        session_id=session_id,
        turn_id=packed.turn_id,
        envelope=envelope,
        seq=packed.seq,
        position=packed.position,
    )
