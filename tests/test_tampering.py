"""Somebody with write access to the database: whatever is done there, `turnlog verify` finds it.

Each line is one tampering, done to a copy of a database that a real server wrote. FOUND needs
nothing but the database; KEYED is by somebody who seals the log anew, and is found with the key;
CUT is by somebody who has the key or takes away whole logs, and is found with the heads that an
auditor kept.
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing

import pytest

from turnlog.cli import main
from turnlog.events.rows.record import NO_SEAL, Record, digest_of
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET, as_user
from turnlog.testing.office import office

KEY = "a key of at least 32 characters, say"
ALICE, BOB = as_user("alice"), as_user("bob")
PAY = Reply("I pay.", ToolCall("pay", {"amount": 5}, "toolu_pay"))
LATE = Reply(ToolCall("pay_late", {"amount": 7}, "toolu_late"))


async def written(folder, key=None):
    """Alice pays once with a person's consent, and once it is in doubt; Bob says hello."""
    settings = {"seal_key": key} if key else {}
    replies = [PAY, Reply("Paid."), LATE, Reply("Not sure."), Reply("Hello.")]
    async with office(*replies, store=SqliteStore(folder), secret=SECRET, **settings) as desk:
        if key:
            desk.app.store.seals = desk.app.settings.seals
        session, (asked,) = await desk.asked("Pay Bob", headers=ALICE)
        await desk.answer(asked, headers=ALICE)
        await desk.rest()
        await desk.ask(session, "And again", ALICE, requestId="r-1")
        await desk.rest()
        path = f"/api/sessions/{session}/doubts/toolu_late"
        await desk.http.post(path, json={"happened": True, "note": "I looked."}, headers=ALICE)
        await desk.asked("Hello", headers=BOB)
        for n in range(3):
            read = AuditRead(at=f"2026-11-17T00:00:0{n}Z", auditor="eve", session_id="s", what="x")
            await desk.app.store.audit.add(read)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    asyncio.run(written(folder))
    return folder


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyed")
    asyncio.run(written(folder, KEY))
    return folder


@pytest.fixture
def copied(tmp_path):
    def copy(folder):
        return shutil.copytree(folder, tmp_path / "data", dirs_exist_ok=True)

    return copy


def tampered(folder, *statements):
    with closing(sqlite3.connect(folder / "turnlog.db", isolation_level=None)) as db:
        db.create_function("folded", 1, str.casefold)
        for statement in statements:
            statement(db) if callable(statement) else db.execute(statement)


def triggers(db):
    return dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())


def unlocked(*statements):
    """Without the triggers, which are put back afterwards: no trace of it is left."""

    def work(db):
        made = triggers(db)
        for name in made:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            statement(db) if callable(statement) else db.execute(statement)
        for sql in made.values():
            db.execute(sql)

    return work


def resealed(db, seals=None):
    """Every log sealed anew, as whoever reads the source can do it."""
    owners = dict(db.execute("SELECT id, user_id FROM sessions").fetchall())
    for session, owner in owners.items():
        names = ", ".join(Record._fields)
        rows = db.execute(
            f"SELECT {names} FROM events WHERE session_id = ? ORDER BY seq", [session]
        ).fetchall()
        before = NO_SEAL
        for values in rows:
            row = Record(*values)
            row = row._replace(digest=digest_of(row.body, row.salt))
            seal = (seals or Seals()).seal(row, before, owner)
            db.execute(
                "UPDATE events SET digest = ?, seal = ? WHERE session_id = ? AND seq = ?",
                [row.digest, seal, session, row.seq],
            )
            before = seal


def given_away(db):
    """Alice's session is Bob's, in every table that names a user."""
    db.execute("UPDATE sessions SET user_id = 'bob'")
    for table in ("turns", "usage", "message_citations", "approvals", "tool_runs"):
        db.execute(f"UPDATE {table} SET user_id = 'bob'")


ALICES = "(SELECT id FROM sessions WHERE user_id = 'alice')"
STRAY_USAGE = (
    "INSERT INTO usage SELECT 'nowhere', seq, part, 'forged', user_id, turn_id, created_at,"
    " agent_id, tools, kind, model, input_tokens, output_tokens, cache_write_5m_tokens,"
    " cache_write_1h_tokens, cache_read_tokens, thinking_tokens, web_searches, service_tier, geo,"
    " speed, partial, 5000000000000000 FROM usage LIMIT 1"
)


def stray(table, **changes):
    """A row of a session that does not exist, made from one that does."""

    def work(db):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        wanted = ", ".join(f"'{changes[name]}'" if name in changes else name for name in names)
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(f"INSERT INTO {table} SELECT {wanted} FROM {table} LIMIT 1")

    return work


def update(table, change, where="TRUE"):
    return f"UPDATE {table} SET {change} WHERE {where}"


def event(change, where):
    return unlocked(f"UPDATE events SET {change} WHERE {where}")


