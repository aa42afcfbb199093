"""`turnlog doctor` says what is wrong, and what to do."""

import asyncio
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from turnlog.cli import main
from turnlog.commands import doctor
from turnlog.config import Settings
from turnlog.stores.sqlite.owners import ServerLock
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.servers.process import free_port

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [*os.environ, "TURNLOG_DATA", "TURNLOG_PORT"]:
        if name.startswith(("TURNLOG_", "ANTHROPIC_")):
            monkeypatch.setenv(name, "")
    monkeypatch.setenv("TURNLOG_PORT", str(free_port()))


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "small.py").write_text(
        "from turnlog import Agent, create_app\napp = create_app([Agent('a')])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "small", raising=False)
    return "small:app"


def examined(capsys, *argv):
    """The exit code, and each finding by its name."""
    code = main(["doctor", *argv])
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[:-1]]
    return code, {name: (state, sentence) for state, name, sentence in lines}


@pytest.mark.slow
def test_a_new_installation_is_well(capsys):
    code, found = examined(capsys)
    assert code == 0
    assert {state for state, _ in found.values()} == {"ok"}
    assert "answers (simulated)" in found["model"][1]
    assert "sandbox, data in turnlog-data" in found["BusinessCentral"][1]


@pytest.mark.slow
async def test_a_database_is_looked_at_and_not_changed(capsys, module, tmp_path):
    store = SqliteStore(tmp_path / "turnlog-data")
    await store.open()
    await store.close()
    before = (tmp_path / "turnlog-data" / "turnlog.db").stat().st_mtime_ns
    code, found = await asyncio.to_thread(examined, capsys, module)
    assert (code, found["database"][0]) == (0, "ok")
    assert (tmp_path / "turnlog-data" / "turnlog.db").stat().st_mtime_ns == before


@pytest.mark.slow
def test_what_is_wrong_is_said_with_what_to_do(capsys, module, monkeypatch, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "turnlog.db").write_bytes(b"nonsense" * 4000)
    late = time.time() + 5000
    os.utime(data / "turnlog.db", (late, late))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", NOBODY)
    monkeypatch.setenv("TURNLOG_MODEL", "no-such-model")
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", "short")
    (tmp_path / "turnlog.toml").write_text(f'[mcp.crm]\nurl = "{NOBODY}/mcp"\n')
    code, found = examined(capsys, module, f"--data={data}")
    assert code == 1
    assert {name: state for name, (state, _) in found.items() if state != "ok"} == {
        "users": "bad",
        "database": "bad",
        "prices": "warn",
        "clock": "bad",
        "model": "bad",
        "mcp": "warn",
    }
    assert "in the future" in found["clock"][1]
    assert "Check ANTHROPIC_API_KEY" in found["model"][1]


@pytest.mark.slow
def test_the_app_and_the_server_of_this_folder_are_found_without_a_flag(
    capsys, module, monkeypatch, tmp_path
):
    (tmp_path / "turnlog.toml").write_text(f'app = "{module}"\n')
    address = "http://127.0.0.1:9"
    lock = ServerLock(tmp_path / "turnlog-data" / "server.lock")
    (tmp_path / "turnlog-data").mkdir()
    lock.take(address)
    code, found = examined(capsys)
    lock.release()
    assert code == 1 and "BusinessCentral" not in found
    assert f"does not answer at {address}" in found["port"][1]
    assert main(["tools"]) == 0
    assert "create_customer" not in capsys.readouterr().out


def test_a_taken_port_and_a_folder_that_cannot_be_written_are_found(capsys, module, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setenv("TURNLOG_PORT", str(other.getsockname()[1]))
        monkeypatch.setattr(doctor, "ANSWERS_WITHIN", 0.1)  # it never does
        code, found = examined(capsys, module, "--data=/proc/turnlog")
    assert code == 1
    assert "is taken by another program" in found["port"][1]
    assert "'/proc' cannot be written" in found["folder"][1]


def test_a_file_in_place_of_the_data_folder_is_found(capsys, module, tmp_path):
    (tmp_path / "afile").write_text("")
    code, found = examined(capsys, module, "--data=afile")
    assert code == 1 and "is not a folder" in found["folder"][1]
    assert found["database"][0] == "warn" and "not looked at" in found["database"][1]
    assert "--data" in found["configuration"][1]
    assert "TURNLOG_DATA" not in found["configuration"][1]


@pytest.mark.parametrize("closed", [False, True])
async def test_a_sound_database_in_a_folder_without_rights_needs_no_backup(
    capsys, module, monkeypatch, tmp_path, closed
):
    store = SqliteStore(tmp_path / "data")
    await store.open()
    await store.close()

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, whom no mode of a folder stops.
    monkeypatch.setattr("turnlog.commands.doctor.tempfile.TemporaryFile", refuse)
    if closed:
        exists = Path.exists
        monkeypatch.setattr(
            Path, "exists", lambda p, **o: refuse() if p.name == "turnlog.db" else exists(p, **o)
        )
    code, found = await asyncio.to_thread(examined, capsys, module, "--data=data")
    assert code == 1 and "cannot be written: Permission denied" in found["folder"][1]
    assert found["database"][0] == "warn" and "backup" not in found["database"][1]


@pytest.mark.slow
async def test_a_database_with_a_password_and_redis_are_asked(
    capsys, module, monkeypatch, database, valkey
):
    monkeypatch.setenv("TURNLOG_DATABASE_URL", database)
    monkeypatch.setenv("TURNLOG_REDIS_URL", valkey.url)
    assert "@" in database  # a user and a password
    code, found = await asyncio.to_thread(examined, capsys, module)
    assert code == 0 and ": 0 sessions" in found["database"][1]
    assert found["live"] == ("ok", "events     Redis answers")
    monkeypatch.setenv("TURNLOG_REDIS_URL", "redis://127.0.0.1:9")
    monkeypatch.delitem(sys.modules, "small")
    code, found = await asyncio.to_thread(examined, capsys, module)
    assert code == 0 and found["live"][0] == "warn"


def test_nodes_that_share_a_database_are_told_to_share_their_files():
    shared = {"database_url": "postgresql://db/turnlog", "data": "here"}
    (found,) = doctor._files(doctor.Subject(None, Settings(**shared)))
    assert (found.state, found.name) == ("warn", "files")
    assert "'here/files'" in found.sentence and "'files_url'" in found.sentence
    for well in (Settings(), Settings(**shared, files_url="file:/everywhere")):
        assert doctor._files(doctor.Subject(None, well)) == []


def test_an_identity_provider_that_does_not_answer_is_found(capsys, module, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_ISSUER", NOBODY)
    code, found = examined(capsys, module)
    assert code == 1 and found["users"][0] == "bad"
    assert f"{NOBODY} does not give its keys" in found["users"][1]


def test_tokens_of_an_identity_provider_are_made_by_it(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_ISSUER", NOBODY)
    assert main(["token", "--user", "bob"]) == 2
    assert f"{NOBODY} makes the tokens here" in capsys.readouterr().err
