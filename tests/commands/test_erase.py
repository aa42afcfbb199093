"""`turnlog erase`: no word is left anywhere on the disk, and what is left is proven as before."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.cli import main
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.errors import NotStored
from turnlog.events.rows.erasure import ERASED_TEXT
from turnlog.ports import Decision
from turnlog.simulator import Cut, Reply, SimulatedClaude, ToolCall
from turnlog.stores.files.folder import FolderBlobs
from turnlog.stores.urls import open_store
from turnlog.testing import made_files as made
from turnlog.testing import samples as s

WORD = "Rumpelstiltskin"
OLD = Path(__file__).parent.parent / "schema_6.sql"  # its rows have no digest


@tool(approval="always")
async def pay(to: str) -> str:
    """Pay."""
    return f"paid to {to}"


async def talk(folder, user, word, store=None, **settings):
    """Everything that keeps a word: texts, a call with its consent, a question that waits, files,
    documents, tasks, raw answers. Returns the session."""
    asks = Reply(f"I pay {word}.", ToolCall("pay", {"to": word}))
    sim = SimulatedClaude(asks, Reply(f"Done, {word}."), asks, pace=0)
    (folder / f"{user}.pdf").write_bytes(made.pdf(word))
    async with sim.serve() as url:
        chosen = Settings(api_key="k", base_url=url, data=str(folder), keep_raw=True, **settings)
        app = create_app([Agent("a", tools=[pay])], settings=chosen, store=store)
        async with app:
            pdf = folder / f"{user}.pdf"
            turn = await app.run_turn(f"Pay {word}!", user_id=user, files=[pdf])
            await app.answer_approval(user, turn.waiting[0], Decision(approved=True, reason=word))
            await app._turns.all_at_rest()
            await app.run_turn(f"Again {word}", user_id=user, session_id=turn.session_id)
    (folder / f"{user}.pdf").unlink()
    return turn.session_id


async def keep_beside(folder, word):
    async with Library(folder) as library:
        page = [Page(f"{word} spins straw.")]
        await library.add("user:alice", word, page, source="text:", by="alice")
        await library.indexed()
    tasks = SqliteTasks(folder)
    async with tasks:
        await tasks.add_task("alice", title=word, description="", at=s.AT)


def files_with(folder, word):
    return [p.name for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


def run(folder, *command):
    return main([*command, f"--data={folder}"])


@pytest.fixture
def session(migrated):
    asyncio.run(talk(migrated, "bob", "Cinderella"))
    return asyncio.run(talk(migrated, "alice", WORD))


def test_without_consent_nothing_is_destroyed(session, migrated, capsys):
    assert run(migrated, "erase", "--user", "alice") == 1
    assert "1 session, and the files, documents and tasks of 'alice'" in capsys.readouterr().out
    assert "turnlog.db" in files_with(migrated, WORD)


def test_no_word_of_a_user_is_left_and_the_rest_is_proven(session, migrated, capsys):
    asyncio.run(keep_beside(migrated, WORD))
    assert {"knowledge.db", "tasks.db", "turnlog.db"} <= {*files_with(migrated, WORD)}
    run(migrated, "heads")
    (migrated / "heads").write_text(capsys.readouterr().out)
    run(migrated, "bill", "--csv")
    bill = capsys.readouterr().out
    assert run(migrated, "erase", "--user", "alice", "--yes") == 0
    assert (
        "Destroyed: 1 session, " in (said := capsys.readouterr().out)
        and "1 file, 1 document, 1 task" in said
    )
    assert files_with(migrated, WORD) == []
    assert len([*(migrated / "raw").rglob("*.gz")]) == 3  # Bob's
    assert "turnlog.db" in files_with(migrated, "Cinderella")
    assert run(migrated, "verify", "--heads", str(migrated / "heads")) == 0
    assert "was erased" in capsys.readouterr().out
    run(migrated, "bill", "--csv")
    assert capsys.readouterr().out == bill


def test_one_session_is_erased_and_shown_as_that(session, migrated, capsys):
    assert run(migrated, "erase", session, "--yes") == 0
    run(migrated, "export", session, "--format=md")
    assert ERASED_TEXT in (said := capsys.readouterr().out) and WORD not in said
    assert run(migrated, "erase", session, "--yes") == 0  # again
    assert run(migrated, "verify") == 0
    with closing(sqlite3.connect(migrated / "turnlog.db")) as db:
        trail = db.execute("SELECT auditor, session_id, what FROM audit_reads").fetchall()
        assert trail[0][1:] == (session, "erased the content of 11 events")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute("UPDATE events SET body = X'', salt = X'' WHERE length(body) > 0")


async def test_a_session_goes_on_after_it_was_erased(migrated):
    """Also one whose turn waited for a person."""
    session = await talk(migrated, "alice", WORD)
    assert await asyncio.to_thread(run, migrated, "erase", session, "--yes") == 0
    async with (sim := SimulatedClaude(Reply("Hello."), pace=0)).serve() as url:
        settings = Settings(api_key="k", base_url=url, data=str(migrated))
        async with (app := create_app([Agent("a", tools=[pay])], settings=settings)):
            result = await app.run_turn("Hi", user_id="alice", session_id=session)
            assert (result.text, sim.refused) == ("Hello.", [])
            code = await asyncio.to_thread(run, migrated, "erase", session, "--yes")
            assert code == 2  # a server works here
    assert WORD not in str(sim.requests)


async def test_the_raw_bytes_of_a_summary_go_too_also_where_it_was_cut_off(migrated):
    cut = Reply(f"So {WORD}", ending=Cut(4))
    sim = SimulatedClaude(answer=lambda body: cut if "compaction" in body else Reply(WORD), pace=0)
    async with sim.serve() as url:
        chosen = Settings(
            api_key="k", base_url=url, data=str(migrated), keep_raw=True, history_tokens=200
        )
        async with (app := create_app([Agent("a")], settings=chosen)):
            session = (await app.create_session("alice")).id
            while not any("compaction" in body for body in sim.requests):
                await app.run_turn(f"{WORD} " * 50, user_id="alice", session_id=session)
    assert [*(migrated / "raw").rglob("*.gz")] != []
    assert await asyncio.to_thread(run, migrated, "erase", session, "--yes") == 0
    assert [*(migrated / "raw").rglob("*.gz")] == []


def test_what_another_program_has_open_is_overwritten_all_the_same(session, migrated):
    with closing(sqlite3.connect(migrated / "turnlog.db")) as db:
        db.execute("SELECT count(*) FROM events").fetchall()
        assert run(migrated, "erase", "--user", "alice", "--yes") == 0
        assert files_with(migrated, WORD) == []


def test_a_program_that_reads_what_was_is_in_the_way_which_is_said(session, migrated, capsys):
    with closing(sqlite3.connect(migrated / "turnlog.db", isolation_level=None)) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM events").fetchall()
        assert run(migrated, "erase", "--user", "alice", "--yes") == 1
    said = "Another program reads turnlog.db, where the words still are: end it, and erase again."
    assert said in capsys.readouterr().out
    assert run(migrated, "erase", "--user", "alice", "--yes") == 0
    assert files_with(migrated, WORD) == []


async def close(folder):
    async with open_store(f"sqlite:{folder}") as store:
        await s.keep(store, [s.asked(WORD), s.said("It is.")], session=s.new_session())
        await store.update_session("alice", "s", archived=True)


@pytest.fixture
def archives(migrated, capsys):
    """Where the files of the session's archives are."""
    asyncio.run(close(migrated))
    assert run(migrated, "archive", "--older-than=0") == 0
    return migrated / "archives"


