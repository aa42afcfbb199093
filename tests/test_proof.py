"""Whatever is done to a stored session behind turnlog's back is found, and named."""

import asyncio
import sqlite3
from contextlib import closing
from decimal import Decimal

import msgspec
import pytest

from turnlog.cli import main
from turnlog.events.content import hash_of
from turnlog.events.kinds import ToolSettled
from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

CITED = s.text("Done.") | {"citations": [{"type": "char_location", "cited_text": "Quack."}]}
# 10 tokens at 2 and 5 at 10 dollars a million.
COST = Decimal("0.00007")
PRICED = msgspec.structs.replace(s.said("Hi.", id="msg_1"), costs=[COST], cost_usd=COST)
TALK = [
    [s.asked("Hello."), PRICED],  # 0, 1
    [
        s.asked("Look."),  # 2
        s.said(s.call("a"), stop="tool_use", id="msg_2"),  # 3
        s.used("a"),  # 4
        s.approval("ok?", "a"),  # 5
        s.decision("ok?"),  # 6
        s.result("a"),  # 7
        s.said(CITED, id="msg_3"),  # 8
    ],
    [s.asked("And now?"), s.broke()],  # 9, 10
]
REST = "type, version, at, agent_id, agent_name, event_index, is_internal, body, seal, salt, digest"
UNLOCKED = ["DROP TRIGGER events_never_change", "DROP TRIGGER events_never_vanish"]
# Without the primary key, the table takes what it never should; its triggers go with it.
REBUILT = ["PRAGMA legacy_alter_table = ON", "CREATE TABLE copy AS SELECT * FROM events",
           "DROP TABLE events", "ALTER TABLE copy RENAME TO events"]  # fmt: skip


def again(seq, of, event_id="'fresh'"):
    """A row that is there already, once more under that number."""
    row = f"SELECT session_id, {seq}, turn_id, {event_id}, {REST} FROM events WHERE seq = {of}"
    return f"INSERT INTO events (session_id, seq, turn_id, event_id, {REST}) {row}"


def delete(where):
    return [*UNLOCKED, f"DELETE FROM events WHERE {where}"]


def update(seq, change):
    return [*UNLOCKED, f"UPDATE events SET {change} WHERE seq = {seq}"]


def reword(seq, old, new):
    return update(seq, f"body = CAST(replace(body, '{old}', '{new}') AS BLOB)")


PLANTED = {
    "a gap": (delete("seq = 5"), "gap: number 5 is missing"),
    "a lost beginning": (delete("seq = 0"), "gap: number 0 is missing"),
    "a duplicate number": ([*REBUILT, again(8, of=8)], "duplicate: number 8"),
    "a duplicate event": ([*REBUILT, again(11, of=8, event_id="event_id")], "duplicate: event "),
    "a second result": ([*REBUILT, again(11, of=7)], "duplicate: result of tool a"),
    "a tool without result": (
        delete("seq = 7"),
        "unpaired tool: a was asked for and has no result",
    ),
    "a result without tool": (
        delete("seq = 4"),
        "unpaired tool: a has a result and was not asked for",
    ),
    "an approval of nothing": (delete("seq = 4"), "orphan approval: ok? is for no tool call"),
    "an unasked decision": (
        delete("seq = 5"),
        "orphan approval: ok? was decided and never asked for",
    ),
    "a cost that is no amount": (
        reword(1, "0.00007", "0.00000000000007"),
        "changed: number 1 cannot be read: 7E-14 USD has more than 12 decimals",
    ),
    "a cost beyond measure": (
        reword(1, "0.00007", "7E+900000"),
        "changed: number 1 cannot be read: a cost is beyond measure",
    ),
    "a changed text": (reword(1, "Hi.", "Ho."), "changed: number 1 is not what was written"),
    "a body become text": (
        update(1, "body = replace(body, 'Hi.', 'Ho.')"),
        "changed: number 1 is not what was written",
    ),
    "a changed digest": (update(1, "digest = zeroblob(32)"), "changed: number 1 is not what was"),
    "a changed salt": (update(1, "salt = zeroblob(16)"), "changed: number 1 is not what was"),
    "a lost digest": (update(1, "digest = NULL"), "changed: number 1 is not what was written"),
    "a body lost with its digest": (
        update(1, "body = X'', salt = NULL, digest = NULL"),
        "changed: number 1 cannot be read",
    ),
    "a changed time": (update(10, "at = '2020-01-01T00:00:00.000Z'"), "changed: number 10"),
    "a hidden event": (update(10, "is_internal = 1"), "changed: number 10"),
    "a broken body": (update(10, "body = X'7B'"), "changed: number 10 cannot be read"),
    "a future event": (update(10, "version = 2"), "changed: number 10 cannot be read"),
    "a version that never was": (update(10, "version = 0"), "changed: number 10 cannot be read"),
    "a swapped turn": (
        update(9, "turn_id = 's.t0'"),
        "order: turn s.t0: 'user_message_sent' cannot happen while ANSWERED",
    ),
    "changed usage": (
        reword(1, '"inputTokens":10', '"inputTokens":1'),
        "table: usage of msg_1 is not what the model reported",
    ),
    "a cut tail": (delete("seq >= 8"), "table: usage msg_3/0: no event wrote this row"),
    "a cut error": (delete("seq = 10"), "table: turns s.t2: it is failed, the log says unfinished"),
    "a lost turn": (
        ["DELETE FROM turns WHERE id = 's.t1'"],
        "table: turns s.t1: the row is missing",
    ),
    "a turn that begins elsewhere": (
        ["UPDATE turns SET first_seq = 1 WHERE id = 's.t2'"],
        "table: turns s.t2: it does not begin at number 1",
    ),
    "a moved anchor": (["UPDATE sessions SET anchor = 9"], "table: sessions s: anchor not as"),
    "a search uncounted": (["UPDATE sessions SET searches = 1"], "table: sessions s: searches not"),
    "a changed message id": (
        update(1, "message_id = 'msg_9'"),
        "table: messages msg_1: the row is missing",
    ),
    "a message that is none": (
        update(4, "message_id = 'msg_9'"),
        "table: messages msg_9: no event wrote this row",
    ),
    "a changed usage row": (
        ["UPDATE usage SET input_tokens = 1 WHERE message_id = 'msg_1'"],
        "table: usage msg_1/0: input_tokens not as the log has it",
    ),
    "a lost usage row": (
        ["DELETE FROM usage WHERE message_id = 'msg_1'"],
        "table: usage msg_1/0: the row is missing",
    ),
    "a changed cost row": (
        ["UPDATE usage SET cost_picousd = 1 WHERE message_id = 'msg_1'"],
        "table: usage msg_1/0: cost_picousd not as the log has it",
    ),
    "a changed cost": (
        reword(1, '"costUsd":"0.00007"', '"costUsd":"0.00006"'),
        "table: cost of msg_1 is not the sum of its parts",
    ),
    "a cost from nowhere": (
        reword(8, '"stopReason":', '"costUsd":"5","stopReason":'),
        "table: cost of msg_3 is not the sum of its parts",
    ),
    "a lost citation": (
        ["DELETE FROM message_citations"],
        "table: message_citations msg_3/0: the row is missing",
    ),
    "a forged approval": (
        ["UPDATE approvals SET decided_by = 'bob'"],
        "table: approvals ok?: decided_by not as the log has it",
    ),
}

