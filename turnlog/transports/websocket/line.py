"""The two ends of a websocket inside of the server: who writes to it, and who hears from it.

`serve` joins them: straight to the socket under our server, which writes one frame to everybody;
through ASGI's messages under any other.
"""

from typing import Protocol

from starlette.types import Receive, Scope, Send

from turnlog.transports.websocket.foreign import ForeignSocket
from turnlog.transports.websocket.frames import Parcel

EXTENSION = "turnlog.websocket"


class Line(Protocol):
    """A websocket that is open. Nothing of it waits, and nothing of it raises."""

    is_full: bool  # the client reads too slowly: wait for `drained`
    listener: "Listener"  # who hears from it now

    def write(self, *parcels: Parcel) -> None:
        """Send them at once, after all that was written before."""
        ...

    def write_soon(self, parcel: Parcel) -> None:
        """Send it with what is written next, or when the loop comes round: it waits for no I/O."""
        ...

    def welcome(self) -> None:
        """The client is known: its messages may be as long as a question."""
        ...

    def pause_reading(self) -> None:
        """Hear nothing for now; what the client sends stays on its side."""
        ...

    def resume_reading(self) -> None: ...

    def close(self, code: int = 1000) -> None:
        """Send what was written, and hang up. Nothing is heard any more."""
        ...


class Listener(Protocol):
    """Who hears from a websocket."""

    def opened(self, line: Line) -> None: ...
    def heard(self, message: str | bytes) -> None: ...

    def drained(self) -> None:
        """The line is no longer full."""
        ...

    def lost(self) -> None:
        """The client has gone, or has broken the protocol. Comes once, and not after `close`."""
        ...


async def serve(listener: Listener, scope: Scope, receive: Receive, send: Send) -> None:
    """Give the websocket of this scope to the listener. Under our server it returns at once."""
    extension = (scope.get("extensions") or {}).get(EXTENSION)
    if extension is not None:
        extension["take"](listener)
    else:
        await ForeignSocket(listener, receive, send).run()
