"""The statements of PostgreSQL's writers, on their way: counted, held up, or lost."""

import asyncio

from turnlog.stores.postgres import pool
from turnlog.testing import samples as s


async def begun(store, session_id="s"):
    await store.create_session(s.new_session(session_id))
    return await store.begin_turn(s.new_turn(f"t-{session_id}", session_id), s.placed(s.asked()))


async def carry_out(store, change):
    name, *given = change
    return await getattr(store, name)(*given)


async def under_way(store, *changes):
    """These changes, given to a store whose writers cannot send."""
    tasks = [asyncio.create_task(carry_out(store, change)) for change in changes]
    async with asyncio.timeout(60):
        while len(store._turn_writers) < len(changes):
            await asyncio.sleep(0.01)
    return tasks


class Wire:
    """The statements of writers, on their way."""

    def __init__(self, monkeypatch):
        self.asked = []  # of every connection
        self.batches = []  # of writers
        self.lose = None  # the next one "there", or its answer "back"
        self.gate = asyncio.Event()
        self.gate.set()
        fetchmany = pool._Connection.fetchmany

        async def send(connection, query, args, **options):
            self.batches.append(args)
            self.asked.append(query)
            await self.gate.wait()
            lost, self.lose = self.lose, None
            rows = [] if lost == "there" else await fetchmany(connection, query, args, **options)
            if lost:
                connection.terminate()
                raise ConnectionResetError
            return rows

        def counting(inner):
            async def ask(connection, query, *args, **options):
                self.asked.append(query)
                return await inner(connection, query, *args, **options)

            return ask

        monkeypatch.setattr(pool._Connection, "fetchmany", send)
        for name in ("fetch", "fetchrow", "fetchval", "execute"):
            inner = getattr(pool._Connection, name)
            monkeypatch.setattr(pool._Connection, name, counting(inner))
