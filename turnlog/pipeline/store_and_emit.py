"""Stage 5. Store first, then show.

In:  placed events.
Out: the kept events are on disk, with numbers. Then all events that are not internal are shown,
     in order. An event that says "persisted" is on disk.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from turnlog.errors import MessageIdTaken
from turnlog.events import kinds as k
from turnlog.events.base import Envelope, Stamped
from turnlog.events.ids import new_message_id
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Show

T = TypeVar("T")
Append = Callable[[Sequence[Envelope]], Awaitable[int]]
Emit = Callable[[Sequence[Envelope], int], None]


async def store_and_emit(
    placed: Sequence[Envelope], state: TurnState, append: Append, emit: Emit
) -> None:
    kept = [p for p in placed if p.kept]
    if not kept:
        emit(placed, state.position + 1)
        return
    stored = _begun(append(kept))
    try:
        await to_the_end(stored, partial(emit, placed))
    except MessageIdTaken:
        await _store_with_fresh_ids(placed, state, append, emit)
    except asyncio.CancelledError:
        if _failed_by(MessageIdTaken, stored):
            with suppress(Exception):  # it was stopped, and hears of that
                await _store_with_fresh_ids(placed, state, append, emit)
        raise


async def _store_with_fresh_ids(
    placed: Sequence[Envelope], state: TurnState, append: Append, emit: Emit
) -> None:
    placed = _with_fresh_ids(placed, state)
    await to_the_end(append([p for p in placed if p.kept]), partial(emit, placed))


async def to_the_end(storing: Awaitable[T], then: Callable[[T], None]) -> None:
    """Wait until it is stored. What follows on it is done at once: so the state matches the store.

    Whoever is cancelled meanwhile waits all the same, and hears of it afterwards. Who is cancelled
    once more does not wait, and what follows is done without them.
    """
    stored = _begun(storing)
    end = stored.get_loop().create_future()
    failure: Exception | None = None

    def follow(_: "asyncio.Future[T]") -> None:
        nonlocal failure
        if waits := not end.done():
            end.set_result(None)  # who waits goes on before those who are shown what follows
        if not stored.cancelled() and stored.exception() is None:
            try:
                then(stored.result())
            except Exception as error:
                if not waits:
                    raise  # the loop tells the operator
                failure = error

    stored.add_done_callback(follow)
    try:
        await end
    except asyncio.CancelledError:
        await asyncio.wait([stored])
        raise
    stored.result()
    if failure is not None:
        raise failure


def _begun(storing: Awaitable[T]) -> "asyncio.Future[T]":
    """A store that answers with a future needs no task for it."""
    return storing if isinstance(storing, asyncio.Future) else asyncio.ensure_future(storing)


def _failed_by(error: type[Exception], stored: "asyncio.Future[T]") -> bool:
    return stored.done() and not stored.cancelled() and isinstance(stored.exception(), error)


def emit(placed: Sequence[Envelope], state: TurnState, number: int, show: Show) -> None:
    """Show the events, after the kept ones are stored. Kept events are numbered from `number`."""
    stamped = []
    for p in placed:
        entry = stamp(p, number if p.kept else None, state)
        number += p.kept
        if not p.internal:
            stamped.append(entry)
    show(stamped)


def stamp(placed: Envelope, seq: int | None, state: TurnState) -> Stamped:
    """Give the event its number, and let the turn know how far the log has come."""
    if seq is not None:
        state.position = seq
        state.kept(placed.event, placed.agent, placed.internal)
    return Stamped(
        session_id=state.turn.session_id,
        turn_id=state.turn.id,
        envelope=placed,
        seq=seq,
        position=state.position,
    )


def _with_fresh_ids(placed: Sequence[Envelope], state: TurnState) -> list[Envelope]:
    """The provider repeated an id. Ids are unique here, so each message gets one of ours."""
    messages = [p.event for p in placed if isinstance(p.event, k.Message)]
    fresh = {message.message_id: new_message_id() for message in messages}
    state.rename_drafts(fresh)
    return [_renamed(p, fresh) for p in placed]


def _renamed(placed: Envelope, fresh: Mapping[str, str]) -> Envelope:
    event = placed.event
    if not isinstance(event, k.Message | k.Thinking | k.CitationsFound | k.WebSearched):
        return placed
    message_id = fresh.get(event.message_id, event.message_id)
    return replace(placed, event=replace(event, message_id=message_id))
