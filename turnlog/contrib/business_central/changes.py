"""Creating, changing and deleting a master record: the same steps for customers and items.

Each write can be asked about afterwards. Nothing in API v2.0 carries a key of ours on a customer
or an item, so the record itself is the evidence: its name, its fields, its etag.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from turnlog.errors import ToolError
from turnlog.tools.tool import NotDone, ToolContext

from .connection import BusinessCentral, Row
from .failures import Missing
from .records import (
    Result,
    agrees,
    body_of,
    by_number,
    check_name,
    settled,
    with_etag,
)
from .where import equals


@dataclass(frozen=True)
class Kind:
    """A kind of record: where it is, what it is called, which arguments set which fields."""

    entity_set: str
    word: str
    fields: dict[str, str]  # argument -> field
    shown: tuple[str, ...]


class Changing:
    """The writes of one kind."""

    def __init__(self, bc: BusinessCentral, kind: Kind) -> None:
        self._bc, self._kind = bc, kind

    async def create(self, args: Row, context: ToolContext) -> Result:
        await self._refuse_same_name(args)
        return await settled(self._create(args), lambda: self.created(args, context))

    async def change(self, args: Row, context: ToolContext) -> Result:
        row = await self._read(args)
        body = self._body(args)
        if not body:
            raise ToolError("Nothing to change: give at least one field with its new value.")
        path = self._path(row)
        work = self._change(path, args["etag"], body)
        return await settled(work, lambda: self.changed(args, context))

    async def delete(self, args: Row, context: ToolContext) -> Result:
        row = await self._read(args)
        work = self._delete(self._path(row), args)
        return await settled(work, lambda: self.deleted(args, context))

    # --- what became of it ---

    async def created(self, args: Row, context: ToolContext) -> Result | None:
        """The one record of that name, if it holds what was asked for."""
        rows = await self._named(args)
        if not rows:
            raise NotDone
        if len(rows) > 1 or args.get("allow_same_name"):
            return None
        return with_etag(rows[0]) if agrees(rows[0], self._body(args)) else None

    async def changed(self, args: Row, context: ToolContext) -> Result | None:
        """The etag that the change was made against is still there: it did not happen."""
        row = await self._now(args)
        if row is not None and row["@odata.etag"] == args["etag"]:
            raise NotDone
        return with_etag(row) if row is not None and agrees(row, self._body(args)) else None

    async def deleted(self, args: Row, context: ToolContext) -> Result | None:
        row = await self._now(args)
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
        made = await self._bc.create(self._kind.entity_set, self._body(args))
        return self._shown(made)

    async def _change(self, path: str, etag: str, body: Row) -> Result:
        return self._shown(await self._bc.change(path, etag, body))

    async def _delete(self, path: str, args: Row) -> Result:
        # It was there a moment ago: somebody, or our own request sent twice, was first.
        with suppress(Missing):
            await self._bc.delete(path, args["etag"])
        return {"deleted": True, "number": args["number"]}

    def _shown(self, row: Row) -> Result:
        return with_etag({name: row[name] for name in ("@odata.etag", *self._kind.shown)})

    async def _read(self, args: Row) -> Row:
        row = await by_number(
            self._bc, self._kind.entity_set, args["number"], ("id", "number", "displayName")
        )
        check_name(row, args["current_name"], args["number"])
        return row

    async def _now(self, args: Row) -> Row | None:
        kind = self._kind
        try:
            return await by_number(self._bc, kind.entity_set, args["number"], kind.shown)
        except Missing:
            return None

    async def _named(self, args: Row) -> list[Row]:
        where = equals("displayName", args["name"])
        kind = self._kind
        return (await self._bc.find(kind.entity_set, where, select=kind.shown, limit=2)).rows

    async def _refuse_same_name(self, args: Row) -> None:
        if args.get("allow_same_name"):
            return
        for row in await self._named(args):
            raise ToolError(
                f"There is a {self._kind.word} {args['name']!r} already, with number"
                f" {row['number']}. Use that one, or say allow_same_name if a second one is meant."
            )


def given(named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, from the names that its function has."""
    return {name: value for name, value in named.items() if name not in ("self", "context")}


def told_changes(args: dict[str, Any], fields: dict[str, str]) -> str:
    """For a person: "city → Boston, email → a@b.example"."""
    return _told(args, fields, " → ")


def told_fields(args: dict[str, Any], fields: dict[str, str]) -> str:
    """For a person: "city Boston, email a@b.example"."""
    return _told(args, fields, " ")


def _told(args: dict[str, Any], fields: dict[str, str], link: str) -> str:
    given = [(name, args[name]) for name in fields if args.get(name) is not None]
    return ", ".join(f"{name.replace('_', ' ')}{link}{_shown(value)}" for name, value in given)


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
