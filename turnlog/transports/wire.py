"""The JSON of an event on every wire: its own fields, then its envelope. One place."""

from functools import lru_cache
from typing import Any

import msgspec

from turnlog.events.base import AgentRef, Event, Stamped

as_json = msgspec.json.Encoder(decimal_format="number").encode  # every digit, as a number


def encode(entry: Stamped, *, as_kept: bool = False) -> bytes:
    """One event as a client sees it. `as_kept`: whatever it is, it is an entry of the log."""
    placed = entry.envelope
    event = placed.event
    state = "persisted" if as_kept else event.shown_as
    if state == "persisted" and entry.seq is None:  # it was not stored, and must not say it was
        state = "transient"
    fields: Event | dict[str, Any] = event.shown() if event.log_only else event
    number = f',"sequenceNumber":{entry.seq}' if state == "persisted" else ""
    index, screen = (placed.index, placed.index) if placed.index is not None else ("null", -1)
    rest = (  # ids are our own and need no escaping
        f',"eventId":"{placed.event_id}","sessionId":"{entry.session_id}",'
        f'"turnId":"{entry.turn_id}","timestamp":"{placed.time}","eventIndex":{index},'
        f'"persistenceState":"{state}"{number},"agent":{agent(placed.agent.id, placed.agent.name)},'
        f'"cursor":"{entry.position}.{screen}"}}'
    )
    return as_json(fields)[:-1] + rest.encode()


def encode_for_audit(entry: Stamped) -> bytes:
    """An entry of the log for an auditor, who sees internal ones too, each with its number."""
    internal = "true" if entry.envelope.internal else "false"
    marks = f',"isInternal":{internal}'
    event = entry.envelope.event
    for name, value in msgspec.to_builtins(event).items() if event.audited else ():
        if name in event.audited:
            marks += f',"{name}":{as_json(value).decode()}'
    return encode(entry, as_kept=True)[:-1] + f"{marks}}}".encode()


def decode(data: bytes) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(data)
    return shown


@lru_cache(maxsize=1024)
def agent(id: str, name: str) -> str:
    """Who speaks, as JSON."""
    return as_json(AgentRef(id=id, name=name)).decode()
