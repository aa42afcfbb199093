"""Stages 3, 4 and 5 for chunks, in one step: most of what a turn shows is chunks.

In:  a batch of nothing but chunks, which are not stored.
Out: they are shown, each in its place, under the id of their answer. The draft of the answer has
     them too, in case it is never finished.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.events.base import Envelope, Stamped
from turnlog.events.chunks import Chunk
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Batch, Show


def show_chunks(batch: Batch, state: TurnState, show: Show) -> None:
    """Now; or after a decision that is on its way to the disk, because it has its place already."""
    if state.held_back is not None:
        state.held_back.append(lambda: show_chunks(batch, state, show))
        return
    turn, agent = state.turn, batch.agent or state.agent
    draft, time = state.drafts.get(batch.call), now()
    chunks: Sequence[Chunk] = batch.outputs  # type: ignore[assignment]  # as the pacer takes them
    stamped = []
    for chunk in chunks:
        if draft is not None:
            if chunk.message_id != draft.message_id:
                chunk = replace(chunk, message_id=draft.message_id)
            draft.chunks.append(chunk)
        placed = Envelope(
            event=chunk,
            event_id=next(state.ids),
            time=time,
            agent=agent,
            index=state.index,
            internal=False,
            kept=False,
        )
        state.index += 1
        stamped.append(
            Stamped(
                session_id=turn.session_id,
                turn_id=turn.id,
                envelope=placed,
                seq=None,
                position=state.position,
            )
        )
    show(stamped)
