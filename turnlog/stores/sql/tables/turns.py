"""Turns on a connection: who works on which, under which lease, and what they began."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from turnlog.errors import AlreadyAsked, AlreadyBegun, Busy
from turnlog.events.clock import now
from turnlog.ports import Notice, ToolStarted, Turn
from turnlog.projections import tables
from turnlog.stores.leases import lease_lost, leased
from turnlog.stores.sql.connection import EMPTY, Conflict, Connection, End
from turnlog.stores.sql.statements import SQL, insert, update
from turnlog.stores.sql.tables import outbox, sessions

Abandoned = Callable[[Connection, str | None], list[Turn]]  # of one session, or of all
ALL = 2**31 - 1  # events: more than a log has
_COLUMNS = tuple(name for name in Turn.__struct_fields__ if name not in ("lease", "draft"))


class Before(NamedTuple):
    """What stands before a new turn."""

    first_in_line: str | None
    open_turn: str | None
    state: str | None  # of the open turn
    end: End  # of the log


def refuse_second(db: Connection, turn: Turn) -> End:
    """A session has one open turn, and a request starts one. Who is first in line is served.

    Where the log of the session ends, in which the turn may begin.
    """
    place = (turn.user_id, turn.session_id, turn.id, turn.request_id)
    ahead, open_turn, state, end = before(db, *place)
    if ahead not in (None, turn.id):
        raise Busy(open_turn or ahead)
    if open_turn is not None:
        raise Busy(open_turn, waiting=state == "waiting")
    if ahead is not None:
        db.execute(SQL["leave_line"], {"turn_id": turn.id})
    return end


def before(
    db: Connection, user_id: str, session_id: str, turn_id: str, request_id: str | None
) -> Before:
    """Raises NotFound and AlreadyAsked."""
    key: dict[str, str | None] = {"session_id": session_id, "user_id": user_id}
    key |= {"request_id": request_id, "turn_id": turn_id}
    row = db.execute(SQL["get_turns_before"], key).fetchone()
    if row is None:
        raise sessions.unknown(session_id)
    ahead, open_turn, state, begun, begun_state, first_seq, seq, seal = row
    if begun is not None:
        raise AlreadyAsked(begun, state=begun_state, first_seq=first_seq)
    return Before(ahead, open_turn, state, EMPTY if seq is None else (seq, seal))


def begin(db: Connection, turn: Turn, first_seq: int, owner: str) -> Turn:
    begun = leased(turn, first_seq=first_seq)
    values = msgspec.structs.asdict(begun) | {"owner": owner}
    del values["draft"]  # it has rows of its own
    db.execute(insert("turns", tuple(values)), values)
    return begun


def restore(db: Connection, turn: Turn) -> None:
    """As another store had it. Nobody works on it here: one that is open will be healed."""
    values = {name: getattr(turn, name) for name in _COLUMNS} | {"owner": "", "lease": ""}
    db.execute(insert("turns", tuple(values)), values)
    if turn.draft:
        db.execute(SQL["add_draft"], {"turn_id": turn.id, "piece": turn.draft})


def hold(db: Connection, turn: Turn) -> End:
    """Lock the session, whose log ends there.

    Raises TurnOver where the turn's lease does not hold any more.
    """
    end = db.hold(turn.session_id, turn.id, turn.lease)
    if end is None:
        raise lease_lost(turn)
    return end


def let_go(db: Connection, turn: Turn, state: str) -> None:
    """The turn is over, or waits, if its lease holds."""
    hold(db, turn)
    _set_state(db, turn, state)


def add_draft(db: Connection, turn: Turn, piece: bytes) -> None:
    hold(db, turn)
    db.execute(SQL["add_draft"], {"turn_id": turn.id, "piece": piece})


def finish(db: Connection, turn: Turn, notices: Sequence[Notice]) -> None:
    """The turn is over, and its notices are written."""
    let_go(db, turn, "done")
    outbox.write(db, notices)


def close(db: Connection, turn: Turn, notices: Sequence[Notice]) -> None:
    """The same, in a step that has found the lease to hold."""
    _set_state(db, turn, "done")
    outbox.write(db, notices)


def _set_state(db: Connection, turn: Turn, state: str) -> None:
    _update(db, turn, {"state": state})
    db.drop_drafts(turn.id)


def newest(db: Connection, user_id: str, session_id: str, most: int = ALL) -> Turn | None:
    """The turn of the last question among the newest `most` events."""
    sessions.find(db, user_id, session_id)
    place = {"session_id": session_id, "most": most}
    row = db.execute(SQL["get_newest_turn"], place).fetchone()
    return None if row is None else _turn(row)


def newest_nearby(db: Connection, user_id: str, session_id: str, most: int) -> list[Turn] | None:
    """The same, if there is any, without a look at all; None: it is further back."""
    found = newest(db, user_id, session_id, most)
    if found is None:
        return [] if db.end_of_log(session_id) == EMPTY else None
    return [found]


def one(db: Connection, user_id: str, session_id: str, turn_id: str) -> Turn | None:
    sessions.find(db, user_id, session_id)
    row = db.execute(SQL["get_turn"], {"session_id": session_id, "id": turn_id}).fetchone()
    return None if row is None else _turn(row)


def claim_waiting(
    db: Connection, user_id: str, session_id: str, turn_id: str | None, owner: str
) -> Turn | None:
    sessions.find(db, user_id, session_id)
    db.lock(session_id)
    row = db.execute(SQL["get_waiting_turn"], {"session_id": session_id}).fetchone()
    if row is None or turn_id not in (None, (turn := _turn(row)).id):
        return None
    return _take(db, turn, owner)


def running(
    db: Connection, session_id: str | None, working_on: Collection[str]
) -> list[tuple[str, Turn]]:
    """Running turns of one session or of all, each with its owner, but for `working_on`."""
    name = "list_running_turns" if session_id is None else "list_running_turns_of_session"
    rows = db.execute(SQL[name], {"session_id": session_id})
    return [(owner, _turn(row)) for owner, *row in rows if row[0] not in working_on]


def claim(db: Connection, session_id: str, abandoned: Abandoned, owner: str) -> list[Turn]:
    """What is abandoned in the session, in the owner's hands. Another may have been quicker."""
    db.lock(session_id)
    return [_take(db, turn, owner) for turn in abandoned(db, session_id)]


