"""A NUL that a model sends: the log has it, and every store can write the rows beside it."""

import pytest
from hostile_model import MESSAGE, USAGE, end, frame, head, hostile, text

from turnlog import Decision, create_app
from turnlog.config import Settings
from turnlog.errors import NotFound
from turnlog.ports import Agent
from turnlog.projections import tables
from turnlog.projections.proof import prove
from turnlog.speaking.answer import read_answer
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import kept_events
from turnlog.transports.access.auth import LOCAL_USER as USER

N = "a\0b"
CITED = {"type": N, "cited_text": N, "document_index": 0, "document_title": N,
         "start_char_index": 0, "end_char_index": 1}  # fmt: skip
REPORTED = USAGE | {"service_tier": N, "inference_geo": N, "speed": N}
EVERYWHERE = (
    frame("message_start", message=MESSAGE | {"id": N, "model": N, "usage": REPORTED})
    + frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
    + text(N)
    + frame("content_block_delta", index=0, delta={"type": "citations_delta", "citation": CITED})
    + end(N)
)


async def keeps_a_nul(store):
    async with hostile(head(), EVERYWHERE) as (url, _):
        settings = Settings(api_key="test", base_url=url)
        async with create_app([Agent("a")], settings=settings, store=store) as app:
            session = (await app.create_session(USER)).id
            result = await app.run_turn("Hi", session_id=session, user_id=USER)
            assert result.error is None
            _, message = await kept_events(store, session)  # proven, too
            assert (message.content, message.model, message.citations[0]["cited_text"]) == (N, N, N)
            evidence = await store.evidence(session)
            (row,) = evidence.tables["message_citations"]
            assert (row["cited_text"], row["kind"]) == ("a␀b", "a␀b")
            # A row of SQLite that was written before has the character itself.
            older = {"message_citations": [row | {"cited_text": N}]}
            old = evidence._replace(tables=evidence.tables | older)
            assert prove(old).problems == []


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore], ids=["memory", "sqlite"])
async def test_a_nul_of_a_model_is_kept(kind, tmp_path):
    await keeps_a_nul(kind(tmp_path) if kind is SqliteStore else kind())


@pytest.mark.slow
async def test_a_nul_of_a_model_is_kept_by_postgres(database):
    await keeps_a_nul(PostgresStore(database))


async def knows_no_id_with_a_nul(store):
    """A client may send it in a body or over a socket, and a model as an argument of a tool."""
    async with create_app([Agent("a")], settings=Settings(), store=store) as app:
        session = (await app.create_session(USER)).id
        with pytest.raises(NotFound):
            await app.run_turn("Hi", session_id=N, user_id=USER)
        with pytest.raises(NotFound):
            await app.answer_approval(USER, N, Decision(approved=True))
        turn = await app.run_turn("Hi", session_id=session, user_id=USER, files=[N])
        assert not turn.success and not turn.events


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore], ids=["memory", "sqlite"])
async def test_no_id_has_a_nul(kind, tmp_path):
    await knows_no_id_with_a_nul(kind(tmp_path) if kind is SqliteStore else kind())


@pytest.mark.slow
async def test_no_id_has_a_nul_in_postgres(database):
    await knows_no_id_with_a_nul(PostgresStore(database))


def test_a_call_whose_id_has_a_nul_gets_an_id_of_ours():
    answer = read_answer([s.said(s.call(N, N), stop="tool_use")], set(), (), shown=True)
    (call,) = answer.tool_uses
    assert call.tool_use_id.startswith("toolu_turnlog_") and call.tool_name == N
    (entry,) = s.log_of([answer.message])
    usage = [write.values for write in tables.writes("alice", entry) if write.table == "usage"]
    assert [row["tools"] for row in usage] == ["a␀b"]
