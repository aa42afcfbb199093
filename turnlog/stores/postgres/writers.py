"""Writers: each has a connection of its own, and writes what waits in one statement.

While one statement is on its way the next changes gather, and share the next transaction. Changes
of one session go to the same writer, in their order. What cannot be said in one statement, or is
refused, or is large, is carried out by itself on a connection of the pool, as if there were no
writers: there it is found out why.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, TypeVar
from zlib import crc32

import asyncpg

from turnlog.errors import NotStored, OutcomeUnknown
from turnlog.stores.postgres.changes import Admission, Change, NeedsAnswer, Rehearsal
from turnlog.stores.postgres.pool import Pool, disconnect, give_up, is_away, patiently
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.sql.connection import EMPTY, Connection, End
from turnlog.telemetry.metrics import Metrics

_log = logging.getLogger(__name__)
T = TypeVar("T")
Step = Callable[[Connection], T]
AT_ONCE = 2  # writers
_MOST = 100  # changes in one transaction, so that none waits long for the others
_MOST_BYTES = 1_000_000  # of them, about
_LARGE = 256_000  # bytes of a change that goes by itself
# What `write_turn` does not foresee waits for a lock this long. Longer waits are for the pool.
_SETTINGS = {"lock_timeout": "200"}  # milliseconds
# PostgreSQL has answered: it rolled the transaction back.
_REFUSALS = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
_QUIET = 60.0  # seconds between two complaints about refused transactions
_MOVES = 3  # tries of a change whose session somebody else writes to, before it takes the lock
_REMEMBERED = 10_000  # sessions whose log's end is known


@dataclass(slots=True)
class Job:
    """A change that somebody waits for."""

    session_id: str
    step: Step[Any]  # carries it out on any connection
    rehearsed: Step[Any]  # the same, without what the function `write_turn` checks by itself
    admission: Admission
    answer: "asyncio.Future[Any]"
    given_at: float  # by the clock of the loop
    moves: int = 0

    def rehearse(self, end: End, given_up: Collection[str]) -> tuple[Change, Any]:
        """What it writes where the log ends there, and its result. Raises NeedsAnswer."""
        change = Change(self.session_id, end=end, admission=self.admission)
        return change, self.rehearsed(Rehearsal(change, given_up))

    def settle(self, result: Any, error: BaseException | None = None) -> None:
        """Whoever was cancelled waits no more."""
        if self.answer.done():
            return
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(result)


Written = tuple[Job, Change, Any]  # with its result


class Ends:
    """Where logs end, as far as this process knows. The database says where it is wrong."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, End] = OrderedDict()

    def get(self, session_id: str) -> End:
        return self._known.get(session_id, EMPTY)

    def note(self, session_id: str, end: End) -> None:
        self._known[session_id] = end
        self._known.move_to_end(session_id)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


class Writers:
    """Some writers, each with its share of the sessions."""

    def __init__(self, pool: Pool, metrics: Metrics, count: int = AT_ONCE) -> None:
        ends = Ends()
        self._writers = [Writer(pool, metrics, ends) for _ in range(count)]

    def __len__(self) -> int:
        """How many changes wait or are under way."""
        return sum(map(len, self._writers))

    async def change(self, session_id: str, step: Step[T]) -> T:
        """The result of the step, once it is on disk.

        A caller that is cancelled stops waiting; the change is carried out all the same.
        """
        return await self._give(session_id, session_id, step, step, Admission())

    async def begin(
        self,
        user_id: str,
        session_id: str,
        step: Step[T],
        rehearsed: Step[T],
        admission: Admission,
    ) -> T:
        """The same for a turn that begins. A user's turns are counted one after the other."""
        return await self._give(user_id, session_id, step, rehearsed, admission)

    async def _give(
        self, key: str, session_id: str, step: Step[T], rehearsed: Step[T], admission: Admission
    ) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        writer = self._writers[crc32(key.encode()) % len(self._writers)]
        writer.add(Job(session_id, step, rehearsed, admission, answer, loop.time()))
        return await answer

    async def close(self) -> None:
        """Finish what was given."""
        for writer in self._writers:
            await writer.close()