def every(db: Connection, session_id: str) -> list[Turn]:
    rows = db.execute(SQL["list_turns"], {"session_id": session_id})
    return [_with_draft(db, _turn(row)) for row in list(rows)]


def start_tools(db: Connection, turn: Turn, starting: Sequence[ToolStarted]) -> None:
    hold(db, turn)
    for started in starting:
        row = tables.tool_run(turn, started, now())
        try:
            db.execute(insert("tool_runs", tuple(row)), row)
        except Conflict:
            raise AlreadyBegun(started.tool_use_id) from None


def started_tools(db: Connection, turn: Turn) -> set[str]:
    key = {"turn_id": turn.id, "session_id": turn.session_id}
    return {row[0] for row in db.execute(SQL["list_started_tools"], key)}


def _take(db: Connection, turn: Turn, owner: str) -> Turn:
    taken = leased(_with_draft(db, turn))
    _update(db, turn, {"state": taken.state, "lease": taken.lease, "owner": owner})
    return taken


def _update(db: Connection, turn: Turn, changes: dict[str, Any]) -> None:
    key = {"session_id": turn.session_id, "id": turn.id}
    db.execute(update("turns", tuple(changes), tuple(key)), changes | key)


def _with_draft(db: Connection, turn: Turn) -> Turn:
    pieces = [bytes(row[0]) for row in db.execute(SQL["list_drafts"], {"turn_id": turn.id})]
    return msgspec.structs.replace(turn, draft=b"\n".join(pieces)) if pieces else turn


def _turn(row: Sequence[Any]) -> Turn:
    return Turn(**dict(zip(_COLUMNS, row, strict=True)))
