"""One thread that writes. All jobs waiting at one time share one transaction and one fsync.

Each job is a function of the connection. A job that raises is rolled back alone; the others
of its group are kept. For that, a group in which one fails halfway is carried out again: a job
changes rows of the database, and nothing else. A caller is answered only after the commit is on
disk. Whatever a job raises, SystemExit too, is its caller's: the thread goes on. Between two
groups others may look at what is there on the same connection.
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
Look = Callable[[SqliteConnection], T]
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
        self._door = threading.Lock()  # nobody comes in behind the last one
        self._db = db
        self._using = threading.Lock()  # the connection: for a whole transaction, or for a look
        self._thread = threading.Thread(target=self._run, name="turnlog-writer")
        self._thread.daemon = True
        self._thread.start()

    def run(self, work: Callable[[SqliteConnection], T]) -> "asyncio.Future[T]":
        """The job's result, once it is on disk.

        A caller that is cancelled stops waiting; the job it gave is carried out all the same.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        with self._door:
            if self._closed:
                raise RuntimeError("the store is closed")
            self._jobs.put(_Job(work, answer, loop))
        return answer

    def look(self, read: Look[T], otherwise: Callable[[Look[T]], T]) -> T:
        """Read here and now what is on disk; `otherwise` while something is written.

        This connection has in memory what it wrote. Any other has to read it from the file again.
        """
        if not self._using.acquire(blocking=False):
            return otherwise(read)
        try:
            failed = self._db.in_transaction  # it could not even be rolled back
            return otherwise(read) if failed else read(self._db)
        finally:
            self._using.release()

    def close(self) -> None:
        """Finish what was given, then end the thread."""
        with self._door:
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._next_group()
            if group:
                self._metrics.store_jobs.observe(len(group))
                with self._using:
                    outcomes = _carry_out(self._db, group, self._metrics.store_commits)
                _deliver(outcomes)
        self._using.acquire()  # nobody looks here any more
        self._db.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        """Those that wait; the second is false once there will be no more."""
        job = self._jobs.get()
        if job is None:
            return [], False
        group = [job]
        while not self._jobs.empty() and len(group) < _MOST_AT_ONCE:
            job = self._jobs.get()
            if job is None:
                return group, False
            group.append(job)
        return group, True


_Outcome = tuple[_Job, Any, BaseException | None]  # the job's result, or why it has none


def _carry_out(db: SqliteConnection, group: list[_Job], commits: Counter) -> list[_Outcome]:
    try:
        outcomes = _together(db, group)
        if outcomes is None:
            outcomes = _each_apart(db, group)
        db.execute(SQL["commit"])
    except BaseException as error:  # the disk is full, locked or broken: nobody's write is kept
        with contextlib.suppress(sqlite3.Error):
            db.execute(SQL["roll_back"])
        commits.add(1, "failed")
        told = _explained(error)
        return [(job, None, told) for job in group]
    commits.add(1, "success")
    return outcomes


def _together(db: SqliteConnection, group: list[_Job]) -> list[_Outcome] | None:
    """Without a way back for each job: for that, SQLite copies every page that a job changes.

    None: one has failed after it had written, so nothing of the group is kept.
    """
    db.execute(SQL["begin_writing"])
    outcomes: list[_Outcome] = []
    for job in group:
        changes_before = db.total_changes  # of rows
        try:
            outcomes.append((job, job.work(db), None))
        except BaseException as error:
            if not db.in_transaction:  # SQLite has given up all of it
                raise
            if db.total_changes != changes_before:
                db.execute(SQL["roll_back"])
                return None
            outcomes.append((job, None, _explained(error)))
        if not db.in_transaction:  # the job has ended it: the commit will say so
            break
    return outcomes


def _each_apart(db: SqliteConnection, group: list[_Job]) -> list[_Outcome]:
    """The same again, but of a job that fails nothing is kept, and of the others everything."""
    db.execute(SQL["begin_writing"])
    return [_one(db, job) for job in group]


def _one(db: SqliteConnection, job: _Job) -> _Outcome:
    db.execute(SQL["begin_job"])
    try:
        result = job.work(db)
    except BaseException as error:
        db.execute(SQL["roll_back_job"])
        db.execute(SQL["end_job"])
        return job, None, _explained(error)
    db.execute(SQL["end_job"])
    return job, result, None


def _explained(error: BaseException) -> BaseException:
    """A full disk is no bug: who asks is told to try again, and the operator why."""
    if isinstance(error, StopIteration):  # which no future takes
        told: Exception = RuntimeError("a job read beyond the end")
        told.__cause__ = error
        return told
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
        by_loop[outcome[0].loop].append(outcome)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer, theirs)
        except RuntimeError:  # that loop was closed: nobody waits
            continue


def _answer(outcomes: list[_Outcome]) -> None:
    for job, result, error in outcomes:
        if job.answer.done():
            continue
        if error is not None:
            job.answer.set_exception(error)
        else:
            job.answer.set_result(result)
