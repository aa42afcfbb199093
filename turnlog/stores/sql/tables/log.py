"""The log on a connection: each function is one step of one transaction."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple

from turnlog.errors import AlreadyDecided, NotFound
from turnlog.events.base import Envelope, Stamped
from turnlog.events.rows.erasure import shown, what_is_left
from turnlog.events.rows.record import BareRecord, Record, numbered, records, stamped
from turnlog.events.rows.seal import Seals
from turnlog.ports import SILENT, Announcer, Evidence, Excerpt, Turn
from turnlog.projections import tables
from turnlog.stores.sql.connection import Connection, Cursor, End
from turnlog.stores.sql.statements import SQL, equal, update
from turnlog.stores.sql.tables import outbox, sessions, turns

Row = dict[str, Any]
_END = 2**63 - 1  # above every number
FEW = 20  # events that are read at one go
SMALL = 64_000  # bytes of them


class Found(NamedTuple):
    """What the log has: entries, or rows where bodies of them are in archives."""

    entries: list[Stamped]
    rows: list[Record]
    emptied: int = 0  # see `Excerpt`
    before: str = ""


def append(
    db: Connection,
    turn: Turn,
    events: Sequence[Envelope],
    seals: Seals,
    announcer: Announcer = SILENT,
) -> int:
    """Annotate, if the turn's lease holds."""
    return _write_events(db, turn, events, turns.hold(db, turn), seals, announcer)


def annotate(
    db: Connection,
    turn: Turn,
    events: Sequence[Envelope],
    seals: Seals,
    announcer: Announcer = SILENT,
) -> int:
    """Write events whatever the turn's state is."""
    db.lock(turn.session_id)
    end = db.end_of_log(turn.session_id)
    return _write_events(db, turn, events, end, seals, announcer)


def _write_events(
    db: Connection,
    turn: Turn,
    events: Sequence[Envelope],
    end: End,
    seals: Seals,
    announcer: Announcer = SILENT,
) -> int:
    """Number the events and write them with all their rows, and with the notices of them."""
    first, seal = end[0] + 1, end[1]
    rows = records(turn.session_id, turn.id, events, first, seal, seals.of(turn.user_id))
    kept = [
        numbered(placed, turn.session_id, turn.id, seq) for seq, placed in enumerate(events, first)
    ]
    new: defaultdict[str, list[Row]] = defaultdict(list)
    changes: list[tables.Write] = []
    for entry in kept:
        for write in tables.writes(turn.user_id, entry):
            if write.new:
                new[write.table].append(write.values)
            else:
                changes.append(write)
    db.append_events(rows, new)
    for write in changes:
        _change(db, write)
        if write.table == "turns":  # it is over
            db.drop_drafts(turn.id)
    if announcer is not SILENT:
        for entry in kept:
            outbox.write(db, announcer.of_event(turn.user_id, entry))
    return first


def begin_turn(
    db: Connection, turn: Turn, first: Sequence[Envelope], title: str, owner: str, seals: Seals
) -> Turn:
    """Open the turn with its first events. A session without a name gets the title."""
    db.lock(turn.session_id)
    end = turns.refuse_second(db, turn)
    return open_turn(db, turn, first, title, owner, seals, end)


def open_turn(
    db: Connection,
    turn: Turn,
    first: Sequence[Envelope],
    title: str,
    owner: str,
    seals: Seals,
    end: End | None = None,
) -> Turn:
    """The same for a turn of which it is known that it may begin, and where the log ends."""
    if title:
        sessions.name(db, turn.session_id, title)
    end = end or db.end_of_log(turn.session_id)
    return turns.begin(db, turn, _write_events(db, turn, first, end, seals), owner)


def read(db: Connection, user_id: str, session_id: str, after: int, limit: int | None) -> Found:
    sessions.find(db, user_id, session_id)
    bounds = {"after": after, "limit": _END if limit is None else limit}
    return _found(db.tuples(SQL["read_events"], bounds | {"session_id": session_id}))


def read_few(
    db: Connection, user_id: str, session_id: str, after: int, limit: int | None
) -> list[Stamped] | None:
    """The same, where it is little; None: it is more than FEW, large, or in archives."""
    sessions.refuse_unknown(db, user_id, session_id)
    most = FEW + 1 if limit is None else min(limit, FEW + 1)
    place = {"session_id": session_id, "after": after, "limit": most}
    if not _are_few(db, place):
        return None
    found = _found(db.tuples(SQL["read_events"], place))
    return None if found.rows else found.entries


def excerpt(db: Connection, user_id: str, session_id: str, anchor: int, after: int) -> Found:
    sessions.refuse_unknown(db, user_id, session_id)
    place = {"session_id": session_id, "anchor": anchor, "after": after}
    rows = db.tuples(SQL["read_excerpt"], place)
    kept = [Record(*row[2:]) for row in rows]
    emptied, before = rows[0][:2] if rows else (0, "")
    if _archived(kept):
        return Found([], kept, emptied, before or "")
    return Found(what_is_left(kept), [], emptied, before or "")


