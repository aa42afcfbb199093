"""PostgreSQL: what only it has. The rest is in the contracts, in tests/test_stores.py."""

import asyncio
import re

import asyncpg
import pytest
from stores.evidence import stored

from turnlog.cli import main
from turnlog.errors import NotFound, NotStored, OutcomeUnknown, StoreUnusable, TurnOver
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool
from turnlog.stores.postgres.migrations import go_back, migrate, migrations
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sql.tables import log
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import EVERY_PROJECTION, said
from turnlog.testing.servers.postgres import Postgres

pytestmark = pytest.mark.slow


async def begun(store, session_id="s"):
    await store.create_session(s.new_session(session_id, "alice"))
    return await store.begin_turn(
        s.new_turn(f"t-{session_id}", session_id, "alice"), s.placed(s.asked())
    )


# the schema


async def test_every_migration_has_a_way_back_and_forth_again(db):
    everything = await _schema(db)
    numbers = [change.number for change in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert await go_back(db, 0) == numbers[::-1]
    assert await _schema(db) == ["schema_changes"]
    assert await migrate(db) == numbers
    assert await migrate(db) == []
    assert await _schema(db) == everything


async def test_nodes_that_start_at_once_migrate_once(db, database):
    await go_back(db, 0)
    stores = [PostgresStore(database) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    for store in stores:
        await store.close()
    applied = await db.fetch("SELECT number FROM schema_changes")
    assert [row[0] for row in applied] == [change.number for change in migrations()]


async def test_a_newer_schema_is_refused_unless_it_says_that_older_nodes_go_on(db, database):
    newest = migrations()[-1].number
    await db.execute("INSERT INTO schema_changes VALUES ($1, $2)", newest + 1, newest)
    try:
        async with open_store(database) as store:
            assert await store.session_ids() == []
        await db.execute("UPDATE schema_changes SET needs = number")
        with pytest.raises(StoreUnusable, match="a newer version has written it"):
            await PostgresStore(database).open()
    finally:
        await db.execute("DELETE FROM schema_changes WHERE number > $1", newest)


async def test_what_is_not_there_is_not_looked_at(db, database):
    await go_back(db, 0)
    with pytest.raises(NotFound, match="There is no turnlog database"):
        async with open_store(database, read_only=True):
            pass
    await migrate(db)


async def test_a_database_that_cannot_be_reached_is_named_without_its_password():
    with pytest.raises(StoreUnusable, match="postgresql://127.0.0.1:1/x") as refused:
        await PostgresStore("postgresql://me:secret@127.0.0.1:1/x").open()
    assert "secret" not in str(refused.value)


# Tasks, live events and the library make their tables themselves.
MADE_ELSEWHERE = ".*(task|document|passages|shelves)|live"


async def _schema(db):
    rows = await db.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        " AND relkind IN ('r', 'p', 'i', 'I')"
        " UNION SELECT proname || pg_get_function_identity_arguments(oid) FROM pg_proc"
        " WHERE pronamespace = current_schema()::regnamespace"
    )
    names = {row[0] for row in rows} - {"schema_changes_pkey"}
    return sorted(name for name in names if not re.match(MADE_ELSEWHERE, name))


# the log


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET body = ''",
        "DELETE FROM events",
        "TRUNCATE events",
        "UPDATE events_0 SET body = ''; UPDATE events_1 SET body = ''; UPDATE events_2 SET body ="
        " ''; UPDATE events_3 SET body = ''; UPDATE events_4 SET body = ''; UPDATE events_5 SET"
        " body = ''; UPDATE events_6 SET body = ''; UPDATE events_7 SET body = ''",
    ],
    ids=["update", "delete", "truncate", "update a part"],
)
async def test_the_log_takes_no_change(store, db, sql):
    await begun(store)
    with pytest.raises(asyncpg.RaiseError, match="append-only"):
        await db.execute(sql)