RUNS = {
    "an edited run": (["UPDATE tool_runs SET args = '{\"a\":1}'"], "args not as they were hashed"),
    "a run of other arguments": (
        ["UPDATE tool_runs SET args = '{\"a\":1}', args_hash = 'other'"],
        "it began without being allowed",
    ),
    "a run of another": (
        ["UPDATE tool_runs SET user_id = 'bob'"],
        "user_id not as the log has it",
    ),
    "a doubt done away with": (["UPDATE tool_runs SET status = 'done'"], "status not as the log"),
    "a forged finding": (["UPDATE tool_runs SET decided_by = 'bob'"], "decided_by not as the log"),
    "a lost run": (["DELETE FROM tool_runs"], "the row is missing"),
    "a run of nothing": (
        [*UNLOCKED, "DELETE FROM events WHERE type = 'tool_use'"],
        "it began and was not asked for",
    ),
    "a run that nobody allowed": (
        [*UNLOCKED, "DELETE FROM events WHERE type = 'approval_resolved'"],
        "it began without being allowed",
    ),
    "a run that was refused": (
        [*UNLOCKED, "UPDATE events SET body = CAST(replace(body, 'true', 'false') AS BLOB)"
         " WHERE type = 'approval_resolved'"],
        "it began without being allowed",
    ),
}  # fmt: skip


def filled(folder, fill):
    """The folder, with what `fill` put into its store."""

    async def work():
        store = SqliteStore(folder)
        await store.open()
        await fill(store)
        await store.close()

    asyncio.run(work())
    return folder


@pytest.fixture
def data(migrated):
    """A folder with one whole session."""
    return filled(migrated, lambda store: s.keep(store, *TALK))


async def write(store):
    """A session with a write that a person allowed and that was in doubt until they looked."""
    await store.create_session(s.new_session())
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    allowed = msgspec.structs.replace(s.decision("ok?"), args_hash=hash_of({}))
    asked = [s.said(s.call("a"), stop="tool_use"), s.used("a"), s.approval("ok?", "a"), allowed]
    await store.append(turn, s.placed(*asked, first_index=1))
    await store.start_tools(turn, [s.started("a")])
    await store.append(turn, s.placed(s.unclear("a"), s.said("Look!"), first_index=5))
    await store.finish_turn(turn)
    settled = ToolSettled(tool_use_id="a", tool_name="look", happened=True, decided_by="alice")
    await store.annotate(turn, s.placed(settled))


