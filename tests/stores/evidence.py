"""What is stored about a session, to be compared."""

from turnlog.testing.contracts.log import by_key


async def stored(store, session_id):
    """Its evidence. PostgreSQL gives the rows of a table in no order."""
    found = await store.evidence(session_id)
    tables = {table: by_key(table, rows) for table, rows in found.tables.items()}
    return found._replace(tables=tables, turns={turn.id: turn for turn in found.turns})
