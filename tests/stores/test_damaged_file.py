"""A database file whose bytes a disk has changed: `turnlog verify` says so, and goes on."""

import re
import sqlite3
from contextlib import closing

import pytest

from turnlog.cli import main
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s

LOST, WHOLE = "session-that-is-lost", "session-that-is-whole"


@pytest.fixture
async def data(tmp_path):
    """Two sessions in a file that nobody works in."""
    async with open_store(f"sqlite:{tmp_path}") as store:
        for name in (LOST, WHOLE):
            talk = [s.asked("Hello."), s.said("Hi.", id=f"msg-of-{name}")]
            await s.keep(store, talk, session=s.new_session(name))
    return tmp_path


def places(data, text):
    return [found.start() for found in re.finditer(text, (data / "turnlog.db").read_bytes())]


def put(data, place, text):
    with (data / "turnlog.db").open("r+b") as file:
        file.seek(place)
        file.write(text)


def change(data, statement):
    """Whoever can write there takes away what protects the log, and puts it back."""
    with closing(sqlite3.connect(data / "turnlog.db", isolation_level=None)) as db:
        listed = (
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
        )
        triggers = db.execute(listed).fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement)
        for _, made in triggers:
            db.execute(made)


def test_whatever_copy_of_an_id_is_changed_is_found(data, capsys):
    """An index has copies of what is in its table, and is read instead of it."""
    assert main(["verify", "--data", str(data)]) == 0
    before = (data / "turnlog.db").read_bytes()
    found = places(data, LOST.encode())
    assert len(found) > 5
    for place in found:
        put(data, place, b"S")
        assert main(["verify", "--data", str(data)]) == 1, capsys.readouterr().out
        (data / "turnlog.db").write_bytes(before)


def test_a_session_that_cannot_be_read_does_not_hide_the_others(data, capsys):
    body = places(data, f"msg-of-{LOST}".encode())
    for place in body:
        put(data, place, b"\xff")
    change(data, f"UPDATE events SET seq = 7 WHERE session_id = '{WHOLE}' AND seq = 1")
    assert main(["verify", "--data", str(data)]) == 1
    told = capsys.readouterr().out
    assert LOST in told
    assert f"{WHOLE}  gap: number 1 is missing" in told


def test_a_damaged_file_is_named_with_what_to_do(data, capsys):
    path = data / "turnlog.db"
    path.write_bytes(path.read_bytes()[:20_000])
    assert main(["verify", "--data", str(data)]) == 1
    assert "Restore turnlog.db from a backup" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["verify"], ["migrate"]], ids=str)
def test_a_schema_that_is_no_text_is_no_bug_of_ours(data, capsys, command):
    put(data, places(data, b"CREATE UNIQUE INDEX")[0] + 9, b"\xc4")
    assert main([*command, "--data", str(data)]) == 1
    assert "Restore turnlog.db from a backup" in capsys.readouterr().err


ODD = ["seq = 'x'", "seq = 1.5", "seq = X'FF'", "version = 'x'", "body = 7", "body = 1.5"]


@pytest.mark.parametrize("odd", ODD)
def test_a_value_of_another_type_is_found(data, capsys, odd):
    change(data, f"UPDATE events SET {odd} WHERE session_id = '{LOST}' AND seq = 1")
    assert main(["verify", "--data", str(data)]) == 1
    told = capsys.readouterr().out
    assert f"{LOST}  changed: " in told
    assert "2 sessions" in told