def test_a_write_that_was_settled_is_ok(migrated, capsys):
    assert main(["verify", "--data", str(filled(migrated, write))]) == 0
    assert capsys.readouterr().out == "1 session, 8 events: ok\n"


@pytest.mark.parametrize(("statements", "problem"), RUNS.values(), ids=RUNS)
def test_what_was_done_to_a_write_is_found_and_named(migrated, capsys, statements, problem):
    plant(filled(migrated, write), statements)
    assert main(["verify", "s", "--data", str(migrated)]) == 1
    assert f"s  table: tool_runs a: {problem}" in capsys.readouterr().out


def plant(data, statements):
    """Do this, and put the triggers back that it took away: that alone would be found."""
    with closing(sqlite3.connect(data / "turnlog.db")) as db, db:
        listed = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        made = dict(db.execute(listed).fetchall())
        for statement in statements:
            db.execute(statement)
        left = dict(db.execute(listed).fetchall())
        for name in made.keys() - left.keys():
            db.execute(made[name])


def test_a_whole_session_is_ok(data, capsys):
    assert main(["verify", "--data", str(data)]) == 0
    assert capsys.readouterr().out == "1 session, 11 events: ok\n"


@pytest.mark.parametrize(("statements", "problem"), PLANTED.values(), ids=PLANTED)
def test_what_was_planted_is_found_and_named(data, capsys, statements, problem):
    plant(data, statements)
    assert main(["verify", "s", "--data", str(data)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert [line for line in found if line.startswith(f"s  {problem}")], found
    assert found[-1].endswith("1 not ok")


# content that was erased: nothing does so yet but whoever has the file


def erase(*numbers):
    return [*UNLOCKED, f"UPDATE events SET body = X'', salt = X'' WHERE seq IN {(*numbers, -1)}"]


@pytest.mark.parametrize("seq", range(11))
def test_a_chain_is_proven_whatever_content_was_erased(data, capsys, seq):
    plant(data, erase(seq))
    assert main(["verify", "--data", str(data)]) == 0
    told = "1 session, 11 events: ok, the content of 1 was erased\n"
    assert capsys.readouterr().out == told


def test_a_person_whose_data_is_erased_leaves_a_proven_chain(data, capsys):
    """The rows that were folded from the content go with it."""
    gone = [f"DELETE FROM {t}" for t in ("usage", "message_citations", "approvals")]
    plant(data, [*erase(*range(11)), *gone])
    assert main(["verify", "--data", str(data)]) == 0
    assert "the content of 11 was erased" in capsys.readouterr().out


BESIDE_ERASED = {
    "an erased row that was moved": ([update(5, "at = 'x'")[-1]], "changed: number 5"),
    "a text of the same turn": ([reword(8, "Done.", "Gone.")[-1]], "changed: number 8"),
    "a text of another turn": ([reword(1, "Hi.", "Ho.")[-1]], "changed: number 1"),
    "a gap": (["DELETE FROM events WHERE seq = 6"], "gap: number 6 is missing"),
    "a row of another turn": (["DELETE FROM usage WHERE message_id = 'msg_1'"], "table: usage"),
    "a moved anchor": (["UPDATE sessions SET anchor = 9"], "table: sessions s: anchor not as"),
}


@pytest.mark.parametrize(("statements", "problem"), BESIDE_ERASED.values(), ids=BESIDE_ERASED)
def test_what_is_planted_beside_an_erased_event_is_found(data, capsys, statements, problem):
    plant(data, [*erase(5), *statements])
    assert main(["verify", "--data", str(data)]) == 1
    assert f"s  {problem}" in capsys.readouterr().out


def test_one_bad_session_among_good_ones_is_named(data, capsys):
    columns = "user_id, title, agent_id, created_at"
    other = f"INSERT INTO sessions (id, {columns}) SELECT 's2', {columns} FROM sessions"
    plant(data, [other, *delete("seq = 5")])
    assert main(["verify", "--data", str(data)]) == 1
    assert capsys.readouterr().out.endswith("2 sessions, 10 events: 1 not ok\n")


def test_a_session_that_does_not_exist_cannot_be_verified(data, capsys):
    assert main(["verify", "nowhere", "--data", str(data)]) == 1
    assert "There is no session 'nowhere'." in capsys.readouterr().err


async def evidence(*turns):
    store = MemoryStore()
    await s.keep(store, *turns)
    return await store.evidence("s")


async def test_an_empty_session_is_whole():
    proof = prove(await evidence())
    assert (proof.ok, proof.first, proof.last, proof.count) == (True, None, None, 0)


async def test_the_numbers_are_told():
    proof = prove(await evidence(*TALK))
    assert (proof.first, proof.last, proof.count, proof.gaps) == (0, 10, 11, [])


async def test_a_huge_gap_is_told_in_part():
    whole = await evidence(*TALK)
    lost = whole._replace(log=[*whole.log[:-1], whole.log[-1]._replace(seq=10**9)])
    assert prove(lost).gaps == list(range(10, 1010))
