"""Whether a search left something out is found out without reading what was left out."""

import sqlite3
from contextlib import closing

import pytest

from turnlog.stores.sql.statements import SQL
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.texts import BOUNDS
from turnlog.testing import samples as s

ERASE = "DROP TRIGGER events_never_change; UPDATE events SET body = X'' WHERE seq < {length}"
ARCHIVE = f"INSERT INTO archives VALUES ('s', 0, {{length}} - 1, 'p', 9, 9, ''); {ERASE}"


@pytest.mark.parametrize(
    ("older", "reaches"),
    [("", False), (ERASE, False), (ARCHIVE, True)],
    ids=["in the log", "erased", "in an archive"],
)
async def test_it_costs_the_same_however_long_the_session_is(tmp_path, older, reaches):
    """Counted in steps of SQLite's machine, which no load of this one touches."""
    steps = []
    for length in (300, 3000):
        store = SqliteStore(tmp_path / str(length))
        await store.open()
        await s.keep(store, [s.asked(), *[s.said("Quack.") for _ in range(length + 50)]])
        await store.close()
        with closing(sqlite3.connect(tmp_path / str(length) / "turnlog.db")) as db:
            db.executescript(older.format(length=length))
            answer, taken = told(db)
        assert answer == reaches
        steps.append(taken)
    assert steps[1] < 1.2 * steps[0], steps


def told(db):
    """The answer, and what it took."""
    steps = []
    db.set_progress_handler(lambda: steps.append(1), 10)
    asked = {"user_id": "alice", "archived": 0} | BOUNDS
    (answer,) = db.execute(SQL["reaches_all"], asked).fetchone()
    return answer, len(steps)
