"""SQLite: the database itself refuses, groups of writes, several processes."""

import asyncio
import os
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from turnlog.errors import NotFound
from turnlog.projections.proof import prove
from turnlog.stores.sql.store import SqlStore
from turnlog.stores.sql.tables.log import FEW, SMALL
from turnlog.stores.sqlite.files import connect
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

REST = (
    "turn_id, event_id, type, version, at, agent_id, agent_name, event_index, is_internal, body,"
    " seal, salt, digest"
)


@pytest.fixture
async def store(migrated):
    store = SqliteStore(migrated)
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


def open_files():
    fds = Path("/proc/self/fd").iterdir()
    return {os.readlink(fd) for fd in fds if os.path.lexists(fd)}


def test_a_file_that_cannot_be_used_is_closed_again(tmp_path):
    path = tmp_path / "turnlog.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError) as held:  # and with it whatever its frames hold
        connect(path)
    assert str(path) not in open_files(), held


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


@pytest.mark.parametrize(("said", "at_once"), [(None, True), (FEW - 1, True), (FEW, False)])
async def test_the_newest_turn_is_found_without_a_thread_where_it_is_near(store, said, at_once):
    if said is None:
        await store.create_session(s.new_session())
    else:
        await s.keep(store, [s.asked("Go."), *(s.said(LITTLE) for _ in range(said))])
    found = await SqlStore.newest_turn(store, "alice", "s")
    assert (found is None) is (said is None)
    looks = []

    async def look(read):
        looks.append(read)
        return await SqliteStore._look(store, read)

    store._look = look
    assert await store.newest_turn("alice", "s") == found
    assert (looks == []) is at_once
    with pytest.raises(NotFound):
        await store.newest_turn("bob", "s")


async def test_a_closed_store_answers_nobody_and_leaves_no_file_open(tmp_path):
    store = SqliteStore(tmp_path)
    await store.open()
    await s.keep(store, [s.asked("Go.")])
    await store.close()
    reads = [
        lambda: store.has_message("x"),
        lambda: store.read("alice", "s"),
        lambda: store.get_session("alice", "s"),
        lambda: store.list_sessions("alice", limit=1),
    ]
    for read in reads:
        with pytest.raises(RuntimeError, match="closed|shutdown"):
            await read()
    assert not [path for path in open_files() if path.startswith(str(tmp_path))]


async def test_what_a_turn_asks_for_is_found_by_an_index(talk, tmp_path):
    """However many turns and events there are: the statements as they ran, with all values."""
    ran = []
    await talk._change(lambda db: db.set_trace_callback(ran.append))
    turn = await talk.begin_turn(s.new_turn("t2", request_id="r"), s.placed(s.asked()))
    await talk.append(turn, s.placed(s.said("Yes.")), s.completed())
    await talk.newest_turn("alice", "s")
    words = ("SELECT", "INSERT", "UPDATE", "DELETE")
    with raw(tmp_path) as db:
        asked = [f"EXPLAIN QUERY PLAN {sql}" for sql in ran if sql.startswith(words)]
        steps = [row[3] for sql in asked for row in db.execute(sql)]
    found = [step for step in steps if " turns " in step or " begun " in step]
    assert found and not [step for step in steps if step.startswith("SCAN")]
    assert not [step for step in found if "PRIMARY KEY (session_id=?)" in step]


async def test_approvals_of_calls_are_found_by_their_index(talk, tmp_path):
    """However many the user has had."""
    ran = []
    await talk._look(lambda db: db.set_trace_callback(ran.append))
    assert await talk.approvals_of_calls("alice", [f"c{number}" for number in range(150)]) == []
    with raw(tmp_path) as db:
        asked = [f"EXPLAIN QUERY PLAN {sql}" for sql in ran if sql.startswith("SELECT")]
        steps = [row[3] for sql in asked for row in db.execute(sql)]
    assert steps
    assert all("approvals_of_calls (user_id=? AND tool_use_id=?)" in step for step in steps)
