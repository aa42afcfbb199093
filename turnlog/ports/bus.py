"""Live events: how they reach those who watch, and how processes call to each other."""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import Literal, Protocol

import msgspec

from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor
from turnlog.events.kinds import ApprovalResolved


class Decided(msgspec.Struct, frozen=True):
    """A decision, for the process that works on the turn which asked for it."""

    turn_id: str
    event: ApprovalResolved


class Stop(msgspec.Struct, frozen=True):
    """Stop this turn, and not the next one of its session: a signal may come late."""

    turn_id: str


Signal = Literal["stop", "wake"] | Stop | Decided
OnSignal = Callable[[str, Signal], None]  # of which session; returns at once
Encode = Callable[[Stamped], bytes]  # an event as clients see it


class LiveEvent(msgspec.Struct, frozen=True, gc=False):
    """An event on its way to those who watch. Its JSON is made once and shared by all of them."""

    entry: Stamped
    json: bytes


Batches = AsyncGenerator[Sequence[LiveEvent] | None, None]
Give = Callable[[Sequence[LiveEvent]], bool]  # to one who watches; False: it takes none of them


class Watcher:
    """One who watches, as it is known to those who show it something."""

    __slots__ = ("give", "newest", "wakes_for")

    def __init__(self, give: Give | None, *, wakes_for: Collection[type] = ()) -> None:
        """`wakes_for`: events that wake it, and that `give` does not get."""
        self.give = give  # takes what comes while it sleeps; None: it is woken for everything
        self.wakes_for = wakes_for
        self.newest: Stamped | None = None  # that it was shown, in a batch or while it slept


class Bus(Protocol):
    """Live events from turns to those who watch, and signals from process to process.

    Promises: a follower gets every event after its cursor, once and in order, or None, once,
    when some of them are no longer there. Its first batch comes at once and may be empty; a
    later empty batch is a sign of life. Chunks that wait for a slow follower are joined. What
    comes while the follower waits for it may be given to its watcher, which knows the newest of it
    then, without waking it; the first event of a turn is in a batch. Internal events reach nobody.
    `publish` and `signal` return at once, whoever listens.
    """

    away: str | None
    """What does not answer between the nodes, in a word. While it is set, `follow` gives None for
    sessions whose turn runs on another node, and their events come from the log alone."""

    @property
    def shared(self) -> bool:
        """Whether other processes show events too. They may have stored what they show next."""
        ...

    async def open(self, on_signal: OnSignal) -> None:
        """From now on `on_signal` is called for every signal, of this process too."""
        ...

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None:
        """Show the events to all who follow the session. An empty batch is a sign of life."""
        ...

    def follow(self, session_id: str, after: Cursor, watcher: Watcher | None = None) -> Batches: ...

    def signal(self, session_id: str, signal: Signal) -> None:
        """Tell every process. A signal may get lost: who needs its effect checks, and repeats it.

        Stop, Decided: for the process that works on the turn. wake: a turn of this session is
        over, or waits, or has taken a decision. "stop": as a node that is older than Stop says it;
        whatever runs in this session.
        """
        ...

    async def close(self) -> None:
        """Nothing more comes: followers get the rest and are done, and signals are not heard."""
        ...
