"""The composition root: the only room that knows every store, bus, engine and transport.

`create_app` gives an ASGI application that is also a library: `await app.run_turn(...)`.
"""

from turnlog.app.adapters import BUSES
from turnlog.app.application import Connection, Turnlog
from turnlog.app.composition import create_app
from turnlog.app.engines import ENGINES

__all__ = ["BUSES", "ENGINES", "Connection", "Turnlog", "create_app"]
