"""Which rows each event leaves in the tables beside the log.

Every store writes these in the same transaction as the event, so that nothing lags;
`turnlog verify` folds the log again and compares.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Event, Stamped
from turnlog.events.usage import searches_of
from turnlog.ports import Charge, ToolStarted, Turn
from turnlog.projections.billing.charges import usage_rows

KEYS: dict[str, tuple[str, ...]] = {
    "messages": ("message_id",),
    "usage": ("message_id", "part"),
    "message_citations": ("message_id", "position"),
    "approvals": ("approval_id",),
    "tool_runs": ("session_id", "tool_use_id"),
    "sessions": ("id",),
    "turns": ("session_id", "id"),
}
FOLDED = ("messages", "usage", "message_citations", "approvals")  # made of events alone
STORED = (*FOLDED, "tool_runs")
# What a store reads of a table that has more columns than the log writes.
_PLACE = ("session_id", "user_id", "turn_id", "seq", "created_at")
COLUMNS = {
    "messages": ("message_id", *_PLACE, "role", "agent_id", "is_internal"),
    "usage": (*Charge._fields, "turn_id", "seq", "part"),
}
NUL = "\u2400"  # stands for it in a table
Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


class Write(NamedTuple):
    """One row to insert, or to change where `new` is false.

    A value that is `added` is added to the one that is there.
    """

    table: str
    values: dict[str, Any]
    new: bool = True
    only_while: str | None = None  # a change that is refused once `status` is another one
    added: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.values[name] for name in KEYS[self.table])


def writes(user_id: str, entry: Stamped) -> Iterable[Write]:
    """The rows that this event writes."""
    event = entry.envelope.event
    rule = RULES.get(type(event))
    return rule(event, _place(user_id, entry), entry) if rule else ()


def fold(user_id: str, log: Iterable[Stamped]) -> Rows:
    """The tables as they must be after these events."""
    rows: Rows = {table: {} for table in FOLDED}
    for entry in log:
        for write in writes(user_id, entry):
            if write.table in rows:
                apply(rows, write)
    return rows


def apply(rows: Rows, write: Write) -> None:
    table = rows[write.table]
    if write.new:
        table[write.key] = write.values
    elif write.key in table:  # a change of a row that is not there changes nothing, as in SQL
        table[write.key] = table[write.key] | write.values


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row as every store can write it: a text of PostgreSQL holds no NUL. The log has it."""
    nuls = [name for name, value in row.items() if type(value) is str and "\0" in value]
    return row | {name: row[name].replace("\0", NUL) for name in nuls} if nuls else row


def _place(user_id: str, entry: Stamped) -> dict[str, Any]:
    return {
        "session_id": entry.session_id,
        "user_id": user_id,
        "turn_id": entry.turn_id,
        "seq": entry.seq,
        "created_at": entry.envelope.time,
    }


def _user_message(
    event: k.UserMessageSent, place: dict[str, Any], entry: Stamped
) -> Iterable[Write]:
    return [Write("messages", _message_row(event.message_id, "user", place, entry))]


