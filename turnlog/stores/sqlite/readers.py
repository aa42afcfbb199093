"""Threads that read, each with a connection of its own."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from turnlog.stores.sqlite.files import SqliteConnection

T = TypeVar("T")
_THREADS = 2


class Readers:
    """Runs reads beside the writer."""

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._local = threading.local()
        self._connections: list[SqliteConnection] = []
        self._closed = False
        self._threads = ThreadPoolExecutor(_THREADS, "turnlog-reader")

    async def run(self, read: Callable[[SqliteConnection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: read(self._connection()))

    def run_here(self, read: Callable[[SqliteConnection], T]) -> T:
        """In the caller's own thread: for one look at an index."""
        return read(self._connection())

    def close(self) -> None:
        """Wait for the reads under way. Nobody is answered afterwards."""
        self._threads.shutdown()
        self._closed = True
        for connection in self._connections:
            connection.close()

    def _connection(self) -> SqliteConnection:
        if self._closed:
            raise RuntimeError("the store is closed")
        if not hasattr(self._local, "db"):
            self._local.db = self._connect()
            self._connections.append(self._local.db)
        db: SqliteConnection = self._local.db
        return db
