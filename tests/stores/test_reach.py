"""Whether a search left something out is found out without reading what was left out."""

import asyncio
import shutil
import sqlite3
from contextlib import closing

import pytest

from turnlog.stores.sql.statements import SQL
from turnlog.stores.texts import BOUNDS
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s

ERASE = "DROP TRIGGER events_never_change; UPDATE events SET body = X'' WHERE seq < {length}"
ARCHIVE = f"INSERT INTO archives VALUES ('s', 0, {{length}} - 1, 'p', 9, 9, ''); {ERASE}"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A short log and a long one, by their length; each of one session."""

    async def keep(folder, length):
        async with open_store(f"sqlite:{folder}") as store:
            await s.keep(store, [s.asked(), *[s.said("Quack.") for _ in range(length + 50)]])
        return folder / "turnlog.db"

    folders = {length: tmp_path_factory.mktemp("log") for length in (300, 3000)}
    return {length: asyncio.run(keep(folder, length)) for length, folder in folders.items()}


@pytest.mark.parametrize(
    ("older", "reaches"),
    [("", False), (ERASE, False), (ARCHIVE, True)],
    ids=["in the log", "erased", "in an archive"],
)
def test_it_costs_the_same_however_long_the_session_is(logs, tmp_path, older, reaches):
    """Counted in steps of SQLite's machine, which no load of this one touches."""
    steps = []
    for length, log in logs.items():
        file = shutil.copy(log, tmp_path / f"{length}.db")
        with closing(sqlite3.connect(file)) as db:
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
