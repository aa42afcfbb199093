"""PostgreSQL finds what is asked for by an index, whatever is asked."""

import re

import pytest

from turnlog.projections import tables
from turnlog.stores.postgres.statements import SQL, numbered
from turnlog.stores.sql.statements import SQL as SHARED
from turnlog.stores.sql.statements import equal

pytestmark = pytest.mark.slow


WHOLE_TABLES = {  # looks at everything, for an audit; or at a table of a few rows
    "list_session_ids", "get_schema", "list_living_nodes", "forget_nodes", "drop_schema",
    "replay_notices", "list_protections", "list_closed_sessions", "list_archived_sessions",
    "list_archiving", "forget_writes",
    "append_event",  # looks at nothing
    "write_turn",  # see below
}  # fmt: skip
FILLED = {
    "own": "true",
    "others": "true",
    "rules": "'asker'",
    "bounds": "user_id = :user_id AND created_at >= :start",
    "calls": ":call_0, :call_1",
}


def statements():
    named = {**SHARED, **SQL}
    for name, text in named.items():
        if re.match("SELECT|UPDATE|DELETE|WITH", text) and name not in WHOLE_TABLES:
            columns = SHARED["session_columns"] if "open_turn" in text else "*"
            if "{" not in text:
                yield name, text
            elif not re.search(r"\{(table|key|changes)\}", text):
                yield name, text.format(**FILLED, columns=columns)
    for table in tables.STORED:
        yield f"list_rows {table}", SHARED["list_rows"].format(table=table, columns="*")
        yield f"get_status {table}", f"SELECT 1 FROM {table} WHERE {equal(tables.KEYS[table])}"


async def test_every_query_has_an_index(db):
    """With sequential scans made dear, whoever still makes one has no index to use."""
    await db.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
    slow = {}
    for name, text in statements():
        sql, values = numbered(text, Anything())
        await db.execute(f"PREPARE it AS {sql}")
        given = f"({', '.join(['NULL'] * len(values))})" if values else ""
        plan = await db.fetch(f"EXPLAIN EXECUTE it{given}")
        await db.execute("DEALLOCATE it")
        lines = [row[0] for row in plan if "Seq Scan" in row[0]]
        if lines:
            slow[name] = lines
    assert slow == {}


class Anything(dict):
    def __missing__(self, name):
        return None