async def test_the_log_takes_no_gap(store, db):
    await begun(store)
    copy = (
        "INSERT INTO events SELECT session_id, {}, turn_id, event_id, type, version, at, agent_id,"
        " agent_name, event_index, is_internal, body, salt, digest, seal FROM events"
    )
    with pytest.raises(asyncpg.RaiseError, match="gap-free"):
        await db.execute(copy.format(2))
    with pytest.raises(asyncpg.UniqueViolationError):
        await db.execute(copy.format(0))


async def test_many_nodes_append_to_one_session_without_a_gap(store, database):
    """Remarks need no lease, so they come from everywhere at once."""
    turn = await begun(store)
    stores = [PostgresStore(database) for _ in range(3)]
    for other in stores:
        await other.open()
    await asyncio.gather(*(other.annotate(turn, said(2)) for other in stores * 10))
    for other in stores:
        await other.close()
    evidence = await store.evidence("s")
    assert [row.seq for row in evidence.log] == list(range(61))
    assert prove(evidence).gaps == [] and prove(evidence).duplicates == []


async def test_an_abandoned_turn_is_claimed_by_one(store, database):
    heirs = [PostgresStore(database) for _ in range(4)]
    for heir in heirs:
        await heir.open()
    for n in range(5):
        await begun(store, f"s{n}")
    await store._nodes.fall_silent()
    await store._writers.fetch("leave_node", {"id": store._nodes.me})
    claimed = await asyncio.gather(*(heir.claim_abandoned() for heir in heirs))
    ids = [turn.session_id for turns in claimed for turn in turns]
    for heir in heirs:
        await heir.close()
    assert sorted(ids) == [f"s{n}" for n in range(5)]


# a database that goes away


@pytest.fixture
def mortal():
    """A server that a test may kill."""
    server = Postgres()
    server.start()
    yield server
    server.close()


async def test_a_change_outlives_a_database_that_is_killed_and_comes_back(mortal, monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 600.0)  # however long it takes to start
    async with open_store(mortal.url) as store:
        turn = await begun(store)
        mortal.server.kill()
        appending = asyncio.ensure_future(store.append(turn, said(1)))
        await asyncio.to_thread(mortal.start)
        assert await appending == 1
        assert prove(await store.evidence("s")).problems == []


async def test_a_commit_whose_answer_is_lost_is_not_done_twice(mortal, monkeypatch):
    """Once it had been carried out, once it had not: PostgreSQL itself knows."""
    async with open_store(mortal.url) as store:
        for name, before in (("a", False), ("b", True)):
            lost = _lose_one_commit(monkeypatch, before=before)
            await store.create_session(s.new_session(name))
            assert lost == []
        assert await store.session_ids() == ["a", "b"]


def _lose_one_commit(monkeypatch, *, before):
    """The network breaks when a commit is on its way there, or on its way back. A list of one,
    until that has happened."""
    left = [1]
    for name in ("execute", "fetchmany"):
        _lose_one(monkeypatch, name, left, before=before)
    return left


def _lose_one(monkeypatch, name, left, *, before):
    inner = getattr(asyncpg.Connection, name)

    async def breaking(self, query, *args, **options):
        lost = (query == "COMMIT" or name == "fetchmany") and left and left.pop()
        if not (lost and before):
            result = await inner(self, query, *args, **options)
        if lost:
            self.terminate()
            raise ConnectionResetError
        return result

    monkeypatch.setattr(pool._Connection, name, breaking)


@pytest.mark.parametrize("steps", ["in one statement", "in several"])
async def test_a_commit_of_which_nobody_learns_gives_its_turn_up(mortal, monkeypatch, steps):
    """The commit is carried out, its answer lost, and the database away for long."""
    async with open_store(mortal.url) as store:
        turn = await begun(store)
        _lose_one_commit(monkeypatch, before=False)
        with monkeypatch.context() as away:
            away.setattr(pool, "PATIENCE", 0.0)
            away.setattr(pool.Pool, "fetch", _gone)
            away.setattr(pool._Connection, "fetchrow", _gone)
            with pytest.raises(OutcomeUnknown, match="nobody can tell"):
                if steps == "in one statement":
                    await store.append(turn, said(1))
                else:
                    await store.change(lambda db: log.append(db, turn, said(1), Seals()))
        with pytest.raises(TurnOver):
            await store.append(turn, said(1))
        (taken,) = await store.claim_abandoned()
        assert await store.append(taken, said(2)) == 2
        assert prove(await store.evidence("s")).problems == []


