"""Ids of answers: the provider's, unless another answer has it already.

An answer keeps the id that its first chunk had, so this is decided when the call begins.
"""

from turnlog.events.ids import new_message_id
from turnlog.ports import EventLog

REMEMBERED = 10_000  # of the newest calls of this process, which may not be stored yet


class MessageIds:
    """Gives each id out once."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._given: dict[str, None] = {}

    async def claim(self, wanted: str) -> str:
        """The wanted id, or one of ours where it is empty or taken, or no store can write it."""
        given = wanted
        if not wanted or "\0" in wanted or wanted in self._given:
            given = new_message_id()
        self._given[given] = None  # before anybody else is asked
        if given == wanted and await self._log.has_message(wanted):
            given = new_message_id()
        if len(self._given) > REMEMBERED:
            del self._given[next(iter(self._given))]
        return given
