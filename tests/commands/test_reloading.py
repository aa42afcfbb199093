"""`turnlog serve --reload`: the server that answers is made of the files as they are now."""

import asyncio
import os
import sys

import aiohttp
import pytest

from turnlog.commands.reloading import look
from turnlog.testing.servers.process import free_port

NOT_PASSED_ON = ("TURNLOG_", "PYTHONDONTWRITE")  # what is compiled is kept, as it usually is
APP = "from turnlog import Agent, create_app\n\napp = create_app([Agent({name!r})])\n"


def test_python_files_and_the_settings_are_looked_at(tmp_path):
    for name in ("a.py", "turnlog.toml", "inner/b.py", "notes.txt", ".hidden/c.py", "data/d.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    seen = look(tmp_path, tmp_path / "data")
    assert {os.path.relpath(path, tmp_path) for path in seen} == {
        "a.py", "turnlog.toml", "inner/b.py",
    }  # fmt: skip
    (tmp_path / "a.py").write_text("changed")
    os.utime(tmp_path / "a.py", (1, 1))
    assert look(tmp_path, tmp_path / "data") != seen


async def agent_at(http, url, wanted):
    """Wait until the server has this agent."""
    async with asyncio.timeout(60):
        while True:
            try:
                async with http.get(f"{url}/api/config") as response:
                    if (await response.json())["agents"][0]["id"] == wanted:
                        return
            except (aiohttp.ClientError, KeyError):
                pass  # it is being started again
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_change_is_served_and_a_mistake_is_waited_out(tmp_path):
    port = free_port()
    module = tmp_path / "my_app.py"
    module.write_text(APP.format(name="one"))
    written = module.stat().st_mtime_ns
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "turnlog", "serve", "--reload", f"--port={port}", "my_app:app"],
        cwd=tmp_path,
        env={n: v for n, v in os.environ.items() if not n.startswith(NOT_PASSED_ON)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{port}"
            await agent_at(http, url, "one")
            module.write_text("this is no Python")
            await said(process, "cannot be loaded")
            other = tmp_path / "other.txt"
            other.write_text(APP.format(name="two"))  # of the same size, and in the same second:
            os.utime(other, ns=(written, written))  # what Python has compiled looks like new
            other.replace(module)
            await agent_at(http, url, "two")
    finally:
        process.terminate()
        await process.communicate()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    assert process.returncode == 0


async def said(process, words):
    async with asyncio.timeout(60):
        async for line in process.stdout:
            if words in line.decode():
                return
