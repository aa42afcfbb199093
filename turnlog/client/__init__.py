"""For Python programs that talk to a turnlog server.

    async with AsyncClient("http://127.0.0.1:8000") as client:
        session = await client.create_session()
        async for event in client.ask(session["id"], "Hello!"):
            ...

`Client` is the same without `async`. Events are dictionaries as the wire has them, with types in
`turnlog.client.events`. A connection that breaks is taken up where it broke.
"""

from turnlog.client.blocking import Client
from turnlog.client.calls import ServerError
from turnlog.client.events import Event
from turnlog.client.waiting import AsyncClient

__all__ = ["AsyncClient", "Client", "Event", "ServerError"]
