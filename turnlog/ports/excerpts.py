"""The part of a log that a prompt is made of."""

from typing import NamedTuple, Protocol

from turnlog.events.base import Stamped


class Excerpt(NamedTuple):
    """Events of a session, and what tells whether others of it were erased meanwhile."""

    entries: list[Stamped]
    emptied: int  # how many numbers from the anchor on have no body in the log


class Excerpts(Protocol):
    """Reads logs in which content was destroyed as well."""

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        """The kept events numbered above `after`, oldest first, without those that were erased:
        see `what_is_left`. Nothing of another user's. `emptied` is 0 where there are none.
        """
        ...
