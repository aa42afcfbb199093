"""What lies between nodes: one short stream of batches for each session, and signals.

A bus of many nodes needs no more of Redis or PostgreSQL than this.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Nudge = Callable[[str], None]  # something was added to the stream of this session
Hear = Callable[[bytes], None]  # what a node told all of them
Lost = Callable[[], None]  # nudges and signals may have been missed


class Away(Exception):
    """The server between the nodes does not answer."""


class Unfit(Away):
    """It answers, and is not what is needed. Only a person can change that."""


class Parcel(NamedTuple):
    """One batch of one session, packed."""

    session_id: str
    body: bytes
    begins: bool  # a turn: what lies before it is not needed any more


class Stream(Protocol):
    """Batches in the order in which they were added. Everything raises Away."""

    async def open(self, on_nudge: Nudge, on_told: Hear, on_lost: Lost) -> None: ...

    async def close(self) -> None: ...

    async def add(self, parcels: Sequence[Parcel]) -> None:
        """Add them, in this order, and nudge the nodes that watch their sessions."""
        ...

    async def read(self, after: Mapping[str, str]) -> dict[str, list[tuple[str, bytes]]]:
        """Of each session what came after this place; "" is the beginning."""
        ...

    async def watch(self, session_id: str) -> None:
        """From when this returns, nudges come for the session."""
        ...

    async def unwatch(self, session_id: str) -> None: ...

    async def signal(self, body: bytes) -> None:
        """Tell every node, this one too."""
        ...


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel them until they are done: a client library may swallow a cancellation."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.2)
