"""A start that cannot work says so in one sentence, before anything else."""

import asyncio
import os
import re
import socket
import sqlite3
import sys

import pytest

from turnlog import Agent, create_app
from turnlog.config import Settings
from turnlog.errors import ConfigError
from turnlog.testing.server import serving
from turnlog.transports.listening import listening

pytestmark = pytest.mark.slow  # starts processes

CLAUDE = "http://127.0.0.1:9"  # nobody is asked anything


async def started(folder, *args, module=None, **env):
    """The exit code of `python -m turnlog serve`, its output and its errors."""
    if module is not None:
        (folder / "my_module.py").write_text(module)
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "turnlog", "serve", *args],
        cwd=folder,
        env={n: v for n, v in os.environ.items() if not n.startswith("TURNLOG_")} | env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def file_in_the_way(folder):
    (folder / "data").write_text("")


def no_database(folder):
    (folder / "data").mkdir()
    (folder / "data" / "turnlog.db").write_bytes(b"no database at all" * 1000)


def spoiled_pages(folder):
    """A database whose first pages are another file's."""
    (folder / "data").mkdir()
    path = folder / "data" / "turnlog.db"
    with sqlite3.connect(path) as db:
        db.executescript("CREATE TABLE a (b); PRAGMA user_version = 3;")
    db.close()
    raw = bytearray(path.read_bytes())
    raw[100:4096] = os.urandom(3996)
    path.write_bytes(raw)


def newer_database(folder):
    (folder / "data").mkdir()
    with sqlite3.connect(folder / "data" / "turnlog.db") as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()


BROKEN = {
    file_in_the_way: "There is a file of that name: name a folder with --data",
    no_database: "cannot be used: file is not a database. Restore turnlog.db",
    spoiled_pages: "cannot be used: .*Restore turnlog.db",
    newer_database: "schema 9999.*Install that version",
}


@pytest.mark.parametrize(
    ("broken", "sentence"), BROKEN.items(), ids=[each.__name__ for each in BROKEN]
)
async def test_a_store_that_cannot_be_used_is_one_sentence(tmp_path, broken, sentence):
    broken(tmp_path)
    code, out, err = await started(tmp_path, "--data=data", "--port=0")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1 and re.search(sentence, err)


@pytest.mark.parametrize("place", ["/proc/turnlog", "/dev/null/data"])
async def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, place):
    code, out, err = await started(tmp_path, f"--data={place}", "--port=0")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1 and f"{place!r} cannot be used" in err


async def test_a_taken_port_is_one_sentence(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, out, err = await started(tmp_path, f"--port={port}")
    assert (code, out) == (2, "")
    assert err == (
        f"turnlog: Port {port} of 127.0.0.1 is taken by another program."
        f" Stop that one, or choose another port: --port {port + 1}.\n"
    )


async def test_a_spoiled_database_is_left_as_it_is(tmp_path):
    no_database(tmp_path)
    before = (tmp_path / "data" / "turnlog.db").read_bytes()
    await started(tmp_path, "--data=data", "--port=0")
    assert (tmp_path / "data" / "turnlog.db").read_bytes() == before


async def test_an_unknown_variable_stops_the_start(tmp_path):
    code, out, err = await started(tmp_path, TURNLOG_DATABSE_URL="postgresql://x")
    assert (code, out) == (2, "")
    assert err.endswith("'TURNLOG_DATABSE_URL'. Did you mean 'TURNLOG_DATABASE_URL'?\n")


async def test_a_module_that_breaks_says_where(tmp_path):
    module = "from turnlog import create_app\n\napp = creat_app()\n"
    code, out, err = await started(tmp_path, "my_module:app", module=module)
    assert (code, out) == (2, "")
    assert "NameError: name 'creat_app' is not defined (my_module.py, line 3)" in err


async def test_a_misspelt_app_is_told_those_that_are_there(tmp_path):
    module = "from turnlog import Agent, create_app\n\ndesk = create_app([Agent('a')])\n"
    code, out, err = await started(tmp_path, "my_module:app", module=module)
    assert (code, out) == (2, "")
    assert err == (
        "turnlog: 'my_module:app' is not an app made by create_app. There is: my_module:desk.\n"
    )


async def test_a_module_without_agents_says_what_to_do(tmp_path):
    module = "from turnlog import create_app\n\napp = create_app(agents=[])\n"
    code, _, err = await started(tmp_path, "my_module:app", module=module)
    assert code == 2
    assert "create_app has no agents. Give it at least one" in err


async def test_the_banner_comes_when_the_port_answers_and_names_it(tmp_path):
    bc = {"TENANT": "t", "CLIENT_ID": "c", "CLIENT_SECRET": "s", "BASE_URL": CLAUDE}
    env = {f"TURNLOG_BC_{name}": value for name, value in bc.items()}
    async with serving(tmp_path, CLAUDE, env=env) as server:
        await server.stop()
        banner = server.log.read_text()
    assert f"address     {server.url}\n" in banner
    assert "Business Central (environment Production, not asked yet)" in banner
    assert "connected" not in banner


def test_a_port_that_is_held_cannot_be_taken_by_a_second_one():
    (first,) = listening("127.0.0.1", 0)
    with first, pytest.raises(ConfigError, match="is taken by another program"):
        listening("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize(("host", "why"), [("192.0.2.1", "cannot listen"), ("no host", "address")])
def test_an_address_of_another_machine_is_refused(host, why):
    with pytest.raises(ConfigError, match=why):
        listening(host, 0)


def test_no_agents_are_no_demo():
    with pytest.raises(ConfigError, match="for the demo's, leave the argument out"):
        create_app([], settings=Settings())
    assert create_app(settings=Settings()).create_session
    assert create_app([Agent("a")], settings=Settings()).config()["agents"][0]["id"] == "a"