FOUND = {
    # the log
    "a word of an answer": event("body = CAST(replace(body, 'Paid', 'Kept') AS BLOB)",
                                 "type = 'message'"),
    "the amount of a call": event("body = CAST(replace(body, '5', '9') AS BLOB)",
                                  "type = 'tool_use'"),
    "who decided": event("body = CAST(replace(body, 'alice', 'boss1') AS BLOB)",
                         "type = 'approval_resolved'"),
    "the time of an event": event("at = '2020-01-01T00:00:00.000Z'", "seq = 1"),
    "the agent of an event": event("agent_id = 'other'", "seq = 1"),
    "an internal event made visible": event("is_internal = 1 - is_internal", "seq = 1"),
    "the turn of an event": event("turn_id = 'other'", "seq = 2"),
    "the place on screen": event("event_index = 99", "seq = 1"),
    "an event taken out": unlocked("DELETE FROM events WHERE seq = 3"),
    "the last event taken off": unlocked(
        f"DELETE FROM events WHERE session_id IN {ALICES} AND seq ="
        f" (SELECT max(seq) FROM events WHERE session_id IN {ALICES})"),
    "two events swapped": unlocked("UPDATE events SET seq = -1 WHERE seq = 1",
                                   "UPDATE events SET seq = 1 WHERE seq = 2",
                                   "UPDATE events SET seq = 2 WHERE seq = -1"),
    "a body emptied": event("body = X''", "seq = 1"),
    "a digest of another body": event("digest = zeroblob(32)", "seq = 1"),
    "a seal": event("seal = zeroblob(16)", "seq = 1"),
    "an event of another session": unlocked(
        f"UPDATE events SET session_id = (SELECT id FROM sessions WHERE user_id = 'bob'),"
        f" seq = 99 WHERE session_id IN {ALICES} AND seq = 1"),
    "all events of a session": unlocked(f"DELETE FROM events WHERE session_id IN {ALICES}"),
    # whose it is
    "a session given to another user": "UPDATE sessions SET user_id = 'bob'",
    "a session given away in every table": unlocked(given_away),
    "a turn given to another user": update("turns", "user_id = 'bob'"),
    "an approval given to another user": update("approvals", "user_id = 'bob'"),
    "a bill given to another user": update("usage", "user_id = 'bob'", "user_id = 'alice'"),
    # sessions
    "the anchor": update("sessions", "anchor = 3"),
    "the searches": update("sessions", "searches = 3"),
    "a session that began later": update("sessions", "created_at = '2999-01-01T00:00:00.000Z'"),
    # bills
    "a cost": update("usage", "cost_picousd = 1"),
    "a forged bill of no session": STRAY_USAGE,
    "tokens": update("usage", "output_tokens = output_tokens + 1"),
    "a row of usage taken out": "DELETE FROM usage",
    # messages: a view of the log, in which each has its id
    "the id of a message": event("message_id = message_id || '!'", "type = 'message'"),
    "the id of a message taken off": event("message_id = NULL", "type = 'message'"),
    "a message that is none": event("message_id = event_id", "type = 'tool_use'"),
    # approvals
    "an approval that was not given": update("approvals", "status = 'rejected'"),
    "who decided, in the table": update("approvals", "decided_by = 'boss'"),
    "what was allowed": update("approvals", "args = '{\"amount\":9}'"),
    "an approval of no session": stray("approvals", approval_id="x", session_id="nowhere"),
    # calls that began
    "the arguments of a call that ran": update("tool_runs", "args = '{\"amount\":9}'"),
    "the hash of them": update("tool_runs", "args_hash = 'x'"),
    "the name of a tool that ran": update("tool_runs", "tool_name = 'look'"),
    "the key of a call": update("tool_runs", "idempotency_key = 'x'"),
    "a doubt that was settled": update("tool_runs", "status = 'did_not_happen'",
                                       "tool_use_id = 'toolu_late'"),
    "who settled it": update("tool_runs", "decided_by = 'boss'", "tool_use_id = 'toolu_late'"),
    "when it was settled": update("tool_runs", "decided_at = '2020'", "tool_use_id = 'toolu_late'"),
    "a note": update("tool_runs", "note = 'No.'", "tool_use_id = 'toolu_late'"),
    "a call that began before it was asked for": update("tool_runs", "created_at = '2020'"),
    "a call that was in doubt taken out": "DELETE FROM tool_runs WHERE tool_use_id = 'toolu_late'",
    "a call that ran and ended taken out": "DELETE FROM tool_runs WHERE status = 'done'",
    "a call of no session": stray("tool_runs", session_id="nowhere"),
    # turns
    "how a turn ended": update("turns", "state = 'failed'"),
    "a turn that waits again": update("turns", "state = 'waiting'", "request_id = 'r-1'"),
    "an old turn that runs again": update("turns", "state = 'running'",
                                          f"first_seq = 0 AND session_id IN {ALICES}"),
    "where a turn began": update("turns", "first_seq = 1"),
    "when a turn began": update("turns", "started_at = '2020-01-01T00:00:00.000Z'"),
    "the request of a turn": update("turns", "request_id = 'other'", "request_id = 'r-1'"),
    "a turn taken out": "DELETE FROM turns",
    "a turn of no session": stray("turns", id="x", session_id="nowhere", request_id="y"),
    "a draft of no turn": "INSERT INTO drafts VALUES ('nowhere', 0, X'00')",
    # what protects the database
    "a trigger dropped": "DROP TRIGGER events_never_change",
    "a trigger that does nothing": lambda db: [
        db.execute("DROP TRIGGER events_never_vanish"),
        db.execute("CREATE TRIGGER events_never_vanish BEFORE DELETE ON events"
                   " BEGIN SELECT 1; END"),
    ],
    "a session that may be erased": "INSERT INTO erasing SELECT max(id) FROM sessions",
    "an index dropped": "DROP INDEX one_open_turn_a_session",
    # the audit's own trail
    "who read": unlocked("UPDATE audit_reads SET auditor = 'nobody' WHERE number = 1"),
    "a read taken out": unlocked("DELETE FROM audit_reads WHERE number = 1"),
    "the first read taken out": unlocked("DELETE FROM audit_reads WHERE number = 0"),
}  # fmt: skip
KEYED = {
    "an answer reworded, and all sealed anew": unlocked(
        "UPDATE events SET body = CAST(replace(body, 'I pay', 'I see') AS BLOB)", resealed),
    "a session given away, and sealed anew": unlocked(given_away, resealed),
    "sealed anew with another key": unlocked(lambda db: resealed(db, Seals(KEY + "!"))),
    "sealed anew without a key": unlocked(resealed),
}  # fmt: skip
CUT = {
    "a session taken out whole": unlocked(
        *(f"DELETE FROM {table} WHERE session_id IN {ALICES}" for table in
          ("events", "tool_runs", "approvals", "usage", "message_citations", "turns")),
        "DELETE FROM sessions WHERE user_id = 'alice'"),
    "the newest read of an auditor taken off": unlocked(
        "DELETE FROM audit_reads WHERE number = (SELECT max(number) FROM audit_reads)"),
    "an answer reworded by who has the key": unlocked(
        "UPDATE events SET body = CAST(replace(body, 'I pay', 'I see') AS BLOB)",
        lambda db: resealed(db, Seals(KEY))),
}  # fmt: skip


