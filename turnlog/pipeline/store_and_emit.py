"""Stage 5. Store first, then show.

In:  placed events.
Out: the kept events are on disk, with numbers. Then all events that are not internal are shown,
     in order. An event that says "persisted" is on disk.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec.structs import replace

from turnlog.errors import MessageIdTaken
from turnlog.events import kinds as k
from turnlog.events.base import Envelope, Stamped
from turnlog.pipeline.turn_state import TurnState, new_message_id
from turnlog.ports import Show

Append = Callable[[Sequence[Envelope]], Awaitable[int]]


async def store_and_emit(
    placed: Sequence[Envelope], state: TurnState, append: Append, show: Show
) -> None:
    kept = [p for p in placed if p.kept]
    number = state.position + 1
    if kept:
        try:
            number = await append(kept)
        except MessageIdTaken:
            placed = _with_fresh_ids(placed, state)
            number = await append([p for p in placed if p.kept])
    emit(placed, state, number, show)


def emit(placed: Sequence[Envelope], state: TurnState, number: int, show: Show) -> None:
    """Show the events, after the kept ones are stored. Kept events are numbered from `number`."""
    stamped = []
    for p in placed:
        stamped.append(stamp(p, number if p.kept else None, state))
        number += p.kept
    show([entry for entry in stamped if not entry.envelope.internal])


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