def few_of_excerpt(
    db: Connection, user_id: str, session_id: str, anchor: int, after: int
) -> Excerpt | None:
    """The same, where it is little and there; None: it is more than FEW, large, in archives or
    erased, or there is nothing.
    """
    place = {"user_id": user_id, "session_id": session_id, "anchor": anchor, "after": after}
    most = {"largest": SMALL, "limit": FEW + 1}
    rows = db.tuples(SQL["read_few_of_excerpt"], place | most)
    bodies = [row[-1] for row in rows]
    if not rows or len(rows) > FEW or not all(bodies) or sum(map(len, bodies)) >= SMALL:
        return None
    emptied, before = rows[0][:2]
    return Excerpt([stamped(BareRecord(*row[2:])) for row in rows], emptied, before or "")


def _are_few(db: Connection, place: Row) -> bool:
    count, size = db.execute(SQL["measure_events"], place).fetchone()
    return bool(count <= FEW and size <= SMALL)


def recall(db: Connection, session_id: str, seq: int) -> Found:
    rows = records_of(db, session_id, after=seq - 1, limit=1)
    if not rows:
        raise NotFound(f"There is no number {seq}.")
    return _found(rows)


def records_of(
    db: Connection, session_id: str, *, after: int = -1, limit: int = _END
) -> list[Record]:
    place = {"session_id": session_id, "after": after, "limit": limit}
    return [*starmap(Record, db.tuples(SQL["read_events"], place))]


def _found(rows: Sequence[Any]) -> Found:
    kept = [*starmap(Record, rows)]
    if _archived(kept):
        return Found([], kept)
    return Found([shown(row) for row in kept], [])


def _archived(rows: Sequence[Record]) -> list[Record]:
    """Those whose bodies are in archives."""
    return [row for row in rows if not row.body and row.is_archived]


def has_message(db: Connection, message_id: str) -> bool:
    return db.execute(SQL["has_message"], {"message_id": message_id}).fetchone() is not None


def tail(
    db: Connection, user_id: str, session_id: str, limit: int, before: int | None
) -> list[BareRecord]:
    place = _end_of(db, user_id, session_id, limit, before)
    rows = db.tuples(SQL["read_newest_bare"], place)
    return [*starmap(partial(BareRecord, session_id), rows)][::-1]


def tail_of_records(
    db: Connection, user_id: str, session_id: str, limit: int, before: int | None
) -> list[Record]:
    """The same with what says where a body is that is not there."""
    place = _end_of(db, user_id, session_id, limit, before)
    return [*starmap(Record, db.tuples(SQL["read_newest_events"], place))][::-1]


def _end_of(db: Connection, user_id: str, session_id: str, limit: int, before: int | None) -> Row:
    sessions.refuse_unknown(db, user_id, session_id)
    return {
        "session_id": session_id,
        "before": _END if before is None else before,
        "limit": limit,
    }


def last_number(db: Connection, user_id: str, session_id: str) -> int:
    sessions.find(db, user_id, session_id)
    return db.end_of_log(session_id)[0]


def evidence(db: Connection, session_id: str) -> Evidence:
    """Read at one moment: what is written meanwhile is not seen, or the parts would not fit."""
    db.execute(SQL["begin_reading"])
    try:
        session = sessions.find(db, None, session_id)
        log = records_of(db, session.id)
        return Evidence(session, log, _tables(db, session.id), turns.every(db, session.id))
    finally:
        db.execute(SQL["end_reading"])


def as_dicts(rows: Cursor) -> list[Row]:
    return [dict(row) for row in rows]


def _tables(db: Connection, session_id: str) -> dict[str, list[Row]]:
    key = {"session_id": session_id}
    return {
        table: as_dicts(db.execute(SQL["list_rows"].format(table=table, columns=columns), key))
        for table in tables.STORED
        for columns in [", ".join(tables.COLUMNS.get(table, "*"))]
    }


def _change(db: Connection, write: tables.Write) -> None:
    """A row that is there already, of a table that is folded from the log."""
    if write.only_while is not None:
        _refuse_late(db, write)
    columns, key = tuple(write.values), tables.KEYS[write.table]
    db.execute(update(write.table, columns, key, write.added), write.values)


def _refuse_late(db: Connection, write: tables.Write) -> None:
    sql = SQL["get_status"].format(table=write.table, key=equal(tables.KEYS[write.table]))
    row = db.execute(sql, write.values).fetchone()
    if row is None or row[0] != write.only_while:
        raise AlreadyDecided(f"This is {row[0] if row else 'unknown'} already.")
