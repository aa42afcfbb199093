"""The schema: brought up to date once, from every older one, and never from a newer one."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.cli import main
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.errors import StoreUnusable
from turnlog.events.rows.record import Record, stamped
from turnlog.projections.proof import prove
from turnlog.stores.sqlite.migrations import migrate, migrations
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s

NEWEST = migrations()[-1][0]


def test_migrations_apply_once():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        assert migrate(db) == [number for number, _ in migrations()]
        assert migrate(db) == []


def test_migrations_are_numbered_without_a_gap():
    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_many_who_open_a_new_place_at_once_all_find_it_ready(tmp_path):
    start = threading.Barrier(8)

    async def open_and_close():
        store = SqliteStore(tmp_path)
        start.wait()
        await store.open()
        await store.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: asyncio.run(open_and_close()), range(8)))


def test_turns_of_an_older_database_are_still_there():
    values = ("t", "1", "2", "running", 0, "now", "r", b"draft", "me")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        for number, sql in migrations()[:2]:
            db.executescript(f"{sql};PRAGMA user_version={number};")
        db.execute("INSERT INTO sessions VALUES (1, 2, 3, 4, 5, 6, 0, 0, 0)")
        db.execute(f"INSERT INTO turns VALUES ({', '.join('?' * len(values))})", values)
        migrate(db)
        assert db.execute("SELECT * FROM turns").fetchall() == [(*values[:7], "me", "")]
        assert db.execute("SELECT * FROM drafts").fetchall() == [("t", 0, b"draft")]
        db.execute("UPDATE turns SET state = 'waiting'")
        assert db.execute("SELECT * FROM drafts").fetchall() == []


# a database of schema 6, as that version made it: see the file


@pytest.fixture
def old(tmp_path):
    """A folder with such a database."""
    with raw(tmp_path) as db:
        db.executescript(Path(__file__).with_name("schema_6.sql").read_text())
    return tmp_path


def raw(folder):
    """A connection as anybody with the file could open it."""
    return closing(sqlite3.connect(folder / "turnlog.db", isolation_level=None))


async def proofs(folder, **how):
    async with open_store(f"sqlite:{folder}", **how) as store:
        return {id: prove(await store.evidence(id)) for id in await store.session_ids()}


@pytest.mark.parametrize("how", [{}, {"read_only": True}], ids=["to write", "to look"])
async def test_every_session_of_an_old_database_proves_whole(old, how):
    found = await proofs(old, **how)
    assert {id: proof.problems for id, proof in found.items()} == {
        "whole": [],
        "waits": [],
        "died": [],
    }
    assert sum(proof.count for proof in found.values()) == 16


async def test_an_old_chain_goes_on_with_seals_of_today(old):
    async with open_store(f"sqlite:{old}") as store:
        turn = await store.begin_turn(s.new_turn("t-new", "whole"), s.placed(s.asked("Again.")))
        await store.append(turn, s.placed(s.said("Yes."), first_index=1))
        await store.finish_turn(turn)
        evidence = await store.evidence("whole")
    assert [row.digest is not None for row in evidence.log] == [False] * 11 + [True] * 2
    assert prove(evidence).problems == []


@pytest.mark.parametrize(
    "change",
    ["body = CAST(replace(body, 'Hi.', 'Ho.') AS BLOB)", "body = X''", "digest = zeroblob(32)"],
)
async def test_a_change_of_an_old_row_is_found(old, change):
    await proofs(old)
    with raw(old) as db:
        db.execute("DROP TRIGGER events_never_change")
        db.execute(f"UPDATE events SET {change} WHERE session_id = 'whole' AND seq = 1")
    problems = (await proofs(old))["whole"].problems
    assert "changed: number 1 is not what was written, or the row before it is not" in problems


async def test_turns_that_an_old_version_left_are_gone_on_with(old):
    """One that ran has no lease, so whoever claims it gets the first one."""
    async with open_store(f"sqlite:{old}") as store:
        (died,) = await store.claim_abandoned()
        waits = await store.claim_waiting("alice", "waits")
        assert (died.id, died.draft, waits.id) == ("t-died", b"half", "t-waits")
        await store.append(waits, s.placed(s.decision("pay?"), first_index=4))
        await store.append(died, s.placed(s.broke(), first_index=1))


async def test_an_app_starts_on_an_old_database(old):
    settings = Settings(data=str(old))
    async with (app := create_app([Agent("assistant")], settings=settings)):
        log = (await app.store.evidence("died")).log
        assert stamped(log[-1]).event.code == "interrupted"
        assert [task.title for task in await app.tasks.list_tasks("bob")] == ["Paint"]


# a database of schema 16, in which texts were written twice


def log_of(db):
    names = ", ".join(Record._fields)
    return db.execute(f"SELECT {names} FROM events ORDER BY session_id, seq").fetchall()


async def test_a_log_that_is_packed_tighter_is_the_same_to_the_last_bit(tmp_path):
    with raw(tmp_path) as db:
        db.executescript(Path(__file__).with_name("schema_16.sql").read_text())
        before = log_of(db)
        listed = "SELECT message_id, role, content, model, input_tokens, cost_picousd FROM messages"
        messages = sorted(db.execute(listed).fetchall())
        used = db.execute("SELECT message_id, cost_picousd FROM usage").fetchall()
    found = await proofs(tmp_path)
    assert {id: proof.problems for id, proof in found.items()} == {"s": [], "waits": [], "died": []}
    with raw(tmp_path) as db:
        assert log_of(db) == before
        assert sorted(db.execute(listed).fetchall()) == messages
        assert db.execute("SELECT message_id, cost_picousd FROM usage").fetchall() == used
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM drafts").fetchone() == (2,)


# the tasks that it kept in the store


async def tasks_of(folder, user):
    async with (tasks := SqliteTasks(folder)):
        return await tasks.list_tasks(user)


def old_tables(folder):
    with raw(folder) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'task%'")
        return [name for (name,) in names]


async def test_old_tasks_are_moved_with_their_numbers_and_keys(old):
    async with (tasks := SqliteTasks(old)):
        (milk,) = await tasks.list_tasks("alice")
        assert (milk.id, milk.title, milk.completed) == (1, "Milk", True)
        again = await tasks.add_task("alice", title="?", description="", at="", key="key-Milk")
        new = await tasks.add_task("alice", title="New", description="", at="")
        assert (again, new.id) == (milk, 3)
    assert old_tables(old) == []
    assert [task.title for task in await tasks_of(old, "alice")] == ["Milk", "New"]


async def test_tasks_that_were_copied_and_not_removed_are_not_copied_again(old):
    """As when the process died in between."""
    await tasks_of(old, "alice")
    async with (tasks := SqliteTasks(old)):
        await tasks.delete_task("alice", 1)
    with raw(old) as db:
        db.execute("CREATE TABLE tasks AS SELECT 'alice' AS user_id, 1 AS id")
        db.execute("CREATE TABLE task_numbers (user_id TEXT, last INTEGER)")
    assert await tasks_of(old, "alice") == []
    assert old_tables(old) == []


def test_a_new_database_has_no_tables_for_tasks(tmp_path):
    assert main(["migrate", "--data", str(tmp_path)]) == 0
    assert old_tables(tmp_path) == []


# a database from the future


def newer(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {NEWEST + 1}")


@pytest.mark.parametrize("how", [{}, {"read_only": True}], ids=["to write", "to look"])
async def test_a_newer_database_is_refused_in_a_sentence(tmp_path, how):
    await proofs(tmp_path)
    newer(tmp_path / "turnlog.db")
    before = (tmp_path / "turnlog.db").read_bytes()
    with pytest.raises(StoreUnusable, match=rf"schema {NEWEST + 1}.*knows {NEWEST}.*Install"):
        await proofs(tmp_path, **how)
    assert (tmp_path / "turnlog.db").read_bytes() == before


async def test_newer_tasks_are_refused_too(tmp_path):
    await tasks_of(tmp_path, "alice")
    newer(tmp_path / "tasks.db")
    with pytest.raises(StoreUnusable, match="newer version"):
        await tasks_of(tmp_path, "alice")


@pytest.mark.parametrize(
    ("command", "code"), [("serve", 2), ("verify", 1), ("bill", 1), ("migrate", 1)]
)
def test_a_command_on_a_newer_database_says_so(tmp_path, capsys, monkeypatch, command, code):
    monkeypatch.setenv("TURNLOG_DATA", "")  # what `serve` sets is taken back
    asyncio.run(proofs(tmp_path))
    newer(tmp_path / "turnlog.db")
    assert main([command, "--data", str(tmp_path)]) == code
    assert f"schema {NEWEST + 1}" in capsys.readouterr().err


async def test_a_server_that_was_refused_leaves_the_folder_to_others(tmp_path):
    store = SqliteStore(tmp_path)
    (tmp_path / "turnlog.db").write_text("no database")
    with pytest.raises(StoreUnusable):
        await store.open(server="http://here")
    (tmp_path / "turnlog.db").unlink()
    async with open_store(f"sqlite:{tmp_path}", server="http://there"):
        pass