class Writer:
    """Writes what waits, one statement at a time."""

    def __init__(self, pool: Pool, metrics: Metrics, ends: Ends) -> None:
        self._pool = pool
        self._metrics = metrics
        self._ends = ends
        self._jobs: deque[Job] = deque()
        self._apart: dict[str, asyncio.Task[None]] = {}  # by session: jobs that go by themselves
        self._work: asyncio.Task[None] | None = None
        self._connection: Any = None
        self._under_way = 0
        self._complained_at = -inf

    def __len__(self) -> int:
        return len(self._jobs) + len(self._apart) + self._under_way

    def add(self, job: Job) -> None:
        self._jobs.append(job)
        self._wake()

    async def close(self) -> None:
        while tasks := [*self._apart.values(), *([self._work] if self._work else [])]:
            await asyncio.wait(tasks)
        if self._connection is not None:
            await disconnect(self._connection)
            self._connection = None

    def _wake(self) -> None:
        if self._work is None and self._jobs:
            self._work = asyncio.create_task(self._go_on(), name="writer")

    async def _go_on(self) -> None:
        try:
            while batch := self._next():
                self._under_way = len(batch)
                await self._carry_out(batch)
        finally:
            self._under_way = 0
            self._work = None

    def _next(self) -> list[Written]:
        """Those that wait, one of a session, as many as are no burden to each other."""
        batch: list[Written] = []
        size = 0
        later: deque[Job] = deque()
        seen = set(self._apart)
        while self._jobs and len(batch) < _MOST and size < _MOST_BYTES:
            job = self._jobs.popleft()
            if job.session_id in seen:
                later.append(job)
                continue
            seen.add(job.session_id)
            try:
                end = self._ends.get(job.session_id)
                change, result = job.rehearse(end, self._pool.given_up)
            except NeedsAnswer:
                self._go_apart(job, partial(self._pool.change, job.step))
            except Exception as error:
                job.settle(None, error)
            else:
                if change.size > _LARGE:
                    self._go_apart(job, partial(self._pool.change, job.step))
                else:
                    batch.append((job, change, result))
                    size += change.size
        self._jobs.extendleft(reversed(later))
        return batch

    async def _carry_out(self, batch: list[Written]) -> None:
        try:
            connection = await patiently(self._connected, since=batch[0][0].given_at)
            rows = await connection.fetchmany(
                SQL["write_turn"], [change.values() for _, change, _ in batch]
            )
        except NotStored as error:
            self._metrics.store_commits.add(1, "failed")
            for job, _, _ in batch:
                job.settle(None, error)
        except Exception as error:
            lost = is_away(error) and not isinstance(error, _REFUSALS)
            self._metrics.store_commits.add(1, "failed" if lost else "refused")
            if not lost:
                self._complain(error)
            self._recover(batch, lost=lost)
        else:
            self._metrics.store_commits.add(1, "success")
            self._metrics.store_jobs.observe(len(batch))
            self._answer(batch, rows)

    def _answer(self, batch: list[Written], rows: list[Any]) -> None:
        moved = []
        for (job, change, result), (outcome, seq, seal) in zip(batch, rows, strict=True):
            if outcome == "written":
                if change.events:
                    self._ends.note(job.session_id, change.new_end)
                job.settle(result)
            elif outcome == "moved" and job.moves < _MOVES:
                self._ends.note(job.session_id, EMPTY if seq is None else (seq, seal))
                job.moves += 1
                moved.append(job)
            else:
                self._go_apart(job, partial(self._pool.change, job.step))
        self._jobs.extendleft(reversed(moved))

    def _recover(self, batch: list[Written], *, lost: bool) -> None:
        """The answer was lost, or PostgreSQL has refused all of it: then nothing was written."""
        if lost:
            give_up(self._connection)
            self._connection = None
        for job, change, result in batch:
            found_out = partial(self._found_out, job, change, result)
            self._go_apart(job, found_out if lost else partial(self._pool.change, job.step))

    def _complain(self, error: Exception) -> None:
        """Aloud, because each change is a transaction then; and seldom, because it goes on."""
        now = asyncio.get_running_loop().time()
        if now - self._complained_at >= _QUIET:
            self._complained_at = now
            _log.error(
                "a transaction was refused; its changes are written one by one, slowly: %s",
                type(error).__name__,
            )

    async def _found_out(self, job: Job, change: Change, result: Any) -> Any:
        """Its result once it is written, as it may have been before.

        Raises OutcomeUnknown where the database does not say. The turn is given up then, as by a
        process that died: who heals it reads the log.
        """
        try:
            is_there = await self._is_there(change)
        except Exception as error:
            _log.error("nobody can tell what was written: %s", type(error).__name__)
            self._pool.given_up |= {change.lease} - {""}
            raise OutcomeUnknown from error
        return result if is_there else await self._pool.change(job.step)

    async def _is_there(self, change: Change) -> bool:
        """Whether it is written. It is looked for, and where it is missing it is carried out."""

        async def attempt() -> Any:
            async with self._pool.connection() as connection:
                return await connection.fetchrow(SQL["write_turn"], *change.values(again=True))

        try:
            outcome = await patiently(attempt)
        except NotStored:
            raise
        except asyncpg.IntegrityConstraintViolationError:
            return False  # it was not there, and could not be carried out
        except Exception:  # perhaps before it was looked for
            return await self._pool.change(change.is_there)
        return bool(outcome[0] == "written")

    def _go_apart(self, job: Job, work: Callable[[], Awaitable[Any]]) -> None:
        """Later changes of the session wait for it."""
        self._apart[job.session_id] = asyncio.create_task(self._settle(job, work))

    async def _settle(self, job: Job, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            result = await work()
        except Exception as error:
            job.settle(None, error)
        else:
            job.settle(result)
        finally:
            del self._apart[job.session_id]
            self._wake()

    async def _connected(self) -> Any:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._pool.connect(**_SETTINGS)
        return self._connection
