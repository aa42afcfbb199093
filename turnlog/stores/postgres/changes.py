"""A change of a turn as one statement: what the function `write_turn` of the database is given.

A step of `stores/sql` is rehearsed: it runs on a connection that only writes down what it is told
to write. The function checks what the step would have asked, under the lock of the session.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnlog.events.rows.record import Record
from turnlog.projections import tables
from turnlog.stores.postgres.statements import SQL as OWN
from turnlog.stores.sql.connection import EMPTY, Connection, Cursor, End, NewRows
from turnlog.stores.sql.statements import SQL, insert, update

Rows = list[Mapping[str, Any]]
# Of a row of the log, what the function does not know by itself.
_GIVEN = ("event_id", "type", "version", "at", "agent_id", "agent_name", "event_index",
          "is_internal", "body", "salt", "digest", "seal")  # fmt: skip
_PLACES = [Record._fields.index(name) for name in _GIVEN]
_DOCUMENTS = {"args", "location"}  # columns that are JSON already


class NeedsAnswer(Exception):
    """The step wants to know something that only the database can tell."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What a turn that begins must find: so many turns of its user at most. None: any number."""

    most_running: int | None = None
    most_begun: int | None = None
    since: str = ""
    until: str = ""


@dataclass(slots=True)
class Change:
    """What is written together, and what must hold for it."""

    session_id: str
    turn_id: str = ""
    lease: str = ""
    begins: Mapping[str, Any] | None = None
    admission: Admission = Admission()
    end: End = EMPTY
    events: Sequence[Record] = ()
    messages: Rows = field(default_factory=list)
    usage: Rows = field(default_factory=list)
    message_citations: Rows = field(default_factory=list)
    approvals: Rows = field(default_factory=list)
    tool_runs: Rows = field(default_factory=list)
    outbox: Rows = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)  # of tools
    searches: int | None = None
    anchor: int | None = None
    title: str | None = None  # where there is none
    state: str | None = None
    draft: bytes | None = None

    @property
    def new_end(self) -> End:
        return (self.events[-1].seq, self.events[-1].seal) if self.events else self.end

    @property
    def size(self) -> int:
        """About how many bytes it is. What other rows say is in the bodies of the log too."""
        large = [row["args"] for row in self.tool_runs] + [row["body"] for row in self.outbox]
        bodies = sum(len(row.body) for row in self.events)
        return bodies + sum(map(len, large)) + len(self.draft or b"")

    def is_there(self, db: Connection) -> bool:
        """Whether it was written: a step. What is still writing it is waited for."""
        db.lock(self.session_id)
        seq, seal = self.new_end
        key = {"session_id": self.session_id, "turn_id": self.turn_id, "lease": self.lease}
        if self.events:
            found = db.execute(OWN["find_seal"], key | {"seq": seq, "seal": seal})
        elif self.state is not None:
            found = db.execute(OWN["find_state"], key | {"state": self.state})
        elif self.tool_runs:
            found = db.execute(OWN["find_run"], self.tool_runs[0])
        else:
            found = db.execute(OWN["find_draft"], key | {"piece": self.draft})
        return found.fetchone() is not None

    def values(self, *, again: bool = False) -> list[Any]:
        """What the function is called with."""
        columns = [*zip(*self.events, strict=True)] or [()] * len(Record._fields)
        log = [[*columns[place]] for place in _PLACES]
        log[_GIVEN.index("is_internal")] = [int(row.is_internal) for row in self.events]
        limits = self.admission
        return [
            again, self.session_id, self.turn_id, self.lease,
            _json(self.begins), limits.most_running, limits.most_begun, limits.since, limits.until,
            *self.end, *log,
            [row["message_id"] for row in self.messages], [row["seq"] for row in self.messages],
            *map(_rows, (self.usage, self.message_citations, self.approvals, self.tool_runs)),
            _rows(self.outbox),
            _rows([{"tool_use_id": id, "status": status} for id, status in self.results.items()]),
            self.searches, self.anchor, self.title, self.state, self.draft,
        ]  # fmt: skip


