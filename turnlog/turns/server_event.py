"""Events of the server itself: no agent produced them, and they have no index on screen."""

from turnlog.events.base import AgentRef, Envelope, Event
from turnlog.events.clock import now
from turnlog.events.ids import new_id

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
