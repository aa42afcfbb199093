"""Creating, changing and deleting a master record: the same steps for customers and items.

Each write has a method that finds out afterwards if it happened. API v2.0 has no field for a key of
ours on a customer or an item, so the record itself is the evidence: its name, its fields, its etag.
"""

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from turnlog.contrib.business_central.client.conditions import equals
from turnlog.contrib.business_central.client.connection import BusinessCentral, Row
from turnlog.contrib.business_central.client.failures import Missing
from turnlog.contrib.business_central.tools.records import (
    Result,
    agrees,
    body_of,
    by_number,
    check_name,
    settle,
    with_etag,
)
from turnlog.errors import ToolError
from turnlog.tools.tool import NotDone, ToolContext


@dataclass(frozen=True)
class RecordKind:
    """A kind of record: its entity set, its word, and which argument sets which field."""

    entity_set: str
    word: str
    fields: dict[str, str]  # argument -> field
    shown: tuple[str, ...]


class MasterData:
    """The writes of one kind of record."""

    def __init__(self, bc: BusinessCentral, kind: RecordKind) -> None:
        self._bc, self._kind = bc, kind

    async def create(self, args: Row, context: ToolContext) -> Result:
        await self._refuse_same_name(args)
        return await settle(self._create(args), lambda: self.created(args, context))

    async def change(self, args: Row, context: ToolContext) -> Result:
        row = await self._checked_row(args)
        body = self._body(args)
        if not body:
            raise ToolError("Nothing to change: give at least one field with its new value.")
        write = self._change(self._path(row), args["etag"], body)
        return await settle(write, lambda: self.changed(args, context))

    async def delete(self, args: Row, context: ToolContext) -> Result:
        row = await self._checked_row(args)
        write = self._delete(self._path(row), args)
        return await settle(write, lambda: self.deleted(args, context))

    # --- did it happen? Raises NotDone if it did not; None: nobody can tell ---

    async def created(self, args: Row, context: ToolContext) -> Result | None:
        """The only record of that name, if it holds the arguments' values."""
        rows = await self._rows_of_that_name(args)
        if not rows:
            raise NotDone
        if len(rows) > 1 or args.get("allow_same_name"):
            return None
        return with_etag(rows[0]) if agrees(rows[0], self._body(args)) else None

    async def changed(self, args: Row, context: ToolContext) -> Result | None:
        """The record, if it holds the new values. With its old etag it was not changed."""
        row = await self._current(args)
        if row is not None and row["@odata.etag"] == args["etag"]:
            raise NotDone
        return with_etag(row) if row is not None and agrees(row, self._body(args)) else None

    async def deleted(self, args: Row, context: ToolContext) -> Result | None:
        row = await self._current(args)
        if row is None:
            return {"deleted": True, "number": args["number"]}
        if row["@odata.etag"] == args["etag"]:
            raise NotDone
        return None

    # --- the steps ---

    def _body(self, args: Row) -> Row:
        return body_of(self._kind.fields, args)

    def _path(self, row: Row) -> str:
        return f"{self._kind.entity_set}({row['id']})"

    async def _create(self, args: Row) -> Result:
        return self._shown(await self._bc.create(self._kind.entity_set, self._body(args)))

    async def _change(self, path: str, etag: str, body: Row) -> Result:
        return self._shown(await self._bc.change(path, etag, body))

    async def _delete(self, path: str, args: Row) -> Result:
        # It was there a moment ago, so somebody else has deleted it, or our own first request.
        with suppress(Missing):
            await self._bc.delete(path, args["etag"])
        return {"deleted": True, "number": args["number"]}

    def _shown(self, row: Row) -> Result:
        return with_etag({name: row[name] for name in ("@odata.etag", *self._kind.shown)})

    async def _checked_row(self, args: Row) -> Row:
        row = await by_number(
            self._bc, self._kind.entity_set, args["number"], ("id", "number", "displayName")
        )
        check_name(row, args["current_name"], args["number"])
        return row

    async def _current(self, args: Row) -> Row | None:
        kind = self._kind
        try:
            return await by_number(self._bc, kind.entity_set, args["number"], kind.shown)
        except Missing:
            return None

    async def _rows_of_that_name(self, args: Row) -> list[Row]:
        condition, kind = equals("displayName", args["name"]), self._kind
        return (await self._bc.find(kind.entity_set, condition, select=kind.shown, limit=2)).rows

    async def _refuse_same_name(self, args: Row) -> None:
        if args.get("allow_same_name"):
            return
        for row in await self._rows_of_that_name(args):
            raise ToolError(
                f"There is a {self._kind.word} {args['name']!r} already, with number"
                f" {row['number']}. Use that one, or say allow_same_name if a second one is meant."
            )


def arguments(names: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a tool call, from the `locals()` of its function."""
    return {name: value for name, value in names.items() if name not in ("self", "context")}


def describe_changes(args: dict[str, Any], fields: dict[str, str]) -> str:
    """For a person: "city → Boston, email → a@b.example"."""
    return _describe(args, fields, " → ")


def describe_fields(args: dict[str, Any], fields: dict[str, str]) -> str:
    """For a person: "city Boston, email a@b.example"."""
    return _describe(args, fields, " ")


def second_one(args: dict[str, Any]) -> str:
    """For a person, who should not take a second record of a name for the first."""
    return ", even if there is one of this name" if args.get("allow_same_name") else ""


def _describe(args: dict[str, Any], fields: dict[str, str], link: str) -> str:
    values = [(name, args[name]) for name in fields if args.get(name) is not None]
    return ", ".join(f"{name.replace('_', ' ')}{link}{_format(value)}" for name, value in values)


def _format(value: Any) -> str:
    return money(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """For a person, with every digit that is written: 1,250.5."""
    return f"{Decimal(repr(float(value))):,f}".removesuffix(".0")


def money(value: float) -> str:
    """The same with two decimals at least: 1,250.50, and 0.0625 as it is."""
    whole, _, decimals = number(value).partition(".")
    return f"{whole}.{decimals:0<2}"
