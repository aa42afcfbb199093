"""Who only looks changes nothing, beside a server, after one has died, and on a copy."""

import asyncio
import os
import shutil
import stat
from contextlib import contextmanager

import pytest

from turnlog.cli import main
from turnlog.errors import NotFound, StoreUnusable
from turnlog.projections.proof import prove
from turnlog.stores.sqlite import read_only
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s

TALK = [s.asked("Hello."), s.said("Hi.", id="msg_1")]
COMMANDS = [["verify"], ["bill"], ["export", "s"], ["replay", "s"]]


def everything(folder):
    """Every file with its content and when it was changed."""
    return {
        file.relative_to(folder): (file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def looking(folder):
    return open_store(f"sqlite:{folder}", read_only=True)


@pytest.fixture
async def closed(tmp_path):
    """A folder that a server has left in order: one session of two events."""
    async with open_store(f"sqlite:{tmp_path / 'closed'}") as store:
        await s.keep(store, TALK)
    return tmp_path / "closed"


@pytest.fixture
async def killed(tmp_path):
    """A copy of a folder whose server was killed: all that it wrote is in the write-ahead log."""
    folder = tmp_path / "killed"
    async with open_store(f"sqlite:{tmp_path / 'running'}") as store:
        await s.keep(store, TALK)
        shutil.copytree(tmp_path / "running", folder)
    (folder / "turnlog.db-shm").unlink()
    assert (folder / "turnlog.db-wal").stat().st_size > 0
    return folder


@pytest.fixture(params=["closed", "killed"])
def left(request):
    """A folder that nobody works in."""
    return request.getfixturevalue(request.param)


@contextmanager
def write_protected(folder):
    """As on a read-only medium. The superuser may write all the same, and is watched for it."""
    files = [folder, *folder.rglob("*")]
    for file in files:
        file.chmod(0o500 if file.is_dir() else 0o400)
    yield
    for file in files:
        file.chmod(stat.S_IRWXU if file.is_dir() else 0o600)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_reads_a_folder_that_nobody_may_write_to(left, command, capsys):
    before = everything(left)
    with write_protected(left):
        assert main([*command, "--data", str(left)]) == 0
        assert capsys.readouterr().out
        assert everything(left) == before


def test_verify_proves_what_was_only_in_the_write_ahead_log(killed, capsys):
    assert main(["verify", "--data", str(killed)]) == 0
    assert capsys.readouterr().out == "1 session, 2 events: ok\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
async def test_a_command_works_beside_a_server(tmp_path, command, capsys):
    async with open_store(f"sqlite:{tmp_path}", server="http://here") as store:
        await s.keep(store, TALK)
        before = sorted(tmp_path.rglob("*"))
        assert await asyncio.to_thread(main, [*command, "--data", str(tmp_path)]) == 0
        assert sorted(tmp_path.rglob("*")) == before


async def test_who_looks_sees_what_is_written_meanwhile(tmp_path):
    async with open_store(f"sqlite:{tmp_path}") as store, looking(tmp_path) as looker:
        assert await looker.session_ids() == []
        await s.keep(store, TALK)
        assert await looker.session_ids() == ["s"]
        assert prove(await looker.evidence("s")).problems == []


async def test_who_looks_sees_a_server_come_and_go(closed):
    async with looking(closed) as looker:
        assert await looker.session_ids() == ["s"]
        async with open_store(f"sqlite:{closed}") as store:
            await s.keep(store, [s.asked("More.")], session=s.new_session("t"))
            assert await looker.session_ids() == ["s", "t"]
        assert await looker.session_ids() == ["s", "t"]


async def test_a_read_that_a_server_has_crossed_is_made_again(closed, monkeypatch):
    """The file is read without a lock: what was read while it was written to counts for nothing."""
    reads = []

    async with looking(closed) as looker:

        def crossed(db):
            reads.append(db.execute("SELECT count(*) FROM events").fetchone()[0])
            if len(reads) == 1:
                asyncio.run(write_more())
            return reads[-1]

        async def write_more():
            async with open_store(f"sqlite:{closed}") as store:
                await s.keep(store, [s.asked("More.")], session=s.new_session("t"))

        assert await looker._look(crossed) == 3
    assert reads == [2, 3]


async def test_what_is_copied_is_cleaned_up(killed, tmp_path, monkeypatch):
    monkeypatch.setattr(read_only.tempfile, "tempdir", str(tmp_path))
    async with looking(killed) as looker:
        (copy,) = tmp_path.glob("turnlog-*")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o700
        assert await looker.session_ids() == ["s"]
    assert not copy.exists()


async def test_who_looks_writes_nothing(closed):
    async with looking(closed) as looker:
        for write in (
            looker.create_session(s.new_session("t")),
            looker.begin_turn(s.new_turn("t2"), s.placed(s.asked())),
            looker.update_session("alice", "s", title="Mine"),
        ):
            with pytest.raises(StoreUnusable, match="for reading only"):
                await write
    with pytest.raises(StoreUnusable, match="runs no turns"):
        async with open_store(f"sqlite:{closed}", read_only=True, server="http://here"):
            pass


async def test_where_there_is_no_database_none_is_made(tmp_path):
    with pytest.raises(NotFound, match="There is no turnlog database in"):
        async with looking(tmp_path / "nowhere"):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "turnlog.db").write_text("Something else, and long enough to be read as a page.")
    with pytest.raises(StoreUnusable, match="not a database"):
        async with looking(tmp_path):
            pass


async def test_a_server_that_dies_is_still_looked_at(tmp_path):
    """Its lock is gone, its write-ahead log is not."""
    store = SqliteStore(tmp_path)
    await store.open()
    await s.keep(store, TALK)
    async with looking(tmp_path) as looker:
        os.close(store._owners._lock)
        store._owners._lock = os.open(os.devnull, os.O_RDONLY)
        assert await looker.session_ids() == ["s"]
    async with looking(tmp_path) as looker:
        assert await looker.session_ids() == ["s"]
    await store.close()
