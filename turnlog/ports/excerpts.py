"""The part of a log that a prompt is made of."""

from typing import Protocol

import msgspec

from turnlog.events.base import Stamped


class Excerpt(msgspec.Struct, frozen=True):
    """Events of a session, and what tells whether those before them are what they were."""

    entries: list[Stamped]
    emptied: int = 0  # how many numbers from the anchor on have no body in the log
    before: str = ""  # the id of the event that they come after; "": there is none


class Excerpts(Protocol):
    """Reads logs in which content was destroyed as well."""

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        """The kept events numbered above `after`, oldest first, without those that were erased:
        see `what_is_left`. Nothing of another user's. Where there are none, that is all it says.
        """
        ...
