"""SQLite: the database itself refuses, groups of writes, several processes."""

import asyncio
import os
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from turnlog.errors import NotFound, NotStored
from turnlog.projections.proof import prove
from turnlog.stores.sql.log import FEW, SMALL
from turnlog.stores.sql.store import SqlStore
from turnlog.stores.sqlite.files import connect
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.sqlite.writer import Writer
from turnlog.testing import samples as s

REST = (
    "turn_id, event_id, type, version, at, agent_id, agent_name, event_index, is_internal, body,"
    " seal, salt, digest"
)


@pytest.fixture
async def store(tmp_path):
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def talk(store):
    await s.keep(store, [s.asked("Hello."), s.said("Hi."), s.said("Hi again.")])
    return store


def raw(folder):
    """A connection as anybody with the file could open it."""
    return closing(sqlite3.connect(folder / "turnlog.db", isolation_level=None, timeout=0))


def copy(seq, of=1, verb="INSERT", more=""):
    row = f"SELECT session_id, {seq}, {REST}{more} FROM events WHERE seq = {of}"
    return f"{verb} INTO events (session_id, seq, {REST}{more}) {row}"


REFUSED = {
    "UPDATE events SET body = X'00'": "no UPDATE",
    "UPDATE events SET seq = seq + 1": "no UPDATE",
    "UPDATE OR REPLACE events SET seq = 0 WHERE seq = 1": "no UPDATE",
    "UPDATE OR IGNORE events SET at = 'x'": "no UPDATE",
    "DELETE FROM events": "no DELETE",
    "DELETE FROM events WHERE seq = 2": "no DELETE",
    copy(4): "not the next number",
    copy(-1): "not the next number",
    copy(1): "not the next number",
    copy(1, of=2, verb="INSERT OR REPLACE"): "not the next number",
    copy(1, of=2, verb="REPLACE"): "not the next number",
    copy(1, of=2, verb="INSERT OR IGNORE"): "not the next number",
    copy(3, more=", message_id"): "the message id is taken",
    copy(3, verb="INSERT OR REPLACE", more=", message_id"): "the message id is taken",
    copy(1, of=2) + " ON CONFLICT DO UPDATE SET body = X'00'": "not the next number",
}


@pytest.mark.parametrize(("statement", "why"), REFUSED.items(), ids=map(str, range(len(REFUSED))))
async def test_the_database_itself_refuses(talk, tmp_path, statement, why):
    before = await talk.evidence("s")
    with raw(tmp_path) as db, pytest.raises(sqlite3.IntegrityError, match=why):
        db.execute(statement)
    assert await talk.evidence("s") == before


async def test_only_one_turn_of_a_session_can_run_whoever_writes_it(talk, tmp_path):
    with raw(tmp_path) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(turns)")]
        given = {"id": "?", "state": "'running'"}
        columns = ", ".join(given.get(name, name) for name in names)
        turn = f"INSERT INTO turns SELECT {columns} FROM turns"
        db.execute(turn, ["t1"])
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            db.execute(turn + " LIMIT 1", ["t2"])


async def test_every_commit_is_on_disk_before_it_is_answered(store):
    with closing(store._connect()) as db:
        assert tuple(db.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
        assert tuple(db.execute("PRAGMA synchronous").fetchone()) == (2,)  # FULL


# the writer


@pytest.fixture
def place(tmp_path):
    """A database with one table, and how to connect to it."""

    def connect():
        return sqlite3.connect(tmp_path / "db", isolation_level=None, check_same_thread=False)

    with closing(connect()) as db:
        db.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
    return connect


@pytest.fixture
def writer(place):
    writer = Writer(place())
    yield writer
    writer.close()


def write(n):
    return lambda db: db.execute("INSERT INTO numbers VALUES (?)", [n]).lastrowid


def written(place):
    with closing(place()) as db:
        return [n for (n,) in db.execute("SELECT n FROM numbers ORDER BY n")]


async def grouped(writer, *jobs):
    """Give the jobs while the writer is held up, so that they are one group."""
    entered, gate = threading.Event(), threading.Event()
    holding = asyncio.create_task(writer.run(lambda db: (entered.set(), gate.wait())))
    await asyncio.to_thread(entered.wait)
    waiting = asyncio.gather(*map(writer.run, jobs), return_exceptions=True)
    await asyncio.sleep(0)  # all jobs are given now
    gate.set()
    await holding
    return await waiting


async def test_jobs_that_wait_share_one_commit(writer, place):
    commits = []
    await writer.run(lambda db: db.set_trace_callback(commits.append))
    commits.clear()
    assert await grouped(writer, *map(write, range(10))) == [*range(10)]
    assert commits.count("COMMIT") == 2  # the one that held them up, and theirs
    assert written(place) == [*range(10)]


async def test_a_job_that_fails_harms_none_of_its_neighbors(writer, place):
    def fails(db):
        write(7)(db)
        raise RuntimeError("no")

    one, error, taken, two = await grouped(writer, write(1), fails, write(1), write(2))
    assert (one, two) == (1, 2)
    assert str(error) == "no"
    assert isinstance(taken, sqlite3.IntegrityError)
    assert written(place) == [1, 2]


async def test_a_commit_that_fails_is_told_to_all_and_keeps_nothing(writer, place):
    def ends_the_transaction(db):
        db.execute("ROLLBACK")

    outcomes = await grouped(writer, write(1), ends_the_transaction, write(2))
    assert [type(outcome) for outcome in outcomes] == [sqlite3.OperationalError] * 3
    assert written(place) == []


async def test_a_writer_goes_on_after_a_commit_that_failed(writer, place):
    with pytest.raises(sqlite3.OperationalError):
        await writer.run(lambda db: db.execute("COMMIT"))
    assert await writer.run(write(3)) == 3
    assert written(place) == [3]


async def test_a_database_that_is_locked_is_told_and_later_written_to(writer, place):
    await writer.run(lambda db: db.execute("PRAGMA busy_timeout = 0"))
    with closing(place()) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotStored):
            await writer.run(write(1))
        other.execute("ROLLBACK")
    assert await writer.run(write(2)) == 2
    assert written(place) == [2]


