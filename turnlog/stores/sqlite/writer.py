"""One thread that writes. All jobs waiting at one time share one transaction and one fsync.

Each job is a function of the connection. A job that raises is rolled back alone; the others
of its group are kept. A caller is answered only after the commit is on disk.
"""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from turnlog.errors import NotStored
from turnlog.stores.sqlite.files import SqliteConnection
from turnlog.stores.sqlite.statements import SQL
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.registry import Counter

_log = logging.getLogger(__name__)
T = TypeVar("T")
# What SQLite says of the disk and of who else uses it, and not of what we asked.
_OUTSIDE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_CANTOPEN")
_MOST_AT_ONCE = 500  # jobs in one transaction, so that none waits long for the others


class _Job(NamedTuple):
    work: Callable[[SqliteConnection], Any]
    answer: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


class Writer:
    """Runs jobs on the one writing connection, in the order they were given."""

    def __init__(self, db: SqliteConnection, metrics: Metrics | None = None) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._metrics = metrics or Metrics()
        self._metrics.store_queue.ask(self._jobs.qsize)
        self._closed = False
        self._thread = threading.Thread(target=self._run, args=[db], name="turnlog-writer")
        self._thread.daemon = True
        self._thread.start()

    async def run(self, work: Callable[[SqliteConnection], T]) -> T:
        """The job's result, once it is on disk.

        A caller that is cancelled stops waiting; the job it gave is carried out all the same.
        """
        if self._closed:
            raise RuntimeError("the store is closed")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, answer, loop))
        return await answer

    def close(self) -> None:
        """Finish what was given, then end the thread."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _run(self, db: SqliteConnection) -> None:
        open_ = True
        while open_:
            group, open_ = self._next_group()
            if group:
                self._metrics.store_jobs.observe(len(group))
                _deliver(_carry_out(db, group, self._metrics.store_commits))
        db.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        job = self._jobs.get()
        group: list[_Job] = []
        while job is not None:
            group.append(job)
            if len(group) == _MOST_AT_ONCE or self._jobs.empty():
                return group, True
            job = self._jobs.get()
        return group, False


class _Outcome(NamedTuple):
    job: _Job
    result: Any
    error: BaseException | None


def _carry_out(db: SqliteConnection, group: list[_Job], commits: Counter) -> list[_Outcome]:
    try:
        db.execute(SQL["begin_writing"])
        outcomes = [_one(db, job) for job in group] if group[1:] else [_alone(db, *group)]
        db.execute(SQL["commit"])
    except Exception as error:  # the disk is full, locked or broken: nobody's write is kept
        with contextlib.suppress(sqlite3.Error):
            db.execute(SQL["roll_back"])
        commits.add(1, "failed")
        told = _explained(error)
        return [_Outcome(job, None, told) for job in group]
    commits.add(1, "success")
    return outcomes


def _one(db: SqliteConnection, job: _Job) -> _Outcome:
    db.execute(SQL["begin_job"])
    try:
        result = job.work(db)
    except Exception as error:
        db.execute(SQL["roll_back_job"])
        db.execute(SQL["end_job"])
        return _Outcome(job, None, _explained(error))
    db.execute(SQL["end_job"])
    return _Outcome(job, result, None)


def _alone(db: SqliteConnection, job: _Job) -> _Outcome:
    """A job that shares its transaction with none needs nothing of its own to be rolled back."""
    try:
        return _Outcome(job, job.work(db), None)
    except Exception as error:
        db.execute(SQL["roll_back"])
        db.execute(SQL["begin_writing"])  # the group goes on
        return _Outcome(job, None, _explained(error))


def _explained(error: Exception) -> Exception:
    """A full disk is no bug: who asks is told to try again, and the operator why."""
    name = getattr(error, "sqlite_errorname", "")
    if not name.startswith(_OUTSIDE):
        return error
    _log.error("the database cannot be written: %s", name)
    told = NotStored("The server cannot store anything at the moment. Try again later.")
    told.__cause__ = error
    return told


def _deliver(outcomes: list[_Outcome]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_loop[outcome.job.loop].append(outcome)
    for loop, theirs in by_loop.items():
        with contextlib.suppress(RuntimeError):  # that loop was closed: nobody waits
            loop.call_soon_threadsafe(_answer, theirs)


def _answer(outcomes: list[_Outcome]) -> None:
    for job, result, error in outcomes:
        if job.answer.done():
            continue
        if error is not None:
            job.answer.set_exception(error)
        else:
            job.answer.set_result(result)
