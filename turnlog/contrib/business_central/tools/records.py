"""Records as the model sees them: few fields, nothing blank, options in plain words."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta

from turnlog.contrib.business_central.client.conditions import contains, equals
from turnlog.contrib.business_central.client.connection import BusinessCentral, QueryResult, Row
from turnlog.contrib.business_central.client.failures import Missing, Uncertain
from turnlog.errors import ToolError
from turnlog.tools.tool import Describe, NotDone, Tool, ToolContext, tool

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
WRITE_TIMEOUT = 180.0  # seconds: several requests, each of which may have to wait
_BLANK = ("", None, "0001-01-01", "00000000-0000-0000-0000-000000000000", " ")
OPTIONS = ("kind", "blocked")  # arguments whose texts are options; an item's blocked is a bool
# A request whose response was lost may still be running, so "not done" would be a guess.
NOT_THERE = (
    "the connection to Business Central broke before it answered; the change is not there so far."
)
_ESCAPED = re.compile(r"_x00([2-7][0-9A-Fa-f])_")  # in options, which are plain ASCII


def read_tool(function: Callable[..., Any]) -> Tool:
    return tool(writes=False)(function)


def write_tool(
    describe: Describe, reconcile: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Tool]:
    """A tool that changes something. A person approves it; `reconcile` finds out if it happened."""
    return tool(writes=True, describe=describe, reconcile=reconcile, timeout=WRITE_TIMEOUT)


def plain(row: Row) -> Result:
    """The row without blank fields and annotations."""
    values = {name: _plain_value(value) for name, value in row.items() if "@" not in name}
    if values.get("blocked") == " ":
        values["blocked"] = "No"
    return {name: value for name, value in values.items() if value not in _BLANK}


def with_etag(row: Row) -> Result:
    return plain(row) | {"etag": row["@odata.etag"]}


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(each) if isinstance(each, dict) else each for each in value]
    if isinstance(value, str):
        return _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), value)
    return value


def listing(result: QueryResult, name: str) -> Result:
    """The rows under this name, with their count and whether there are more."""
    rows = [plain(row) for row in result.rows]
    total = {"total": result.total} if result.has_more and result.total else {}
    return {name: rows, "count": len(rows), "hasMore": result.has_more} | total


async def search(
    bc: BusinessCentral, entity_set: str, text: str | None, select: Sequence[str], limit: int
) -> QueryResult:
    """Rows by part of the name or by the whole number.

    These are two queries: Business Central has no `or` over two fields.
    """
    if text is None:
        order = "displayName"
        return await bc.find(entity_set, select=select, limit=limit, order=order, counted=True)
    if not text.strip():
        raise ToolError("Give at least one letter of the name, or the number.")
    named, numbered = await asyncio.gather(
        bc.find(entity_set, contains("displayName", text.strip()), select=select, limit=limit),
        bc.find(entity_set, equals("number", text.strip().upper()), select=select, limit=1),
    )
    rows = {row["number"]: row for row in (*numbered.rows, *named.rows)}
    return QueryResult(list(rows.values())[:limit], named.has_more or len(rows) > limit)


async def by_number(
    bc: BusinessCentral, entity_set: str, number: str, select: Sequence[str], expand: str = ""
) -> Row:
    """The record with this number. Raises Missing, which names the tool that finds records."""
    condition = equals("number", number.strip().upper())
    result = await bc.find(entity_set, condition, select=select, limit=1, expand=expand)
    if not result.rows:
        word = WORDS[entity_set]
        raise Missing(f"There is no {word} {number!r}. find_{word.replace(' ', '_')} finds them.")
    return result.rows[0]


WORDS = {
    "customers": "customer",
    "vendors": "vendor",
    "items": "item",
    "salesOrders": "sales order",
    "salesInvoices": "sales invoice",
}


def check_name(row: Row, name: str, number: str) -> None:
    """Refuse a name that is not this record's: a person has approved the name."""
    if row["displayName"].casefold() != name.strip().casefold():
        raise ToolError(
            f"{number!r} is {row['displayName']!r}, not {name!r}. Check which you mean."
        )


def body_of(fields: dict[str, str], args: dict[str, Any]) -> Row:
    """The arguments under Business Central's names, in the order of the table."""
    values = {name: args[name] for name in fields if args.get(name) is not None}
    options = [name for name in OPTIONS if isinstance(values.get(name), str)]
    values |= {name: wire_option(values[name]) for name in options}
    return {fields[name]: value for name, value in values.items()}


def wire_option(text: str) -> str:
    """An option as an XML name: `In Review` is `In_x0020_Review`, and `No` is a blank."""
    option = " " if text == "No" else text
    return re.sub(r"[^A-Za-z0-9_]", lambda letter: f"_x{ord(letter[0]):04X}_", option)


def agrees(row: Row, body: Row) -> bool:
    """Whether the record holds the values of this body."""
    return all(_is_same(row.get(name), wanted) for name, wanted in body.items())


def _is_same(actual: Any, wanted: Any) -> bool:
    if isinstance(actual, str) and isinstance(wanted, str):
        return _comparable(actual) == _comparable(wanted)
    return bool(actual == wanted)


def _comparable(text: str) -> str:
    value: str = _plain_value(text)
    return value.casefold().strip()


def short_key(context: ToolContext) -> str:
    """The call's idempotency key, short enough for a document's number field."""
    key = context.idempotency_key or f"{context.session_id}/{context.tool_use_id}"
    return "TL-" + hashlib.sha256(key.encode()).hexdigest()[:20].upper()


async def settle(
    write: Awaitable[Result], look_up: Callable[[], Awaitable[Result | None]]
) -> Result:
    """The result of a write. If its response was lost, Business Central says what happened."""
    try:
        return await write
    except Uncertain:
        try:
            result = await look_up()
        except NotDone:
            raise Uncertain(NOT_THERE) from None
        if result is None:
            raise
        return result
