"""Whether SQLite finds its own file whole: for `turnlog doctor`, not for the start."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

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
