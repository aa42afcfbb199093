"""We count the tokens that Claude reported: on every recorded stream, and after a migration."""

import json
import sqlite3
from contextlib import closing
from decimal import Decimal

import msgspec
import pytest
from recorded import STREAMS, each
from test_claude_stream import split
from test_recordings import BROKEN, WHOLE, sdks, without_nulls

from turnlog.engines.claude.stream import Call
from turnlog.events.content import usage_of
from turnlog.events.kinds import Message
from turnlog.events.money import total
from turnlog.events.rows.record import NO_SEAL, Record, records, sealed
from turnlog.events.usage import parts_of
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import CallStarted
from turnlog.prices import PriceBook
from turnlog.projections.billing.bill import whole
from turnlog.projections.proof import prove
from turnlog.stores.sqlite.migrations import migrations
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

SUMS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def played(path):
    """The report of a recorded stream: of its message, or of the draft where it was cut."""
    outputs = Call(clock=lambda: 0.0).feed(split(path.read_bytes()))
    state = TurnState(s.new_turn(), s.AGENT)
    for output in outputs:
        if isinstance(output, CallStarted):
            state.call_started(output, "1", s.AGENT)
    messages = [output for output in outputs if isinstance(output, Message)]
    drafts = [draft.events("interrupted")[-1] for draft in state.drafts.values()]
    return (messages or drafts or [None])[-1]


def sdk_usage(path):
    return without_nulls(sdks(path).get("usage") or {})


def differences(path):
    """Where our report is not the SDK's; it drops fields, so only what it has is compared."""
    ours = without_nulls(played(path).reported)
    return {field for field, value in sdk_usage(path).items() if ours.get(field) != value}


FINAL = [path for path in STREAMS if sdks(path)]


@pytest.mark.parametrize("path", each(FINAL))
def test_the_usage_of_a_recorded_stream_is_what_the_sdk_says(path):
    assert differences(path) == set()


@pytest.mark.parametrize("path", each(FINAL))
def test_the_parts_of_a_recorded_stream_add_up(path):
    """The model's own calls to the API's sums; the advisor and the compaction come on top."""
    message = played(path)
    parts = parts_of(message.model, message.reported)
    own = [part for part in parts if part.kind in ("message", "fallback_message")]
    sums = (
        sum(part.input_tokens for part in own),
        sum(part.output_tokens for part in own),
        sum(part.write_5m_tokens + part.write_1h_tokens for part in own),
        sum(part.read_tokens for part in own),
    )
    assert sums == tuple(message.reported.get(field) or 0 for field in SUMS)
    assert message.token_usage == usage_of(message.reported)
    assert message.token_usage.total_tokens == sum(part.total_tokens for part in parts)


def test_all_recorded_streams_are_compared_and_most_have_a_price(capsys):
    book = PriceBook()
    messages = [played(path) for path in FINAL]
    costs = [total(book.rate(m.model, m.reported, "2026-11-16")) for m in messages]
    tokens = sum(m.token_usage.total_tokens for m in messages)
    known = [cost for cost in costs if cost is not None]
    with capsys.disabled():
        print(
            f"\n{len(FINAL)} recorded streams, {len(set(FINAL) & set(BROKEN))} of them cut:"
            f" {tokens:,} tokens as the SDK counts them, {len(known)} priced, ${total(known)}"
        )
    assert len(known) >= len(FINAL) * 0.8
    assert len(FINAL) >= len(WHOLE)


# a database from before there were prices


def old_database(folder):
    """As turnlog made it before migration 5, with a session whose answers have no costs."""
    with closing(sqlite3.connect(folder / "turnlog.db", isolation_level=None)) as db:
        for number, sql in migrations():
            if number < 5:
                db.executescript(f"BEGIN;{sql};PRAGMA user_version={number};COMMIT;")
        for table, values in _rows():
            marks = ", ".join(f":{column}" for column in values)
            db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", values)


REPORTED = {
    "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 7,
    "cache_creation": {"ephemeral_1h_input_tokens": 7, "ephemeral_5m_input_tokens": 0},
}  # fmt: skip


DIGESTS = ("salt", "digest")  # columns that were not there then


def _rows():
    place = {"session_id": "s", "user_id": "alice", "turn_id": "t"}
    yield "sessions", {"id": "s", "user_id": "alice", "title": "Old", "agent_id": "assistant",
                       "created_at": s.AT}  # fmt: skip
    yield "turns", {"id": "t", "session_id": "s", "user_id": "alice", "state": "done",
                    "first_seq": 0, "started_at": s.AT, "owner": "gone"}  # fmt: skip
    said = s.said("Hi.", id="msg_old")
    said = msgspec.structs.replace(said, reported=REPORTED, token_usage=usage_of(REPORTED))
    asked = s.asked()
    for record in _unpriced(records("s", "t", s.placed(asked, said), 0, NO_SEAL)):
        columns = record._asdict()
        yield "events", {name: columns[name] for name in columns if name not in DIGESTS}
    for seq, (id, role, event) in enumerate(
        [(asked.message_id, "user", asked), ("msg_old", "assistant", said)]
    ):
        blocks = said.blocks if role == "assistant" else [{"type": "text", "text": asked.content}]
        yield "messages", {**place, "message_id": id, "seq": seq, "created_at": s.AT, "role": role,
                           "content": msgspec.json.encode(blocks).decode(),
                           "stop_reason": getattr(event, "stop_reason", None),
                           "model": getattr(event, "model", None), "agent_id": "assistant",
                           "is_internal": 0}  # fmt: skip
    yield "usage", {**place, "message_id": "msg_old", "seq": 1, "created_at": s.AT,
                    "model": said.model, "input_tokens": 10, "output_tokens": 5,
                    "cache_write_tokens": 7, "cache_read_tokens": 0,
                    "reported": msgspec.json.encode(REPORTED).decode()}  # fmt: skip


def _unpriced(rows):
    """The bodies as they were written then: without a word of what each part cost."""
    seal = NO_SEAL
    for row in rows:
        body = json.loads(row.body)
        body.pop("costs", None)
        old = Record(*row)._replace(body=json.dumps(body).encode(), salt=None, digest=None)
        seal = sealed(old, seal)
        yield old._replace(seal=seal)


async def test_an_old_database_is_brought_up_to_date_and_proves_whole(tmp_path):
    old_database(tmp_path)
    store = SqliteStore(tmp_path)
    await store.open()
    assert prove(await store.evidence("s")).problems == []
    (row,) = charges = await store.charges(user_id="alice")
    assert (row.input_tokens, row.cache_write_1h_tokens, row.cache_write_5m_tokens) == (10, 7, 0)
    assert (row.agent_id, row.cost_picousd, whole(charges).cost_usd) == ("assistant", None, None)
    with closing(sqlite3.connect(tmp_path / "turnlog.db")) as db:
        (cost,) = db.execute("SELECT estimated_cost_usd FROM vw_session_costs").fetchone()
    assert cost is None
    await store.close()


async def test_what_had_no_price_can_be_rated_afterwards(tmp_path, capsys):
    from turnlog.commands.bill import repriced

    old_database(tmp_path)
    store = SqliteStore(tmp_path)
    await store.open()
    charges = repriced(await store.charges(), PriceBook())
    # 10 x 2 + 5 x 10 + 7 x 4 = 98, a million
    assert whole(charges).cost_usd == Decimal("0.000098")
    assert whole(await store.charges()).cost_usd is None
    await store.close()
