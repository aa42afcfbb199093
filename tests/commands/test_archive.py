"""`turnlog archive`: killed at every step, and beside a server that works."""

import asyncio
import shutil
import subprocess
import sys

import pytest

from turnlog.cli import main
from turnlog.simulator import Reply
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET, as_user, client_of, scripted_app

pytestmark = pytest.mark.slow


async def close(store):
    await s.keep(store, [s.asked(), s.said("It says so.")], session=s.new_session())
    await store.update_session("alice", "s", archived=True)


KILLED_AT = """
import os, signal, sys
from turnlog.stores.files import folder
from turnlog.stores.sql import archives
from turnlog.stores.sql.connection import Conflict
from turnlog.cli import main

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

def after(work):
    return lambda *args: (work(*args), die())

step = sys.argv.pop(1)
if step == "before the file has its name":
    folder._sync = die
if step == "before the rows know it":
    archives._move = die
if step == "before the commit":
    archives._move = after(archives._move)
if step == "before the commit of a restore":
    archives._bring_back = after(archives._bring_back)
if step == "before the file is removed":
    folder.FolderBlobs._delete = die
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ("before the file has its name", []),
        ("before the rows know it", []),
        ("before the commit", []),
        ("before the commit of a restore", ["--restore"]),
        ("before the file is removed", ["--restore"]),
    ],
)
def test_a_process_that_is_killed_leaves_a_log_that_proves_whole(tmp_path, step, command, capsys):
    async def fill():
        async with open_store(f"sqlite:{tmp_path}") as store:
            await close(store)

    asyncio.run(fill())
    data = ["--data", str(tmp_path)]
    assert main(["export", "s", *data]) == 0
    whole = capsys.readouterr().out
    if command:
        assert main(["archive", "s", *data]) == 0
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT, step, "archive", "s", *command, *data], check=False
    )
    assert killed.returncode == -9
    for _ in range(2):
        capsys.readouterr()
        assert main(["verify", *data]) == 0
        assert main(["export", "s", *data]) == 0
        assert capsys.readouterr().out.split("\n", 1)[1] == whole
        assert main(["archive", "s", *command, *data]) == 0


async def test_a_server_shows_an_archived_session_and_goes_on_with_it(tmp_path):
    """It is archived, and restored, by another process while the server works."""

    async def shown(http):
        paths = ("messages", "events", "verify", "citations")
        whole = [(await http.get(f"/api/sessions/s/{path}")).json() for path in paths]
        return [*whole, (await http.get("/api/billing/sessions/s")).json()]

    async def turnlog(*command):
        return await asyncio.to_thread(main, [*command, "--data", str(tmp_path)])

    store, path = SqliteStore(tmp_path), "/api/sessions/s"
    made = scripted_app(Reply("Of course."), store=store, auth_secret=SECRET, data=str(tmp_path))
    async with made as (app, sim), client_of(app, as_user("alice")) as http:
        await close(store)
        before = await shown(http)
        assert await turnlog("archive", "s") == 0
        assert await shown(http) == before
        assert before[2]["ok"]
        await http.patch(path, json={"archived": False})
        stream = {"accept": "text/event-stream"}
        answer = await http.post(f"{path}/messages", json={"message": "Now?"}, headers=stream)
        assert "Of course." in answer.text
        assert "It says so." in str(sim.requests)  # the history comes from the archive
        after = await shown(http)
        assert await turnlog("verify") == 0
        assert await turnlog("archive", "s", "--restore") == 0
        assert await shown(http) == after
        shutil.rmtree(tmp_path / "archives")
        await http.patch(path, json={"archived": True})
        assert await turnlog("archive", "s") == 0
        shutil.rmtree(tmp_path / "archives" / "content")
        missing = await http.get(f"{path}/messages")
        assert (missing.status_code, missing.json()["title"]) == (503, "Archive missing")
