"""The JSON of an event on every wire: its own fields, then its envelope. One place."""

from functools import lru_cache
from typing import Any

import msgspec

from turnlog.events.base import AgentRef, Event, Stamped

_encode = msgspec.json.Encoder(decimal_format="number").encode  # every digit, as a number


def encode(at: Stamped) -> bytes:
    """One event as a client sees it. Ids are our own and need no escaping."""
    placed = at.placed
    event = placed.event
    fields: Event | dict[str, Any] = event.shown() if event.log_only else event
    return b"%s,%s}" % (_encode(fields)[:-1], _envelope(at, event.shown_as).encode())


def decode(data: bytes) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(data)
    return shown


def _envelope(at: Stamped, state: str) -> str:
    placed = at.placed
    number = ""
    index = "null" if placed.index is None else placed.index  # internal events have none
    if state == "persisted":
        if at.seq is None:  # could not be stored: it must not say that it was
            state = "transient"
        else:
            number = f',"sequenceNumber":{at.seq}'
    return (
        f'"eventId":"{placed.event_id}","sessionId":"{at.session_id}","turnId":"{at.turn_id}",'
        f'"timestamp":"{placed.at}","eventIndex":{index},"persistenceState":"{state}"'
        f'{number},"agent":{_agent(placed.agent)},"cursor":"{at.cursor}"'
    )


@lru_cache(maxsize=1024)
def _agent(agent: AgentRef) -> str:
    return _encode(agent).decode()
