"""Stage 4. Every event gets its place in the turn.

In:  normalized events.
Out: the same events, each with an id, a time and, if it is shown, its index on screen. The log
     numbers the kept events itself, in the step that writes them.
"""

from collections.abc import Iterable

from turnlog.events.base import Attributed, Envelope
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import TurnState


def place(events: Iterable[Attributed], state: TurnState) -> list[Envelope]:
    time = now()
    placed = []
    for each in events:
        index = None
        if not each.internal:
            index = state.index
            state.index += 1
        placed.append(
            Envelope(
                event=each.event,
                event_id=state.event_id(each.event),
                time=time,
                agent=each.agent,
                index=index,
                internal=each.internal,
                kept=each.kept,
            )
        )
    return placed
