"""Live events: how they reach those who watch."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor


class Bus(Protocol):
    """Live events, from turns to those who watch.

    Promises: a follower gets every event after its cursor, once, in order, adjacent chunks
    joined; an empty batch now and then, as a sign of life; or None, once, when some of them are
    no longer there. It never holds a turn up.
    """

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None: ...

    def is_empty(self, session_id: str) -> bool:
        """Whether nothing of this session is remembered."""
        ...

    def follow(
        self, session_id: str, after: Cursor | None
    ) -> AsyncGenerator[Sequence[Stamped] | None, None]:
        """Without a cursor, from the start of the newest turn that is remembered."""
        ...

    def close(self) -> None:
        """Nothing more comes: whoever follows gets the rest, and is done."""
        ...
