"""The command line: what each command prints, and the exit code."""

import asyncio
import json
import os
import re
import socket
import sys

import pytest

from turnlog.cli import main
from turnlog.events.kinds import HistoryAnchored, Thinking
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET
from turnlog.transports.access.auth import Auth

THOUGHT = Thinking(message_id="msg_1", content="Two\nlines.", signature="c2ln")
TALK = [
    [
        s.asked("Look."),
        HistoryAnchored(anchor=0),
        THOUGHT,
        s.said("I look.", s.call("a"), stop="tool_use"),
        s.used("a", "look", at="ducks"),
        s.result("a", {"ducks": 3}),
        s.said("Three ducks."),
    ],
    [
        s.asked("Again."),
        s.said(s.call("b"), stop="tool_use"),
        s.used("b"),
        s.failed("b"),
        s.broke(),
    ],
]


@pytest.fixture(autouse=True)
def clean_environment(tmp_path, monkeypatch):
    """No settings but a test's own; what a command changes is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names = {*os.environ, "TURNLOG_HOST", "TURNLOG_PORT", "TURNLOG_DATA", "TURNLOG_AUTH_SECRET"}
    for name in names:
        if name.startswith(("TURNLOG_", "ANTHROPIC_")):
            monkeypatch.setenv(name, "")


@pytest.fixture
def data(tmp_path):
    async def fill():
        store = SqliteStore(tmp_path / "data")
        await store.open()
        await s.keep(store, *TALK)
        await store.close()

    asyncio.run(fill())
    return f"--data={tmp_path / 'data'}"


def run(capsys, *argv):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


# token


def test_token_mints_a_token_of_the_user(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", SECRET)
    code, out, _ = run(capsys, "token", "--user", "alice", "--admin", "--days", "1")
    user = Auth(SECRET).user(f"Bearer {out.strip()}")
    assert (code, user.id, user.admin) == (0, "alice", True)


def test_token_gives_the_roles_that_it_is_told(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", SECRET)
    code, out, _ = run(capsys, "token", "--user", "ann", "--role", "finance", "--role", "auditor")
    user = Auth(SECRET).user(f"Bearer {out.strip()}")
    assert (code, user.roles) == (0, {"finance", "auditor"})


def test_token_refuses_what_cannot_be_a_role(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", SECRET)
    code, out, err = run(capsys, "token", "--user", "ann", "--role", " finance")
    assert (code, out) == (2, "")
    assert "' finance' cannot be a role" in err


@pytest.mark.parametrize("user", ["x" * 201, "tab\there"])
def test_token_refuses_a_user_whose_token_the_server_would_refuse(capsys, monkeypatch, user):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", "s" * 32)
    code, out, err = run(capsys, "token", "--user", user)
    assert (code, out) == (2, "")
    assert "printable text of 1 to 200 characters" in err


def test_token_needs_a_secret(capsys):
    code, _, err = run(capsys, "token", "--user", "alice")
    assert code == 2
    assert "TURNLOG_AUTH_SECRET" in err


def test_token_refuses_a_short_secret(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", "short")
    code, out, err = run(capsys, "token", "--user", "alice")
    assert (code, out) == (2, "")
    assert "too short" in err


# replay


def test_replay_prints_a_line_for_each_event(capsys, data):
    code, out, _ = run(capsys, "replay", "s", data)
    lines = [line[29:] for line in out.splitlines() if line.lstrip()[:1].isdigit()]
    assert code == 0
    assert lines[0] == "user      Look."
    assert lines[3:7] == [
        "message   I look.  [tool_use]",
        "tool      look: at ducks",
        "result    ducks 3",
        "message   Three ducks.  [end_turn]",
    ]
    assert lines[-2:] == [
        "failed    it broke",
        "error     The model is overloaded.  [overloaded]",
    ]


def test_replay_stops_after_the_given_number(capsys, data):
    _, out, _ = run(capsys, "replay", "s", "--to", "0", data)
    assert out.splitlines() == ["    0 12:00:00  User         user      Look."]


@pytest.mark.parametrize("speed", ["-1", "nan", "inf"])
def test_replay_refuses_a_speed_that_is_none(capsys, data, speed):
    code, out, err = run(capsys, "replay", "s", "--speed", speed, data)
    assert (code, out) == (2, "")
    assert "'--speed' must be 0 or more" in err


# export


def test_export_prints_every_field_of_every_event(capsys, data):
    code, out, _ = run(capsys, "export", "s", data)
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, len(events)) == (0, 12)
    assert events[1]["type"] == "history_anchored"
    assert events[2]["signature"] == "c2ln"
    assert events[3]["blocks"][1]["id"] == "a"
    assert {event["sessionId"] for event in events} == {"s"}


def test_export_prints_a_page_for_people(capsys, data):
    code, out, _ = run(capsys, "export", "s", "--format", "md", data)
    assert code == 0
    assert out.startswith("# Session s\n\n- from 2026-11-15T12:00:00.000Z")
    assert "\n\n## User, 2026-11-15T12:00:00.000Z\n\nLook.\n\n> Two\n> lines.\n\n" in out
    assert '#### Tool `look`\n\n```\n{\n  "at": "ducks"\n}\n```' in out
    assert "#### Failed\n\n```\nit broke\n```" in out
    assert out.endswith("#### Error\n\nThe model is overloaded.\n")
    assert "history_anchored" not in out


# verify and migrate


def test_migrate_creates_a_database_that_verify_accepts(capsys, tmp_path):
    place = f"--data={tmp_path / 'new'}"
    code, made, _ = run(capsys, "migrate", place)
    assert code == 0 and made.startswith("There was no database in") and "is made" in made
    assert run(capsys, "migrate", place) == (0, "The database is up to date.\n", "")
    assert run(capsys, "verify", place) == (0, "0 sessions, 0 events: ok\n", "")


@pytest.mark.parametrize("command", [["verify"], ["replay", "s"], ["export", "s"]])
def test_a_folder_without_a_database_is_reported_and_not_created(capsys, tmp_path, command):
    code, _, err = run(capsys, *command, f"--data={tmp_path / 'empty'}")
    assert code == 1
    assert "There is no turnlog database in" in err
    assert not (tmp_path / "empty").exists()


@pytest.mark.parametrize("command", ["verify", "replay", "export"])
def test_an_unknown_session_is_reported(capsys, data, command):
    code, out, err = run(capsys, command, "nowhere", data)
    assert (code, out) == (1, "")
    assert err.startswith("turnlog: There is no session 'nowhere'. `turnlog sessions` lists")


# serve


def test_serve_refuses_to_listen_without_authentication(capsys):
    code, out, err = run(capsys, "serve", "--host", "0.0.0.0")
    assert (code, out) == (2, "")
    assert "loopback only" in err


def test_serve_refuses_a_short_secret(capsys, monkeypatch):
    monkeypatch.setenv("TURNLOG_AUTH_SECRET", "short")
    code, _, err = run(capsys, "serve", "--host", "0.0.0.0")
    assert code == 2
    assert "too short" in err


@pytest.mark.parametrize("named", ["no_such_module:app", "json:app", "json:dumps", "json"])
def test_serve_refuses_a_target_that_is_not_an_app(capsys, named):
    code, _, err = run(capsys, "serve", named)
    assert code == 2
    assert repr(named) in err


def test_serve_refuses_wrong_settings(capsys, tmp_path):
    (tmp_path / "turnlog.toml").write_text("port = 'many'")
    code, _, err = run(capsys, "serve")
    assert (code, err) == (2, "turnlog: 'port' must be a whole number, not 'many'.\n")


# the whole


@pytest.mark.parametrize("argv", [["fly"], ["token"], ["export", "s", "--format", "pdf"]])
def test_wrong_usage_prints_the_usage(capsys, argv):
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("usage: turnlog")


def test_without_a_command_every_command_is_described(capsys):
    assert main([]) == 2
    assert "doctor" in capsys.readouterr().err


WRONG = {
    "bill --from=x": "'--from' must be a day",
    "bill --from=2026-11-02 --to=2026-11-01": "'--to' must be a later day than '--from'",
    "webhooks --limit=0": "'--limit' must be 1 or more",
    "verify --heads=nowhere": "'nowhere' cannot be read: No such file or directory.",
    "verify --heads=turnlog.toml": "'turnlog.toml' does not hold what `turnlog heads` prints.",
}


@pytest.mark.parametrize(("command", "why"), WRONG.items())
def test_what_cannot_be_meant_is_refused_with_a_sentence(capsys, data, tmp_path, command, why):
    (tmp_path / "turnlog.toml").write_text("port = 9000\n")
    assert main([*command.split(), data]) == 2
    assert why in capsys.readouterr().err


def test_the_simulation_says_that_its_port_is_taken(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["sim", f"--port={port}"]) == 2
    assert f"Port {port} of 127.0.0.1 is taken" in capsys.readouterr().err
    assert main(["sim", "--port=70000"]) == main(["sim", "--pace=-1"]) == 2


@pytest.mark.parametrize("days", ["-1", "nan", "inf", "1e12"])
def test_an_age_that_cannot_be_is_refused(tmp_path, capsys, days):
    assert main(["migrate", f"--data={tmp_path}"]) == 0
    assert main(["archive", f"--older-than={days}", f"--data={tmp_path}"]) == 2
    assert "'--older-than' must be between 0 and 36500 days" in capsys.readouterr().err


def test_help_describes_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    output = capsys.readouterr().out
    assert "Prove one session or all of them" in output
    assert "Start the server" in output


@pytest.mark.parametrize("command", ["verify", "heads", "sessions", "bill", "migrate", "archive"])
def test_who_looks_at_a_store_needs_no_secret_of_a_webhook(capsys, data, tmp_path, command):
    secret = 'url = "https://x.example"\nsecret = "${PAGER_SECRET}"\n'
    (tmp_path / "turnlog.toml").write_text(f"[webhooks.pager]\n{secret}")
    assert run(capsys, command, data)[0] == 0
    assert "'PAGER_SECRET' is not set" in run(capsys, "serve", data)[2]


def test_sessions_are_listed_with_what_replay_needs(capsys, data):
    code, out, _ = run(capsys, "sessions", data)
    assert code == 0
    (line,) = out.splitlines()
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d  s  alice ", line)
    assert run(capsys, "sessions", data, "--user=nobody")[1] == "There is no session.\n"