async def test_a_database_that_cannot_be_written_is_told_to_all(writer, place):
    await writer.run(lambda db: db.execute("PRAGMA query_only = ON"))
    jobs = asyncio.gather(*map(writer.run, [write(1), write(2)]), return_exceptions=True)
    assert {type(outcome) for outcome in await jobs} == {NotStored}
    assert written(place) == []


async def test_a_full_disk_is_no_bug_and_the_operator_reads_why(writer, place, caplog):
    def fill(db):
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")

    await writer.run(fill)
    with pytest.raises(NotStored, match="Try again later"):
        await writer.run(lambda db: db.execute("CREATE TABLE more AS SELECT zeroblob(100000) AS z"))
    assert "SQLITE_FULL" in caplog.text


async def test_who_is_cancelled_stops_waiting_and_the_job_is_done(writer, place):
    gate = threading.Event()
    holding = asyncio.create_task(writer.run(lambda db: gate.wait()))
    waiting = asyncio.create_task(writer.run(write(1)))
    await asyncio.sleep(0)  # both are given now
    waiting.cancel()
    gate.set()
    await holding
    await writer.run(write(2))
    assert waiting.cancelled()
    assert written(place) == [1, 2]


async def test_what_was_given_is_written_before_the_writer_closes(place):
    writer = Writer(place())
    waiting = asyncio.gather(*(writer.run(write(n)) for n in range(20)))
    await asyncio.sleep(0)  # all jobs are given now
    await asyncio.to_thread(writer.close)
    assert await waiting == [*range(20)]


# several processes

OTHER = """
import asyncio, sys
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

async def main(folder):
    store = SqliteStore(folder)
    await store.open()
    await store.create_session(s.new_session("there"))
    turn = await store.begin_turn(s.new_turn("t2", "there"), s.placed(s.asked()))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for _ in range(30):
        await store.append(turn, s.placed(s.said("There."), s.said("And there.")))
    await store.close()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
async def test_two_processes_write_to_one_place_without_a_gap(store, tmp_path):
    await store.create_session(s.new_session("here"))
    turn = await store.begin_turn(s.new_turn("t1", "here"), s.placed(s.asked()))
    pipe = asyncio.subprocess.PIPE
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OTHER, str(tmp_path), stdin=pipe, stdout=pipe
    )
    assert await other.stdout.readline() == b"ready\n"
    other.stdin.write(b"go\n")
    for _ in range(30):
        await store.append(turn, s.placed(s.said("Here."), s.said("And here.")))
    assert await other.wait() == 0
    proofs = [prove(await store.evidence(name)) for name in ("here", "there")]
    assert [(proof.count, proof.problems) for proof in proofs] == [(61, []), (61, [])]


async def test_evidence_is_of_one_moment(store, tmp_path):
    def write_meanwhile(statement):
        if "FROM approvals" in statement:
            with raw(tmp_path) as db:
                names = [row[1] for row in db.execute("PRAGMA table_info(approvals)")]
                row = ", ".join("'s'" if name == "session_id" else "''" for name in names)
                db.execute(f"INSERT OR IGNORE INTO approvals VALUES ({row})")

    await store.create_session(s.new_session())
    connect = store._readers._connect

    def watched():
        db = connect()
        db.set_trace_callback(write_meanwhile)
        return db

    store._readers._connect = watched  # the moment between two reads cannot be hit from outside
    assert (await store.evidence("s")).tables["approvals"] == []
    assert len((await store.evidence("s")).tables["approvals"]) == 1


async def test_a_store_that_is_closed_leaves_no_sign_of_life(tmp_path):
    store = SqliteStore(tmp_path)
    await store.open()
    assert len(list((tmp_path / "owners").iterdir())) == 1
    await store.close()
    assert list((tmp_path / "owners").iterdir()) == []


def test_a_file_that_cannot_be_used_is_closed_again(tmp_path):
    path = tmp_path / "turnlog.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError) as held:  # and with it whatever its frames hold
        connect(path)
    fds = Path("/proc/self/fd").iterdir()
    assert str(path) not in {os.readlink(fd) for fd in fds if os.path.lexists(fd)}, held


LITTLE = "hm. " * 10


@pytest.mark.parametrize(
    ("texts", "at_once"),
    [
        ([LITTLE], True),
        ([LITTLE] * (FEW - 1), True),
        ([LITTLE] * FEW, False),
        (["x" * SMALL], False),
    ],
    ids=["one", "a few", "many", "large"],
)
async def test_what_is_little_is_read_without_a_thread_and_is_the_same(store, texts, at_once):
    await s.keep(store, [s.asked("Go."), *(s.said(text) for text in texts)])
    threads = []

    async def look(read):
        threads.append(threading.get_ident())
        return await SqliteStore._look(store, read)

    store._look = look
    whole = await store.read("alice", "s")
    assert len(whole) == len(texts) + 1 and (threads == []) is at_once
    for after, limit in (-1, None), (0, None), (0, 1), (len(texts) - 1, None), (-1, FEW + 5):
        page = await store.read("alice", "s", after=after, limit=limit)
        assert page == await SqlStore.read(store, "alice", "s", after=after, limit=limit)
    with pytest.raises(NotFound):
        await store.read("bob", "s")
