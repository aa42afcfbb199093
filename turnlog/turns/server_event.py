"""Events of the server itself: by no agent, and in no place on a turn's screen."""

from turnlog.events.base import AgentRef, Envelope, Event
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import new_id

SERVER = AgentRef(id="turnlog", name="turnlog")


def server_envelope(event: Event) -> Envelope:
    return Envelope(
        event=event,
        event_id=new_id(),
        time=now(),
        agent=SERVER,
        index=None,
        internal=event.internal,
        kept=event.kept,
    )
