"""Streams between nodes in PostgreSQL: a table that is not logged, LISTEN and NOTIFY.

For a few nodes that have no Redis. Every node gets every nudge, and PostgreSQL lets one
transaction with a notice commit at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from turnlog.buses.stream import Away, Hear, Lost, Nudge, Parcel, end
from turnlog.statements import numbered, read_statements

SQL = read_statements("turnlog.buses.postgres")
# https://www.postgresql.org/docs/current/sql-notify.html: a payload is "shorter than 8000 bytes";
# "notifications from the same transaction get delivered in the order they were sent".
PIECE = 1_900  # characters of at most four bytes
NUDGES, SIGNALS = "turnlog_live", "turnlog_signals"
ANSWERS_WITHIN = 5.0  # seconds
LOOKS_EVERY = 2.0  # seconds between two questions whether the server is still there


class PostgresStream:
    """A Stream in the database that the URL names."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._listening: Any = None
        self._working: Any = None
        self._asking: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()  # a connection does one thing at a time

    async def open(self, on_nudge: Nudge, on_told: Hear, on_lost: Lost) -> None:
        async with _answers():
            self._listening, self._working = await self._connect(), await self._connect()
            await self._working.execute(SQL["make_live"])
            me = self._working.get_server_pid()
            await self._listening.add_listener(
                NUDGES, lambda _, pid, __, session_id: None if pid == me else on_nudge(session_id)
            )
            hear = _Pieces(on_told).take
            await self._listening.add_listener(SIGNALS, lambda *notice: hear(notice[3]))
        self._listening.add_termination_listener(lambda _: on_lost())
        self._asking = asyncio.create_task(self._ask(on_lost), name="postgres")

    async def close(self) -> None:
        if self._asking is not None:
            await end([self._asking])
            self._asking = None
        for connection in (self._listening, self._working):
            if connection is not None:
                connection.terminate()
        self._listening = self._working = None

    async def add(self, parcels: Sequence[Parcel]) -> None:
        sessions = [parcel.session_id for parcel in parcels]
        bodies = [parcel.body for parcel in parcels]
        async with self._turn, _answers(), self._working.transaction():
            await self._fetch("lock_live")
            for parcel in parcels:
                if parcel.begins:
                    await self._fetch("trim_live", session_id=parcel.session_id)
            await self._fetch("add_live", sessions=sessions, bodies=bodies)
            await self._fetch("tell", channel=NUDGES, bodies=list(dict.fromkeys(sessions)))

    async def read(self, after: Mapping[str, str]) -> dict[str, list[tuple[str, bytes]]]:
        async with self._turn, _answers():
            return {
                session_id: [
                    (str(place), body)
                    for place, body in await self._fetch(
                        "read_live", session_id=session_id, after=int(known or 0)
                    )
                ]
                for session_id, known in after.items()
            }

    async def watch(self, session_id: str) -> None:
        """Every nudge comes here; the bus knows whom it is for."""

    async def unwatch(self, session_id: str) -> None:
        """The same."""

    async def signal(self, body: bytes) -> None:
        async with self._turn, _answers():
            await self._fetch("tell", channel=SIGNALS, bodies=_pieces(body.decode()))

    async def _connect(self) -> Any:
        settings = {
            "application_name": "turnlog bus",
            "idle_in_transaction_session_timeout": "5000",
        }
        return await asyncpg.connect(
            self._url, timeout=ANSWERS_WITHIN, server_settings=settings, command_timeout=5.0
        )

    async def _fetch(self, statement: str, **values: Any) -> list[Any]:
        text, arguments = numbered(SQL[statement], values)
        rows: list[Any] = await self._working.fetch(text, *arguments)
        return rows

    async def _ask(self, on_lost: Lost) -> None:
        try:
            while True:
                await asyncio.sleep(LOOKS_EVERY)
                async with _answers():
                    await self._listening.fetch(SQL["ask"])
        except Away:
            on_lost()


def _pieces(body: str) -> list[str]:
    """The body, or its parts: each says how many follow, so that no two of them are the same."""
    if len(body) <= PIECE:
        return [body]
    parts = [body[start : start + PIECE] for start in range(0, len(body), PIECE)]
    return [f"{len(parts) - n}:{part}" for n, part in enumerate(parts, 1)]


class _Pieces:
    """Puts together again what came in pieces."""

    def __init__(self, on_told: Hear) -> None:
        self._on_told = on_told
        self._parts: list[str] = []

    def take(self, piece: str) -> None:
        following, _, part = piece.partition(":")
        if not following.isdecimal():
            self._on_told(piece.encode())
            return
        self._parts.append(part)
        if following == "0":
            self._on_told("".join(self._parts).encode())
            self._parts = []


@asynccontextmanager
async def _answers() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            yield
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
        TimeoutError,
        AttributeError,  # it was closed meanwhile
    ) as error:
        raise Away(f"PostgreSQL: {type(error).__name__}") from error
