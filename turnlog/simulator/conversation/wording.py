"""Results in words: true counts, records, failures told as failures."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ..script import Json
from .talk import NOTE, Done

MOST_ROWS = 25
# fmt: off
# What a write has done, by the first word of its name.
PAST = {"add": "created", "create": "created", "update": "updated", "complete": "completed",
        "delete": "deleted", "post": "posted"}
# How a failure is told: by the first row whose pattern is in its text.
FAILURES = (
    (r"in doubt|may or may not|not known whether",
     "I cannot say whether I could {act}: {why}. Please check before anybody tries again."),
    (r"\breject|declined|not approved",
     "All right, I did not {act}: the request was rejected{reason}. Nothing was changed."),
    (r"expired|nobody answered",
     "I did not {act}: nobody approved it in time. Ask me again if you still want it."),
    (r"withdrawn|was not done", "I did not {act}: {why}."),
    (r"",                       "I could not {act}: {why}."),
)
# What is told of each kind of record, behind its name.
COLUMNS = {
    "task":          ("completed", "id"),
    "customer":      ("number", "city", "email", "balanceDue"),
    "vendor":        ("number", "city", "email", "balance"),
    "item":          ("number", "unitPrice", "inventory"),
    "sales_invoice": ("customerName", "status", "totalAmountIncludingTax", "remainingAmount"),
    "sales_order":   ("customerName", "status", "totalAmountIncludingTax"),
}
# fmt: on
NAMES = ("title", "displayName", "name", "number")
MONEY = re.compile(r"price|amount|balance|limit", re.I)
REJECTED = re.compile(r"^user rejected\W*(?:the user's reason: )?|\W+$", re.I)


def failure(done: Done, act: str = "") -> str:
    why = done.text.strip().rstrip(".") or "the tool gave no reason"
    text = next(text for pattern, text in FAILURES if re.search(pattern, why, re.I))
    reason = REJECTED.sub("", why)
    reason = f" ({reason})" if reason and reason != why else ""
    return text.format(act=act or f"run {done.name}", why=why[:1_500], reason=reason[:1_500])


def written(done: Done) -> str:
    """A write that succeeded, and what it was done to."""
    verb, _, kind = done.name.partition("_")
    row = done.rows[0] if done.rows and len(done.rows) == 1 else {}
    name = next((f" “{row[key]}”" for key in NAMES[:3] if key in row), "")
    number = next((f" ({key} {row[key]})" for key in ("number", "id") if key in row), "")
    note = NOTE.search(done.text)
    is_changed = note is not None and "changed the arguments" in note[1]
    changed = ", as it was changed before it was allowed" if is_changed else ""
    total = row.get("totalAmountIncludingTax")
    amount = f" Total amount including tax: {cell('amount', total)}." if total is not None else ""
    return f"Done: the {words(kind)}{name}{number} is {PAST[verb]}{changed}.{amount}"


def counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def listed(head: str, kind: str, rows: Sequence[Json]) -> str:
    """A head with the true count, and a line for each record."""
    lines = [f"- {_line(kind, row)}" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append(f"\n… and {len(rows) - MOST_ROWS} more.")
    return "\n".join([f"{head}:\n", *lines]) if rows else f"{head}."


def _line(kind: str, row: Json) -> str:
    name, keys = name_of(row), COLUMNS.get(kind, tuple(row))
    parts = [_detail(key, row[key]) for key in keys if row.get(key) not in (None, "", name)]
    details = ", ".join(parts)
    return f"{name} ({details})" if name and details else name or details


def name_of(row: Json) -> str:
    return str(next((row[key] for key in NAMES if row.get(key) not in (None, "")), ""))


def _detail(key: str, value: Any) -> str:
    if key == "completed":
        return "completed" if value else "open"
    return f"{words(key)} {cell(key, value)}"


def words(key: str) -> str:
    """`balanceDue` -> balance due, `sales_invoice` -> sales invoice"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", key).lower()


def cell(key: str, value: Any) -> str:
    if isinstance(value, float) and MONEY.search(key):
        return f"{value:,.2f}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def result(done: Done) -> str:
    """What a call gave that no plan knows more about: as it is."""
    if done.failed:
        return failure(done)
    if not done.rows:
        lists = done.value.values() if isinstance(done.value, dict) else [done.value]
        values = [", ".join(map(str, part)) for part in lists if isinstance(part, list)]
        return (values or [done.text])[0][:1_500] or f"{done.name} returned nothing."
    if len(done.rows) > 1:
        return listed(f"{done.name} gave {counted(len(done.rows), 'record')}", "", done.rows)
    fields = [f"- {words(key)}: {cell(key, value)}" for key, value in done.rows[0].items()]
    return "\n".join([f"{done.name} gave:\n", *fields])
