"""`turnlog backup`: a copy that is whole, made while the server writes."""

import asyncio
import subprocess
import sys

import aiohttp
import pytest

from turnlog.cli import main
from turnlog.simulator import SimulatedClaude
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.server import serving


@pytest.fixture
def data(tmp_path):
    async def fill():
        store = SqliteStore(tmp_path / "data")
        await store.open()
        await s.keep(store, [s.asked(), s.said("Hi.")], session=s.new_session("one"))
        await store.close()

    asyncio.run(fill())
    (tmp_path / "data" / "raw").mkdir()
    (tmp_path / "data" / "raw" / "call").write_text("bytes")
    return tmp_path / "data"


def test_the_copy_is_proven_and_is_nobody_elses_to_read(data, tmp_path, capsys):
    copy = tmp_path / "copies" / "monday"
    assert main(["backup", str(copy), "--data", str(data)]) == 0
    assert "1 session copied, 0 not ok" in capsys.readouterr().out
    assert main(["verify", "--data", str(copy)]) == 0
    assert (copy / "raw" / "call").read_text() == "bytes"
    assert not (copy / "server.lock").exists()
    assert (copy / "turnlog.db").stat().st_mode & 0o077 == 0


def test_a_copy_never_lands_on_something(data, tmp_path, capsys):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "turnlog.db").touch()
    assert main(["backup", str(tmp_path / "old"), "--data", str(data)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "new"), "--data", str(tmp_path / "none")]) == 1


@pytest.mark.slow
async def test_a_copy_of_a_working_server_is_whole_and_serves(tmp_path):
    """Questions are asked all the while; the copy has a prefix of them, and takes the next one."""
    sim = SimulatedClaude(pace=0)
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        async with serving(tmp_path, claude) as server:
            asking = asyncio.ensure_future(_ask_on(http, server.url))
            while await _count(http, server.url) < 3:
                pass
            data, copy = tmp_path / "data", tmp_path / "again" / "data"
            assert await _turnlog("backup", str(copy), "--data", str(data)) == 0
            asking.cancel()
        async with serving(tmp_path / "again", claude) as server:
            sessions = await _count(http, server.url)
            assert sessions >= 3
            await _ask(http, server.url)
            assert await _count(http, server.url) == sessions + 1
    assert await _turnlog("verify", "--data", str(copy)) == 0


async def _ask(http, url):
    async with http.post(f"{url}/api/sessions") as made:
        session = (await made.json())["id"]
    body = {"message": "Hello"}
    stream = {"accept": "text/event-stream"}
    place = f"{url}/api/sessions/{session}/messages"
    async with http.post(place, json=body, headers=stream) as answer:
        assert b"event: complete" in await answer.read()


async def _ask_on(http, url):
    while True:
        await _ask(http, url)


async def _count(http, url):
    async with http.get(f"{url}/api/sessions?limit=100") as found:
        return len((await found.json())["sessions"])


async def _turnlog(*args):
    command = [sys.executable, "-m", "turnlog.cli", *args]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
    return await process.wait()


def test_a_place_that_cannot_be_written_is_a_sentence(data, capsys, tmp_path):
    (tmp_path / "afile").write_text("")
    assert main(["backup", str(tmp_path / "afile" / "copy"), f"--data={data}"]) == 2
    error = capsys.readouterr().err
    assert "cannot be made" in error and "Name a new folder" in error