class Rehearsal:
    """A Connection that writes down a Change. It raises NeedsAnswer for what it cannot say."""

    def __init__(self, change: Change, given_up: Collection[str] = ()) -> None:
        """`given_up`: leases that hold no more, whatever the table says."""
        self.change = change
        self._given_up = given_up

    def execute(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Cursor:
        note = _NOTES.get(sql.partition(" (")[0])
        if note is None or not isinstance(values, Mapping):
            raise NeedsAnswer
        note(self.change, values)
        return iter(())  # type: ignore[return-value]  # nobody looks at the rows of a write

    def tuples(self, sql: str, values: Mapping[str, Any], /) -> Sequence[tuple[Any, ...]]:
        raise NeedsAnswer

    def append_events(self, rows: Sequence[Record], beside: NewRows) -> None:
        if not rows or self.change.events or beside.keys() - _BESIDE:
            raise NeedsAnswer
        self.change.events, self.change.turn_id = rows, rows[0].turn_id
        for table, new in beside.items():
            getattr(self.change, table).extend(new)

    def end_of_log(self, session_id: str) -> End:
        self._refuse_other(session_id)
        return self.change.end

    def hold(self, session_id: str, turn_id: str, lease: str) -> End | None:
        self._refuse_other(session_id)
        if not lease or lease in self._given_up:
            raise NeedsAnswer
        self.change.turn_id, self.change.lease = turn_id, lease
        return self.change.end

    def drop_drafts(self, turn_id: str) -> None:
        """The function does so by itself when a turn is over, or waits."""

    def lock(self, name: str) -> None:
        self._refuse_other(name)

    def _refuse_other(self, session_id: str) -> None:
        if session_id != self.change.session_id:
            raise NeedsAnswer


_BESIDE = {"messages", "usage", "message_citations", "approvals"}
Note = Callable[[Change, Mapping[str, Any]], None]


def _note_draft(change: Change, row: Mapping[str, Any]) -> None:
    change.draft = row["piece"]


def _note_state(change: Change, row: Mapping[str, Any]) -> None:
    change.state = row["state"]


def _note_searches(change: Change, row: Mapping[str, Any]) -> None:
    change.searches = (change.searches or 0) + row["searches"]


def _note_anchor(change: Change, row: Mapping[str, Any]) -> None:
    change.anchor = row["anchor"]


def _note_title(change: Change, row: Mapping[str, Any]) -> None:
    change.title = row["title"]


def _note_result(change: Change, row: Mapping[str, Any]) -> None:
    change.results[row["tool_use_id"]] = row["status"]


def _note_turn(change: Change, row: Mapping[str, Any]) -> None:
    change.begins = row
    change.lease = row["lease"]


def _note_run(change: Change, row: Mapping[str, Any]) -> None:
    change.tool_runs.append(row)


def _note_notice(change: Change, row: Mapping[str, Any]) -> None:
    change.outbox.append(row)


def _into(table: str) -> str:
    """The first words of a statement that adds a row."""
    return insert(table, ()).partition(" (")[0]


# By the statement; one that adds a row by its first words.
_NOTES: dict[str, Note] = {
    _into("turns"): _note_turn,
    _into("drafts"): _note_draft,
    _into("tool_runs"): _note_run,
    _into("outbox"): _note_notice,
    SQL["name_session"]: _note_title,
    update("turns", ("state",), tables.KEYS["turns"]): _note_state,
    update("tool_runs", ("status",), tables.KEYS["tool_runs"]): _note_result,
    update("sessions", ("anchor",), ("id",)): _note_anchor,
    update("sessions", ("searches",), ("id",), ("searches",)): _note_searches,
}


def _rows(rows: Rows) -> str | None:
    return _json([_with_documents(row) for row in rows]) if rows else None


def _with_documents(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: msgspec.Raw(value.encode()) if name in _DOCUMENTS else value
        for name, value in row.items()
    }


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
