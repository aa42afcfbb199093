"""Database files that nobody but their owner may read, and connections to them."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from turnlog.errors import MessageIdTaken, StoreUnusable
from turnlog.events.rows.record import Record
from turnlog.stores.sql.connection import EMPTY, Conflict, End, NewRows
from turnlog.stores.sql.statements import LAST_EVENT, insert_in_order
from turnlog.stores.sqlite.statements import SQL

PRIVATE = 0o600
# What a broken database raises: a sentence of SQLite about it may be no UTF-8 either.
UNUSABLE = (sqlite3.DatabaseError, OSError, UnicodeDecodeError)
_AS_IT_OPENS = (
    "use_wal", "sync_fully", "check_references", "overwrite_deleted", "keep_few_pages",
)  # fmt: skip
_COMPANIONS = ("", "-wal", "-shm")  # what SQLite keeps beside a database


def make_private(path: Path) -> None:
    """Make the file if there is none. SQLite gives its companions the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE))
    for end in _COMPANIONS:
        file = path.with_name(path.name + end)
        with suppress(FileNotFoundError):  # whoever closes the database last takes them away
            if file.stat().st_mode & 0o077:
                file.chmod(PRIVATE)


def unusable(folder: Path, error: Exception) -> StoreUnusable:
    """What a person is told whose database cannot be opened, and what to do."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        advice = "There is a file of that name: name a folder with --data."
    elif isinstance(error, OSError) or "readonly" in why or "unable to open" in why:
        advice = "Make the folder writable for this user, or name another one with --data."
    elif "locked" in why:
        advice = "Another program holds it: end that one first."
    elif "full" in why:
        advice = "Make room on the disk."
    else:
        advice = (
            "Restore turnlog.db from a backup, or name another folder with --data."
            " Nothing in it was changed."
        )
    return StoreUnusable(f"The database in {str(folder)!r} cannot be used: {why}. {advice}")


class SqliteConnection(sqlite3.Connection):
    """SQLite's own, as the steps in `stores/sql` need it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.row_factory = sqlite3.Row

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(sql, values)
        except sqlite3.IntegrityError as error:
            raise Conflict(str(error)) from error

    def tuples(self, sql: str, values: Any, /) -> Sequence[tuple[Any, ...]]:
        cursor = self.execute(sql, values)
        cursor.row_factory = None
        return cursor.fetchall()

    def append_events(self, rows: Sequence[Record], beside: NewRows) -> None:
        """A message is in the log by its id."""
        ids = {row["seq"]: row["message_id"] for row in beside.get("messages", ())}
        append = super().execute
        for record in rows:
            message_id = ids.get(record.seq)
            try:
                append(SQL["append_event"], _bound(record, message_id))
            except sqlite3.IntegrityError as error:
                if "message" in str(error):
                    raise MessageIdTaken(f"message id {message_id!r} is taken") from None
                raise Conflict(str(error)) from error
        for table, new in beside.items():
            for row in new if table != "messages" else ():
                self.execute(insert_in_order(table, tuple(row)), tuple(row.values()))

    def end_of_log(self, session_id: str) -> End:
        found: End | None = self.execute(LAST_EVENT, {"session_id": session_id}).fetchone()
        return found or EMPTY

    def hold(self, session_id: str, turn_id: str, lease: str) -> End | None:
        key = {"session_id": session_id, "id": turn_id, "lease": lease}
        found: End | None = self.execute(SQL["hold_turn"], key).fetchone()
        return EMPTY if found is not None and found[0] is None else found

    def drop_drafts(self, turn_id: str) -> None:
        """A trigger does so when the turn's state changes."""

    def lock(self, name: str) -> None:
        """Who writes is alone already."""


def _bound(row: Record, message_id: str | None) -> tuple[object, ...]:
    """The values of a new row. Before Python's sqlite3 binds bytes or a bool, it looks for somebody
    who would adapt them, and that takes longer than to bind a few; not so with these types. A body
    may be large, and is not copied for that.
    """
    *place, is_internal, body, salt, digest, seal = row
    proof = (salt and bytearray(salt), digest and bytearray(digest), bytearray(seal))
    return (*place, int(is_internal), body, *proof, message_id)


def open_file(path: Path | str, *, uri: bool = False) -> SqliteConnection:
    """A connection of ours, with nothing set."""
    return sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        timeout=30,
        uri=uri,
        factory=SqliteConnection,
    )


def connect(path: Path) -> SqliteConnection:
    """A connection that writes: each commit is on disk before it is answered."""
    db = open_file(path)
    try:
        for statement in _AS_IT_OPENS:
            db.execute(SQL[statement])
    except BaseException:
        db.close()
        raise
    add_functions(db)
    return db


def add_functions(db: sqlite3.Connection) -> None:
    """What the statements need beside SQLite's own: it ignores the case of ASCII only."""
    db.create_function("folded", 1, str.casefold, deterministic=True)


def connect_reader(path: Path) -> SqliteConnection:
    """A connection that reads, beside the one that writes."""
    db = connect(path)
    db.execute(SQL["refuse_writes"])
    return db


def overwrite(folder: Path) -> list[str]:
    """What was deleted from the databases of a folder is overwritten on the disk now, whoever has
    them open. The names of those where somebody who reads an older state is in the way.
    """
    held = []
    for path in sorted(folder.glob("*.db")):
        with closing(open_file(path)) as db:
            db.execute(SQL["wait_shortly"])
            if db.execute(SQL["empty_wal"]).fetchone()[0]:
                held.append(path.name)
    return held
