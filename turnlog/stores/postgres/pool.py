"""Connections to PostgreSQL, and what a lost one means.

A change whose connection is lost is tried again, for some seconds. Where the commit was not
answered, PostgreSQL itself says what became of it, so nothing is done twice.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from turnlog.errors import NotStored, OutcomeUnknown, StoreUnusable
from turnlog.net import back_off, spread
from turnlog.stores.postgres.connection import StepConnection, carried_out
from turnlog.stores.postgres.statements import SQL, numbered
from turnlog.stores.sql.connection import NOT_OPEN

_log = logging.getLogger(__name__)
T = TypeVar("T")
AT_ONCE = 8  # connections that write, and as many that read
PATIENCE = 15.0  # seconds that a change waits for a database that is away
ANSWERS_WITHIN = 10.0  # seconds for one statement
# PostgreSQL ends a transaction of a node that hangs, so that its sessions are free again.
WRITES = {"idle_in_transaction_session_timeout": "5000", "lock_timeout": "8000", "jit": "off"}
READS = {
    "default_transaction_isolation": "repeatable read",
    "default_transaction_read_only": "on",
    "jit": "off",
}
# The connection, the server, or another transaction: nothing was written, and it may work later.
AWAY: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # asyncpg's word for a connection that broke at a bad moment
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.CannotConnectNowError,
)
FULL = (asyncpg.InsufficientResourcesError, asyncpg.PostgresSystemError)


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # it has no types
    """One that costs no round trip when it goes back to the pool: we set nothing on it."""

    life = ""  # of the database that it leads to: see `get_life`

    def get_reset_query(self) -> str:
        return ""


class Pool:
    """Carries out steps, each on one of its connections."""

    def __init__(self, url: str, *, writes: bool) -> None:
        self._url = url
        settings = {"application_name": "turnlog"} | (WRITES if writes else READS)
        self._options: dict[str, Any] = {
            "connection_class": _Connection,
            "statement_cache_size": 500,
            "command_timeout": ANSWERS_WITHIN,
            "timeout": 5.0,
            "server_settings": settings,
        }
        self._writes = writes
        self._pool: Any = None
        self.given_up: set[str] = set()  # leases of changes that nobody knows the outcome of

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=AT_ONCE,
            max_inactive_connection_lifetime=0,
            init=_note_life if self._writes else None,
            **self._options,
        )

    async def connect(self, **settings: str) -> Any:
        """A connection that is not one of them, and like them but for these settings."""
        both = self._options["server_settings"] | settings
        return await asyncpg.connect(self._url, **self._options | {"server_settings": both})

    async def close(self) -> None:
        if self._pool is not None:
            try:
                async with asyncio.timeout(5):
                    await self._pool.close()
            except AWAY:
                self._pool.terminate()
            self._pool = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """One of them. That it breaks when it is given back says nothing of what was done."""
        if self._pool is None:
            raise StoreUnusable(NOT_OPEN)
        connection = await self._pool.acquire(timeout=ANSWERS_WITHIN)
        try:
            yield connection
        except AWAY:
            give_up(connection)
            raise
        finally:
            with suppress(*AWAY):
                await self._pool.release(connection, timeout=ANSWERS_WITHIN)

    async def look(self, read: Callable[[StepConnection], T]) -> T:
        async def attempt() -> T:
            async with self.connection() as connection:
                return await carried_out(read, StepConnection(connection))

        return await patiently(attempt)

    async def change(self, work: Callable[[StepConnection], T]) -> T:
        """The result of the work, once it is on disk."""

        async def attempt() -> T:
            return await self._transaction(work)

        return await patiently(attempt)

    async def fetch(self, statement: str, values: dict[str, Any]) -> list[Any]:
        """One statement of its own."""
        text, arguments = numbered(SQL[statement], values)
        async with self.connection() as connection:
            rows: list[Any] = await connection.fetch(text, *arguments)
            return rows

    async def _transaction(self, work: Callable[[StepConnection], T]) -> T:
        async with self.connection() as connection:
            db = StepConnection(connection, self.given_up)
            life = connection.life
            try:
                await connection.execute(SQL["begin"])
                result = await carried_out(work, db)
                number = db.transaction or await connection.fetchval(SQL["get_transaction"])
            except BaseException:
                await _rolled_back(connection)
                raise
            try:
                await connection.execute(SQL["commit"])
            except AWAY:
                give_up(connection)
                if number is None or not await self._was_committed(number, life, db):
                    raise
            return result

    async def _was_committed(self, number: str, life: str, db: StepConnection) -> bool:
        """Raises OutcomeUnknown where nobody can tell: the database stays away, or a replica took
        over, which counts its transactions anew.

        The turn is given up then, as by a process that died: who heals it reads the log.
        """

        async def attempt() -> str | None:
            rows = await self.fetch("get_outcome", {"number": number, "life": life})
            found: str | None = rows[0][0]
            if found == "in progress":
                raise TimeoutError  # the lost connection is still at it
            return found

        try:
            outcome = await patiently(attempt)
        except NotStored:
            outcome = None
        if outcome is None:
            self.given_up |= {db.lease} - {""}
            raise OutcomeUnknown
        return outcome == "committed"


async def _note_life(connection: Any) -> None:
    connection.life = await connection.fetchval(SQL["get_life"])


async def _rolled_back(connection: Any) -> None:
    """A connection that does not even do that is given up."""
    try:
        await connection.execute(SQL["roll_back"])
    except Exception:
        give_up(connection)


def give_up(connection: Any) -> None:
    with suppress(asyncpg.InterfaceError):  # the pool has done so already
        connection.terminate()


async def disconnect(connection: Any) -> None:
    """Nobody waits for what is said goodbye to."""
    with suppress(*AWAY):
        await connection.close(timeout=5)


def is_away(error: BaseException) -> bool:
    """Whether the database did not answer, or said that it may work later."""
    return isinstance(error, AWAY) and not isinstance(error, ValueError)  # a value of a wrong kind


async def patiently(attempt: Callable[[], Awaitable[T]], *, since: float | None = None) -> T:
    """Try again while the database is away. Raises NotStored where it does not come back.

    `since`: when somebody began to wait for it, by the clock of the loop; None: now.
    """
    loop = asyncio.get_running_loop()
    deadline, tries = (loop.time() if since is None else since) + PATIENCE, 0
    while True:
        try:
            return await attempt()
        except AWAY as error:
            if not is_away(error):
                raise
            _log.warning("PostgreSQL does not answer: %s", type(error).__name__)
            if loop.time() > deadline:
                raise _unstored(error) from error
            tries += 1
            await asyncio.sleep(spread(back_off(tries, 0.05, 1.0)))
        except FULL as error:
            raise _unstored(error) from error


def _unstored(error: BaseException) -> NotStored:
    _log.error("the database cannot be used: %s", type(error).__name__)
    return NotStored("The server cannot store anything at the moment. Try again later.")