async def _gone(*args):
    raise ConnectionResetError


async def test_a_database_that_does_not_come_back_is_told_in_a_sentence(mortal, monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    async with open_store(mortal.url) as store:
        turn = await begun(store)
        mortal.server.kill()
        with pytest.raises(NotStored, match="Try again later"):
            await store.create_session(s.new_session("s2"))
        with pytest.raises(NotStored, match="Try again later|nobody can tell"):
            await store.append(turn, said(1))


# commands


def test_every_command_works_on_it(database, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TURNLOG_DATABASE_URL", database)
    monkeypatch.setenv("TURNLOG_DATA", str(tmp_path))

    async def fill():
        async with open_store(database) as store:
            turn = await begun(store)
            await store.append(turn, s.placed(s.said("Hello.")))
            await store.finish_turn(turn)

    asyncio.run(fill())
    commands = [
        ["verify"],
        ["verify", "s"],
        ["replay", "s"],
        ["export", "s"],
        ["bill"],
        ["heads"],
        ["migrate"],
    ]
    for command in commands:
        assert main(command) == 0, capsys.readouterr().err
    assert "1 session, 2 events: ok" in capsys.readouterr().out


def test_an_installation_moves_from_sqlite_and_back(database, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_SEAL_KEY", key := "a key of at least 32 characters, say")
    read = AuditRead(at=s.AT, auditor="eve", session_id="s1", what="events")
    first, second = f"sqlite:{tmp_path / 'a'}", f"sqlite:{tmp_path / 'b'}"

    async def fill():
        async with open_store(first) as store:
            store.seals = Seals(key)
            await store.audit.add(read)
            for name in ("s1", "s2"):
                turn = await begun(store, name)
                events = EVERY_PROJECTION if name == "s1" else [s.said("Hello.")]
                await store.append(turn, s.placed(*events))

    async def evidence(url):
        async with open_store(url, read_only=True) as store:
            assert await store.audit.reads() == [read]
            return [await stored(store, name) for name in ("s1", "s2")]

    asyncio.run(fill())
    assert main(["copy", first, database]) == 0
    assert main(["copy", database, second]) == 0
    assert "2 sessions, 10 events, 0 files: the copy is proven." in capsys.readouterr().out
    assert asyncio.run(evidence(first)) == asyncio.run(evidence(second))
    assert main(["verify", "--data", str(tmp_path / "b")]) == 0
    assert main(["copy", first, database]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_a_dump_is_restored_and_proven(mortal, tmp_path, monkeypatch, capsys):
    """The drill: dump, restore elsewhere, verify."""

    async def fill():
        async with open_store(mortal.url) as store:
            turn = await begun(store)
            await store.append(turn, said(3))
            await store.finish_turn(turn)

    asyncio.run(fill())
    dump = str(mortal.folder / "dump")
    mortal.run("pg_dump", "--format=custom", f"--file={dump}", f"--dbname={mortal.url}")
    mortal.run("createdb", f"--maintenance-db={mortal.url}", "restored")
    restored = mortal.url.removesuffix("postgres") + "restored"
    mortal.run("pg_restore", "--exit-on-error", f"--dbname={restored}", dump)
    monkeypatch.setenv("TURNLOG_DATABASE_URL", restored)
    monkeypatch.setenv("TURNLOG_DATA", str(tmp_path))
    assert main(["verify"]) == 0
    assert "1 session, 4 events: ok" in capsys.readouterr().out
