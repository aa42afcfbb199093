"""A SQLite folder has one server. A second one is told who the first is; who only looks is not."""

import asyncio
import os
import sys

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.cli import main
from turnlog.errors import StoreTaken
from turnlog.stores.sqlite.owners import ServerLock
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow  # starts processes

CLAUDE = "http://127.0.0.1:9"  # nobody is asked anything


def app_in(folder, port=8000):
    settings = Settings(api_key="k", base_url=CLAUDE, data=str(folder), port=port)
    return create_app([Agent("a")], settings=settings)


async def refused(folder, code=2):
    """What a second `turnlog serve` says."""
    command = [sys.executable, "-m", "turnlog.cli", "serve", "--port=0", f"--data={folder}"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == code
    return said.decode()


async def test_a_second_server_is_told_who_the_first_is(tmp_path):
    async with serving(tmp_path, CLAUDE) as first:
        said = await refused(tmp_path / "data")
        assert f"Another server works in '{tmp_path / 'data'}'" in said
        assert f"process {first.process.pid}, {first.url}, since 20" in said
        assert "Traceback" not in said
        assert await asyncio.to_thread(main, ["verify", "--data", str(tmp_path / "data")]) == 0


async def test_a_server_that_was_killed_is_in_nobodys_way(tmp_path):
    async with serving(tmp_path, CLAUDE) as first:
        await first.kill()
    async with serving(tmp_path, CLAUDE) as second:
        assert f"process {second.process.pid}" in await refused(tmp_path / "data")


async def test_two_apps_in_one_process_are_two_servers(tmp_path):
    async with app_in(tmp_path, port=8123):
        with pytest.raises(
            StoreTaken, match=f"process {os.getpid()}, http://127.0.0.1:8123, since"
        ):
            async with app_in(tmp_path):
                pass
    async with app_in(tmp_path):
        pass


async def test_an_app_that_was_refused_can_start_later(tmp_path):
    second = app_in(tmp_path)
    async with app_in(tmp_path):
        with pytest.raises(StoreTaken):
            await second.__aenter__()
    async with second:
        assert (await second.create_session("local")).user_id == "local"


async def test_a_store_that_is_opened_beside_a_server_works(tmp_path):
    """The refusal is the server's: the store itself is safe for several processes."""
    async with app_in(tmp_path), open_store(f"sqlite:{tmp_path}") as store:
        await s.keep(store, [s.asked(), s.said("Hi.")])


async def test_a_migration_waits_for_no_server(tmp_path, capsys):
    async with app_in(tmp_path):
        assert await asyncio.to_thread(main, ["migrate", "--data", str(tmp_path)]) == 2
        assert "Another server works in" in capsys.readouterr().err


def test_a_server_that_is_just_starting_is_named_as_such(tmp_path):
    lock = ServerLock(tmp_path / "lock")
    lock.take("http://here")
    (tmp_path / "lock").write_text("")
    with pytest.raises(StoreTaken, match="one that is just starting"):
        ServerLock(tmp_path / "lock").take("http://there")
    lock.release()