def verify(folder, *more):
    return main(["verify", f"--data={folder}", *more])


def test_what_a_server_wrote_is_whole(original, keyed, monkeypatch, capsys):
    assert verify(original) == 0, capsys.readouterr().out
    monkeypatch.setenv("TURNLOG_SEAL_KEY", KEY)
    assert verify(keyed) == 0, capsys.readouterr().out


def test_there_are_enough_of_them():
    assert len(FOUND) + len(KEYED) + len(CUT) >= 60


@pytest.mark.parametrize("work", FOUND.values(), ids=FOUND)
def test_tampering_is_found(original, copied, work):
    folder = copied(original)
    tampered(folder, work)
    assert verify(folder) == 1


@pytest.mark.parametrize("work", KEYED.values(), ids=KEYED)
def test_with_a_key_nobody_else_seals_a_log(keyed, copied, monkeypatch, work):
    monkeypatch.setenv("TURNLOG_SEAL_KEY", KEY)
    folder = copied(keyed)
    tampered(folder, work)
    assert verify(folder) == 1


@pytest.mark.parametrize("work", CUT.values(), ids=CUT)
def test_what_an_auditor_kept_tells_the_rest(keyed, copied, monkeypatch, capsys, tmp_path, work):
    monkeypatch.setenv("TURNLOG_SEAL_KEY", KEY)
    assert main(["heads", f"--data={keyed}"]) == 0
    kept = tmp_path / "heads"
    kept.write_text(capsys.readouterr().out)
    assert verify(keyed, f"--heads={kept}") == 0
    folder = copied(keyed)
    tampered(folder, work)
    assert verify(folder) == 0  # nothing in the database tells it
    assert verify(folder, f"--heads={kept}") == 1


def test_a_file_that_holds_no_heads_is_refused(original, tmp_path, capsys):
    (tmp_path / "heads").write_text("nonsense")
    assert verify(original, f"--heads={tmp_path / 'heads'}") == 2
    assert "does not hold what `turnlog heads` prints" in capsys.readouterr().err


def test_a_key_that_is_too_short_stops_the_start():
    from turnlog.config import Settings, refuse_open_door
    from turnlog.errors import ConfigError

    with pytest.raises(ConfigError, match="TURNLOG_SEAL_KEY is too short"):
        refuse_open_door(Settings(seal_key="short"))


def test_a_key_that_can_be_guessed_proves_nothing(original, monkeypatch, capsys):
    monkeypatch.setenv("TURNLOG_SEAL_KEY", "short")
    assert verify(original) == 2
    assert "TURNLOG_SEAL_KEY is too short" in capsys.readouterr().err


@pytest.mark.parametrize("since", ["yesterday", "18.11.2026", "2026-13-01"])
def test_a_time_that_is_none_excuses_no_row_from_the_key(original, monkeypatch, capsys, since):
    monkeypatch.setenv("TURNLOG_SEAL_KEY", KEY)
    monkeypatch.setenv("TURNLOG_SEAL_KEY_SINCE", since)
    assert verify(original) == 2
    assert "'seal_key_since' must be a time" in capsys.readouterr().err
