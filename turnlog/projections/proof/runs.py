"""Calls that began: what their rows in `tool_runs` must be, as the log has them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import hash_of, idempotency_key
from turnlog.ports import Evidence
from turnlog.projections import tables
from turnlog.projections.proof.rows import AT_ONCE, difference, seconds_from

Row = dict[str, Any]
BEGUN = ("in_doubt", "happened", "did_not_happen")  # what only a call that has a row can be


def mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    """A call that began was asked for, allowed with these arguments, and ended as the log says."""
    runs = _runs(evidence.session.user_id, log)
    times = {
        entry.event.tool_use_id: entry.envelope.time
        for entry in log
        if isinstance(entry.event, k.ToolUse)
    }
    rows = {row["tool_use_id"]: row for row in evidence.tables["tool_runs"]}
    for tool, row in rows.items():
        if tool not in runs:
            yield f"tool_runs {tool}: it began and was not asked for"
        elif runs[tool]["args_hash"] != row["args_hash"]:
            yield f"tool_runs {tool}: it began without being allowed"
        elif any(row[name] != value for name, value in runs[tool].items()):
            yield f"tool_runs {tool}: {difference(runs[tool], row)}"
        elif not _is_in_time(row, tool, times):
            yield f"tool_runs {tool}: created_at is before its call"
        if not _is_hashed(row):
            yield f"tool_runs {tool}: args not as they were hashed"
        elif row["idempotency_key"] != idempotency_key(row["session_id"], tool, row["args_hash"]):
            yield f"tool_runs {tool}: idempotency_key not as it was made"
    begun = {tool for tool, run in runs.items() if run["status"] in BEGUN}
    begun |= {
        e.tool_use_id for entry in log if isinstance(e := entry.event, k.ToolResult) and e.began
    }
    yield from (f"tool_runs {tool}: the row is missing" for tool in sorted(begun - rows.keys()))


def _runs(user_id: str, log: Sequence[Stamped]) -> dict[str, Row]:
    """By call: what its row must be, if it has one. A read has none."""
    calls = {entry.event.tool_use_id: entry for entry in log if isinstance(entry.event, k.ToolUse)}
    results = {e.tool_use_id: e for entry in log if isinstance(e := entry.event, k.ToolResult)}
    settled = {e.tool_use_id: e for entry in log if isinstance(e := entry.event, k.ToolSettled)}
    times = {
        e.tool_use_id: entry.envelope.time
        for entry in log
        if isinstance(e := entry.event, k.ToolSettled)
    }
    names = {e.tool_use_id: e.tool_name for entry in log if isinstance(e := entry.event, k.ToolUse)}
    allowed = _allowed_hashes(log)
    return {
        tool: {
            "user_id": user_id,
            "turn_id": entry.turn_id,
            "tool_name": names[tool],
            "args_hash": allowed[tool],
            "status": _run_status(results.get(tool), settled.get(tool)),
            "decided_by": settled[tool].decided_by if tool in settled else None,
            "decided_at": times.get(tool),
            "note": settled[tool].note if tool in settled else None,
        }
        for tool, entry in calls.items()
    }


def _is_in_time(row: Row, tool: str, times: Mapping[str, str]) -> bool:
    """Whether the call began after it was asked for, by clocks that may differ."""
    return seconds_from(row["created_at"], times[tool]) <= AT_ONCE


def _is_hashed(row: Row) -> bool:
    try:
        return hash_of(msgspec.json.decode(row["args"])) == str(row["args_hash"])
    except (TypeError, ValueError):
        return False


def _allowed_hashes(log: Sequence[Stamped]) -> dict[str, str]:
    """By call: the hash of what may run, as it was asked for or as a person allowed it."""
    hashes = {
        e.tool_use_id: hash_of(e.args) for entry in log if isinstance(e := entry.event, k.ToolUse)
    }
    requests = [entry.event for entry in log if isinstance(entry.event, k.ApprovalRequested)]
    questions = {request.approval_id: request for request in requests}
    hashes |= {question.tool_use_id: "" for question in questions.values()}
    for entry in log:
        if (
            isinstance(e := entry.event, k.ApprovalResolved)
            and e.approved
            and e.approval_id in questions
        ):
            hashes[questions[e.approval_id].tool_use_id] = e.args_hash
    return hashes


def _run_status(result: k.ToolResult | None, settled: k.ToolSettled | None) -> str:
    if settled is not None:
        return "happened" if settled.happened else "did_not_happen"
    return "executing" if result is None else tables.run_status(result)
