"""Events of the server itself: by no agent, and in no place on a turn's screen."""

from turnlog.events.base import AgentRef, Event, Placed
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import new_id

SERVER = AgentRef(id="turnlog", name="turnlog")


def placed_by_server(event: Event) -> Placed:
    return Placed(
        event=event,
        event_id=new_id(),
        at=now(),
        agent=SERVER,
        index=None,
        internal=event.internal,
        kept=event.kept,
    )
