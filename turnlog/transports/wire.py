"""The JSON of an event on every wire: its own fields, then its envelope. One place."""

from functools import lru_cache
from typing import Any

import msgspec

from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.record import Record

_encode = msgspec.json.Encoder(decimal_format="number").encode  # every digit, as a number


def encode(entry: Stamped) -> bytes:
    """One event as a client sees it."""
    placed = entry.envelope
    event = placed.event
    fields: Event | dict[str, Any] = event.shown() if event.log_only else event
    state, number = event.shown_as, ""
    if state == "persisted":
        if entry.seq is None:  # could not be stored: it must not say that it was
            state = "transient"
        else:
            number = f',"sequenceNumber":{entry.seq}'
    agent = _agent(placed.agent.id, placed.agent.name)
    ids = (placed.event_id, entry.session_id, entry.turn_id)
    rest = _envelope(ids, placed.time, placed.index, state, number, agent, entry.position)
    return _encode(fields)[:-1] + rest


def splice(fields: msgspec.Struct, row: Record) -> bytes:
    """The same of a row of the log, whose kind is one that says "persisted"."""
    number, agent = f',"sequenceNumber":{row.seq}', _agent(row.agent_id, row.agent_name)
    ids = (row.event_id, row.session_id, row.turn_id)
    rest = _envelope(ids, row.at, row.event_index, "persisted", number, agent, row.seq)
    return _encode(fields)[:-1] + rest


def _envelope(
    ids: tuple[str, str, str],
    time: str,
    index: int | None,
    state: str,
    number: str,
    agent: str,
    position: int,
) -> bytes:
    """What every event has after its own fields. Ids are our own and need no escaping."""
    event_id, session_id, turn_id = ids
    place, screen = (index, index) if index is not None else ("null", -1)
    return (
        f',"eventId":"{event_id}","sessionId":"{session_id}","turnId":"{turn_id}",'
        f'"timestamp":"{time}","eventIndex":{place},"persistenceState":"{state}"'
        f'{number},"agent":{agent},"cursor":"{position}.{screen}"}}'
    ).encode()


def encode_for_audit(entry: Stamped) -> bytes:
    """The same for an auditor, who sees internal events too, each with its number."""
    internal = "true" if entry.envelope.internal else "false"
    marks = f',"isInternal":{internal}'
    if entry.envelope.event.shown_as != "persisted":
        marks += f',"sequenceNumber":{entry.seq}'
    event = entry.envelope.event
    for name, value in msgspec.to_builtins(event).items() if event.audited else ():
        if name in event.audited:
            marks += f',"{name}":{_encode(value).decode()}'
    return encode(entry)[:-1] + f"{marks}}}".encode()


def decode(data: bytes) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(data)
    return shown


@lru_cache(maxsize=1024)
def _agent(id: str, name: str) -> str:
    return _encode(AgentRef(id=id, name=name)).decode()
