"""Records as the model sees them: few fields, nothing blank, options in plain words."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta

from turnlog.errors import ToolError
from turnlog.tools.tool import (
    Describe,
    NotDone,
    Tool,
    ToolContext,
    tool,
)

from .connection import BusinessCentral, Found, Row
from .failures import Missing, Uncertain
from .where import equals, holds

Text = Annotated[
    str,
    Meta(
        min_length=1, max_length=100, description="Part of the name, or the number; none lists all"
    ),
]
Number = Annotated[str, Meta(min_length=1, max_length=20, description="Its number, such as 10000")]
Name = Annotated[str, Meta(min_length=1, max_length=100, description="As it stands on invoices")]
CurrentName = Annotated[
    str,
    Meta(min_length=1, max_length=100, description="Its name now; checked before anything is done"),
]
Etag = Annotated[
    str,
    Meta(  # not "*", which would overwrite whatever somebody else has done
        pattern=r'^W/"[!#-~]{1,150}"$',
        description="As the get tool gave it: proves what you read",
    ),
]
Limit = Annotated[int, Meta(ge=1, le=50, description="The most to return")]
Result = dict[str, Any]
WRITES_WITHIN = 180.0  # seconds: several requests, each of which may have to wait
_BLANK = ("", None, "0001-01-01", "00000000-0000-0000-0000-000000000000", " ")
OPTIONS = ("kind", "blocked")  # arguments whose texts are options; an item's blocked is a bool
# A request whose answer was lost may still be under way: "not done" would say too much.
NOT_THERE = (
    "the connection to Business Central broke before it answered; the change is not there so far."
)
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def reads(function: Callable[..., Any]) -> Tool:
    return tool(writes=False)(function)


def writes(
    describe: Describe, reconcile: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Tool]:
    """A tool that changes something: a person is asked, and it can be asked about afterwards."""
    return tool(writes=True, describe=describe, reconcile=reconcile, timeout=WRITES_WITHIN)


def plain(row: Row) -> Result:
    """Without what is blank; its etag under a plain name, if it has one."""
    told = {name: _plain_value(value) for name, value in row.items() if "@" not in name}
    if told.get("blocked") == " ":
        told["blocked"] = "No"
    return {name: value for name, value in told.items() if value not in _BLANK}


def with_etag(row: Row) -> Result:
    return plain(row) | {"etag": row["@odata.etag"]}


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(one) if isinstance(one, dict) else one for one in value]
    if isinstance(value, str):
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
    return value


def told(found: Found, name: str) -> Result:
    rows = [plain(row) for row in found.rows]
    more = {"total": found.total} if found.has_more and found.total else {}
    return {name: rows, "count": len(rows), "hasMore": found.has_more} | more


async def search(
    bc: BusinessCentral, entity_set: str, text: str | None, select: Sequence[str], limit: int
) -> Found:
    """By part of the name or by the whole number. Business Central has no `or` over two fields."""
    if text is None:
        order = "displayName"
        return await bc.find(entity_set, select=select, limit=limit, order=order, counted=True)
    if not text.strip():
        raise ToolError("Give at least one letter of the name, or the number.")
    named, numbered = await asyncio.gather(
        bc.find(entity_set, holds("displayName", text.strip()), select=select, limit=limit),
        bc.find(entity_set, equals("number", text.strip().upper()), select=select, limit=1),
    )
    rows = {row["number"]: row for row in (*numbered.rows, *named.rows)}
    return Found(list(rows.values())[:limit], named.has_more or len(rows) > limit)


async def by_number(
    bc: BusinessCentral, entity_set: str, number: str, select: Sequence[str], expand: str = ""
) -> Row:
    """The one record with this number. Raises Missing with the tool that finds it."""
    where = equals("number", number.strip().upper())
    found = await bc.find(entity_set, where, select=select, limit=1, expand=expand)
    if not found.rows:
        what = WORDS[entity_set]
        raise Missing(f"There is no {what} {number!r}. find_{what.replace(' ', '_')} finds them.")
    return found.rows[0]


WORDS = {
    "customers": "customer",
    "vendors": "vendor",
    "items": "item",
    "salesOrders": "sales order",
    "salesInvoices": "sales invoice",
}


def check_name(row: Row, name: str, number: str) -> None:
    """What a person allowed is what the name says: it must be the one of this number."""
    if row["displayName"].casefold() != name.strip().casefold():
        raise ToolError(
            f"{number!r} is {row['displayName']!r}, not {name!r}. Check which you mean."
        )


def body_of(fields: dict[str, str], given: dict[str, Any]) -> Row:
    """What was given, by Business Central's names, in the order of the table."""
    named = {ours: given[ours] for ours in fields if given.get(ours) is not None}
    named |= {
        name: wire_option(named[name]) for name in OPTIONS if isinstance(named.get(name), str)
    }
    return {fields[ours]: value for ours, value in named.items()}


def wire_option(text: str) -> str:
    """Options are written as XML names: `In Review` is `In_x0020_Review`, and none is a blank."""
    option = " " if text == "No" else text
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found[0]):04X}_", option)


def agrees(row: Row, body: Row) -> bool:
    """Whether the record holds what was asked for."""
    return all(_same(row.get(name), wanted) for name, wanted in body.items())


def _same(actual: Any, wanted: Any) -> bool:
    if isinstance(actual, str) and isinstance(wanted, str):
        return _comparable(actual) == _comparable(wanted)
    return bool(actual == wanted)


def _comparable(text: str) -> str:
    shown: str = _plain_value(text)
    return shown.casefold().strip()


def short_key(context: ToolContext) -> str:
    """The call's idempotency key in a form that fits into a document's number field."""
    key = context.idempotency_key or f"{context.session_id}/{context.tool_use_id}"
    return "TL-" + hashlib.sha256(key.encode()).hexdigest()[:20].upper()


async def settled(work: Awaitable[Result], look: Callable[[], Awaitable[Result | None]]) -> Result:
    """The result of a write; where its answer was lost, what Business Central says became of it."""
    try:
        return await work
    except Uncertain:
        try:
            found = await look()
        except NotDone:
            raise Uncertain(NOT_THERE) from None
        if found is None:
            raise
        return found
