"""Whether SQLite finds its own file whole: for `turnlog doctor` and `verify`, not for the start."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from turnlog.stores.sql.connection import Connection
from turnlog.stores.sqlite.statements import SQL

LONGEST = 30.0  # seconds
_STEPS = 100_000  # of SQLite, between two looks at the clock


def problem_of(path: Path) -> str | None:
    """What is wrong with the database; None: nothing was found, or it takes too long to look."""
    deadline = time.monotonic() + LONGEST
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            (found,) = db.execute(SQL["check_pages"]).fetchone()
    except sqlite3.OperationalError as error:
        return None if "interrupted" in str(error) else str(error)
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else str(found)


def damages(db: Connection) -> Iterator[str]:
    """A sentence for each. What is read by an index may look whole where its table is not."""
    for (found,) in db.execute(SQL["check_whole"]):
        if found != "ok":
            yield f"the database is damaged, restore a backup: {found}"