async def away(self, place):
    raise NotStored("The storage is away.")


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_in_an_archive_is_erased_too(archives, migrated):
    assert files_in(archives) != []
    assert run(migrated, "erase", "s", "--yes") == 0
    assert files_in(archives) == []
    assert files_with(migrated, WORD) == [] and run(migrated, "verify") == 0


def test_a_lost_archive_does_not_save_what_else_a_user_has_said(archives, migrated):
    asyncio.run(keep_beside(migrated, WORD))
    shutil.rmtree(archives)
    assert run(migrated, "erase", "--user", "alice", "--yes") == 0
    assert files_with(migrated, WORD) == [] and run(migrated, "verify") == 0


def test_what_a_storage_did_not_remove_goes_when_the_session_is_erased_again(
    archives, migrated, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(FolderBlobs, "delete", away)
        assert run(migrated, "erase", "s", "--yes") == 1
    assert files_in(archives) != []
    assert run(migrated, "erase", "s", "--yes") == 0
    assert files_in(archives) == [] and run(migrated, "verify") == 0


def test_a_file_that_a_storage_did_not_remove_goes_when_its_user_is_erased_again(
    session, migrated, monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        patch.setattr(FolderBlobs, "delete", away)
        assert run(migrated, "erase", "--user", "alice", "--yes") == 1
    assert len(files_with(migrated, f"({WORD})")) == 1
    assert run(migrated, "erase", "--user", "alice", "--yes") == 0
    assert "1 file," in capsys.readouterr().out
    assert files_with(migrated, WORD) == []


async def receive(folder):
    """As a server leaves it that was killed: one upload comes in, the other has no row yet."""
    blobs = FolderBlobs(folder / "files")
    await blobs.open()
    half = folder / "files" / "incoming" / "half"
    half.mkdir()
    for name in ("original", "whole"):
        (half / name).write_text(WORD)
    await blobs.put("a" * 32 + "/" + "b" * 64, "original", half / "whole")


def test_what_a_killed_server_left_of_uploads_goes_with_a_user(session, migrated):
    asyncio.run(receive(migrated))
    assert run(migrated, "erase", "--user", "alice", "--yes") == 0
    assert files_with(migrated, WORD) == []


def test_what_rows_of_an_old_form_say_stays_with_its_tables_and_is_proven(tmp_path, capsys):
    with closing(sqlite3.connect(tmp_path / "turnlog.db")) as db:
        db.executescript(OLD.read_text())
    asyncio.run(open_and_close(tmp_path))
    assert run(tmp_path, "verify") == 0
    assert run(tmp_path, "erase", "whole", "--yes") == 1
    assert "11 events of an old form stay" in capsys.readouterr().out
    assert run(tmp_path, "verify") == 0, capsys.readouterr().out


async def open_and_close(folder):
    async with open_store(f"sqlite:{folder}"):
        pass


async def begin(folder):
    async with open_store(f"sqlite:{folder}") as store:
        await store.create_session(s.new_session())
        await store.begin_turn(s.new_turn(), s.placed(s.asked(WORD)))


def test_while_a_turn_runs_nothing_is_erased_and_the_way_out_is_told(migrated, capsys):
    """As a server leaves it that was killed."""
    asyncio.run(begin(migrated))
    assert run(migrated, "erase", "s", "--yes") == 2
    assert "a turn runs. Stop it, or start the server once" in capsys.readouterr().err
    assert files_with(migrated, WORD) != []


@pytest.mark.parametrize("named", [[], ["s", "--user", "alice"]], ids=["nobody", "both"])
def test_who_is_meant_must_be_said(migrated, capsys, named):
    assert run(migrated, "erase", *named) == 2
    assert "Name a session, or a user" in capsys.readouterr().err


@pytest.mark.slow
async def test_the_same_in_postgres(database, tmp_path, monkeypatch, capsys):
    await talk(tmp_path, "alice", WORD, store=database)
    monkeypatch.setenv("TURNLOG_DATABASE_URL", database)
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(main, ["erase", "--user", "alice", "--yes"]) == 0
    assert await asyncio.to_thread(main, ["verify"]) == 0, capsys.readouterr().out
    db = await asyncpg.connect(database)
    try:
        tables = await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for table in {row[0] for row in tables} - {"live"}:  # the pieces of the last hour
            rows = await db.fetch(f"SELECT * FROM {table}")
            assert WORD not in str([dict(row) for row in rows]), table
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await db.execute("UPDATE events SET body = '', salt = ''")
    finally:
        await db.close()