def _message(event: k.Message, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    row = _message_row(event.message_id, "assistant", place, entry)
    rows = [Write("messages", row), *_usage(event, place, entry)]
    for position, citation in enumerate(event.citations):
        cited = plain(_citation_row(event, position, citation, place))
        rows.append(Write("message_citations", cited))
    if searches := searches_of(event.reported):
        count = {"id": entry.session_id, "searches": searches}
        rows.append(Write("sessions", count, new=False, added=("searches",)))
    return rows


def _message_row(
    message_id: str, role: str, place: dict[str, Any], entry: Stamped
) -> dict[str, Any]:
    """Where the log has it. The text is there, and nowhere else."""
    return {
        "message_id": message_id,
        "role": role,
        "agent_id": entry.envelope.agent.id,
        "is_internal": int(entry.envelope.internal),
        **place,
    }


def _citation_row(
    event: k.Message, position: int, citation: dict[str, Any], place: dict[str, Any]
) -> dict[str, Any]:
    return {
        "message_id": event.message_id,
        "position": position,
        "block_index": citation["blockIndex"],
        "kind": _text(citation.get("type")),
        "cited_text": _text(citation.get("cited_text")),
        "location": _json(citation),
        **place,
    }


def _text(value: object) -> str | None:
    """What should be text and is not has no place in a column of text. The log has it."""
    return value if isinstance(value, str) else None


def _approval(event: k.ApprovalRequested, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    cost = event.cost_so_far_usd
    row = {
        "approval_id": event.approval_id,
        "tool_use_id": event.tool_use_id,
        "tool_name": event.tool_name,
        "args": _json(event.args),
        "description": event.description,
        "expires_at": event.expires_at,
        "args_hash": event.args_hash,
        "may_decide": event.may_decide,
        "cost_picousd": None if cost is None else money.picousd(cost),
        "status": "pending",
        "decided_by": None,
        "decided_at": None,
        "reason": None,
    }
    yield Write("approvals", row | place)


def _decision(event: k.ApprovalResolved, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    row = {
        "approval_id": event.approval_id,
        "status": event.outcome,
        "args_hash": event.args_hash,
        "decided_by": event.decided_by,
        "decided_at": entry.envelope.time,
        "reason": event.reason,
    }
    if event.args is not UNSET:
        row["args"] = _json(event.args)
    if event.description is not UNSET:
        row["description"] = event.description
    yield Write("approvals", row, new=False, only_while="pending")


def _answered(event: k.ToolResult, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    """Only a tool that may write has a row; for any other this changes nothing."""
    row = {"session_id": entry.session_id, "tool_use_id": event.tool_use_id}
    yield Write("tool_runs", row | {"status": run_status(event)}, new=False)


def run_status(result: k.ToolResult) -> str:
    return "in_doubt" if result.in_doubt else "done" if result.success else "failed"


def _settled(event: k.ToolSettled, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    row = {
        "session_id": entry.session_id,
        "tool_use_id": event.tool_use_id,
        "status": "happened" if event.happened else "did_not_happen",
        "decided_by": event.decided_by,
        "decided_at": entry.envelope.time,
        "note": event.note,
    }
    yield Write("tool_runs", row, new=False, only_while="in_doubt")


def _anchor(event: k.HistoryAnchored, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    yield Write("sessions", {"id": entry.session_id, "anchor": event.anchor}, new=False)


def _summary(event: k.HistorySummarized, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    return _usage(event, place, entry)


def _usage(
    event: k.Message | k.HistorySummarized, place: dict[str, Any], entry: Stamped
) -> Iterable[Write]:
    rows = usage_rows(event, place, entry.envelope.agent.id)
    return [Write("usage", plain(row)) for row in rows]


def _failed(event: k.Error, place: dict[str, Any], entry: Stamped) -> Iterable[Write]:
    row = {"session_id": entry.session_id, "id": entry.turn_id, "state": "failed"}
    yield Write("turns", row, new=False)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RULES: dict[type[Event], Callable[[Any, dict[str, Any], Stamped], Iterable[Write]]] = {
    k.UserMessageSent: _user_message,
    k.Message: _message,
    k.ApprovalRequested: _approval,
    k.ApprovalResolved: _decision,
    k.ToolResult: _answered,
    k.ToolSettled: _settled,
    k.HistoryAnchored: _anchor,
    k.HistorySummarized: _summary,
    k.Error: _failed,
}


def tool_run(turn: Turn, started: ToolStarted, entry: str) -> dict[str, Any]:
    """The row that says that a call begins: state of the turn, as its draft is, not an event."""
    return {
        "tool_use_id": started.tool_use_id,
        "session_id": turn.session_id,
        "user_id": turn.user_id,
        "turn_id": turn.id,
        "created_at": entry,
        "tool_name": started.tool_name,
        "args": _json(started.args),
        "args_hash": started.args_hash,
        "idempotency_key": started.idempotency_key,
        "status": "executing",
        "decided_by": None,
        "decided_at": None,
        "note": None,
    }
