"""Who follows a channel, and how far it has read."""

import asyncio
from collections.abc import Sequence

from turnlog.ports import LiveEvent, Watcher

Shown = tuple[int, list[LiveEvent]]  # a turn, and how many events came before it


class Follower:
    """One who watches a session, and how far it has read."""

    __slots__ = ("bed", "fresh", "place", "position", "sleep", "unread", "watcher")

    def __init__(self, place: int, position: int) -> None:
        self.place = place  # how many events it has got, counted from the first ever
        self.position = position  # the newest number of the log that it knows
        self.fresh = True  # it has got nothing yet
        self.unread: Shown | None = None  # what it was woken for: the next turn may come before
        self.sleep: asyncio.Future[None] | None = None
        self.bed = 0  # its place among those that sleep, if it does
        self.watcher: Watcher | None = None  # who may be given events while it sleeps

    def takes(self, events: Sequence[LiveEvent]) -> bool:
        """Whether it got the events in its sleep."""
        watcher = self.watcher
        if watcher is None or watcher.give is None or self.sleep is None or self.sleep.done():
            return False
        newest = events[-1].entry
        try:
            if type(newest.envelope.event) in watcher.wakes_for or not watcher.give(events):
                return False
        except Exception as error:  # its own trouble, and nobody else's
            self.sleep.set_exception(error)
            return False
        watcher.newest = newest
        self.place += len(events)
        self.position = newest.position
        return True

    def wake(self, shown: Shown) -> None:
        if self.sleep is not None and not self.sleep.done():
            self.sleep.set_result(None)
            self.unread = shown
