"""Whatever the folder and the umask: nobody but the owner reads what is stored."""

import os
import stat
from pathlib import Path

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.stores.sqlite.files import make_private
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s


@pytest.fixture
def open_folder(tmp_path):
    """A folder that everybody may enter, where new files would be everybody's."""
    before = os.umask(0)
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    yield folder
    os.umask(before)


def modes(folder):
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in files}


async def test_every_file_of_a_server_is_its_owners_alone(open_folder):
    async with SimulatedClaude(Reply("Yes."), pace=0).serve() as url:
        settings = Settings(api_key="k", base_url=url, data=str(open_folder), keep_raw=True)
        async with (app := create_app([Agent("a")], settings=settings)):
            await app.run_turn("Go")
            await app.tasks.add_task("local", title="Milk", description="", at=s.AT)
            running = modes(open_folder)
    assert running.keys() >= {
        *(f"{name}{end}" for name in ("turnlog.db", "tasks.db") for end in ("", "-wal", "-shm")),
        "opening.lock",
        "server.lock",
    }
    assert set((running | modes(open_folder)).values()) == {"0o600"}
    folders = [folder for folder in open_folder.rglob("*") if folder.is_dir()]
    assert {oct(stat.S_IMODE(folder.stat().st_mode)) for folder in folders} == {"0o700"}


async def test_files_that_an_older_version_left_open_are_closed(open_folder):
    async with open_store(f"sqlite:{open_folder}") as store:
        await s.keep(store, [s.asked(), s.said("Hi.")])
        for end in ("", "-wal", "-shm"):
            (open_folder / f"turnlog.db{end}").chmod(0o644)
        async with open_store(f"sqlite:{open_folder}"):
            found = modes(open_folder)
    assert {found[f"turnlog.db{end}"] for end in ("", "-wal", "-shm")} == {"0o600"}


def test_a_companion_that_is_taken_away_meanwhile_is_no_fault(tmp_path, monkeypatch):
    """Whoever closes the database last removes them, at any moment."""
    path, chmod = tmp_path / "turnlog.db", Path.chmod
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).touch(0o644)

    def too_late(file, mode):
        if file != path:
            file.unlink()
        chmod(file, mode)

    monkeypatch.setattr(Path, "chmod", too_late)
    make_private(path)
    assert [file.name for file in tmp_path.iterdir()] == ["turnlog.db"]
    assert path.stat().st_mode & 0o777 == 0o600
