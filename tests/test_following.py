"""Going on from a cursor while a turn is between the disk and the screen."""

import asyncio

from test_http import served
from test_live import OVER, reload, types, up_to, watching

from turnlog.buses.memory import MemoryBus
from turnlog.simulator import Reply
from turnlog.stores.memory.store import MemoryStore


class SlowToSay(MemoryStore):
    """Stores a question, and takes its time to say so: a reader is quicker."""

    def __init__(self):
        super().__init__()
        self.stored, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def begin_turn(self, turn, first):
        begun = await super().begin_turn(turn, first)
        self.stored.set()
        await self.go.wait()
        return begun


async def test_what_is_stored_and_not_shown_yet_is_no_reason_to_reload():
    store = SlowToSay()
    async with served(Reply("One."), Reply("Two."), store=store) as server:
        session = await server.session()
        await server.ask(session)
        await server.ended()
        cursor = (await reload(server, session))["cursor"]
        server.app._bus = MemoryBus()  # as after a restart
        store.stored.clear()
        store.go.clear()
        asking = asyncio.create_task(server.ask(session))
        await store.stored.wait()
        async with watching(server, session, after=cursor) as shown:
            store.go.set()
            seen = await up_to(shown, *OVER)
        assert (await asking).status_code == 202
        assert types(seen)[0] == "user_message_sent" and types(seen)[-1] == "complete"
