"""Where a client stands: the last kept number it knows, and the last index on screen.

Pairs are ordered as the events are, within a turn and from turn to turn.
"""

from typing import NamedTuple

from turnlog.errors import BadInput
from turnlog.events.base import Stamped


class Cursor(NamedTuple):
    position: int
    screen: int  # the index of the last event on screen


BEGINNING = Cursor(-1, -1)  # of a session in which nothing has happened


def before(first_seq: int) -> Cursor:
    """Just before the first event of the turn that begins with this number."""
    return Cursor(first_seq, -1)


def cursor_of(entry: Stamped) -> Cursor:
    return Cursor(entry.position, -1 if entry.envelope.index is None else entry.envelope.index)


def parse(text: str) -> Cursor:
    """Raises BadInput for what is not a cursor of ours."""
    position, _, index = text.partition(".")
    try:
        return Cursor(int(position), int(index))
    except ValueError:
        raise BadInput(f"{text[:50]!r} is not a cursor. Take it from an event.") from None
