"""Tools for items: what is sold."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from turnlog.contrib.business_central.client.connection import BusinessCentral
from turnlog.contrib.business_central.tools.master_data import (
    MasterData,
    RecordKind,
    arguments,
    describe_changes,
    describe_fields,
    money,
    second_one,
)
from turnlog.contrib.business_central.tools.records import (
    CurrentName,
    Etag,
    Limit,
    Name,
    Result,
    Text,
    by_number,
    listing,
    read_tool,
    search,
    with_etag,
    write_tool,
)
from turnlog.tools.tool import Tool, ToolContext

ItemNumber = Annotated[
    str, Meta(min_length=1, max_length=20, description="Number of the item, such as 1896-S")
]
NewNumber = Annotated[
    str, Meta(max_length=20, description="Leave it out to get the next one of the series")
]
Money = Annotated[float, Meta(ge=0, le=999_999_999, description="In the company's currency")]
Unit = Annotated[
    str, Meta(max_length=10, description="Code of the unit it is sold in, such as PCS")
]
Category = Annotated[str, Meta(max_length=20, description="Code of an item category")]

_LISTED = (
    "number",
    "displayName",
    "type",
    "unitPrice",
    "inventory",
    "baseUnitOfMeasureCode",
    "blocked",
)
_ITEM = (
    *("id", "number", "displayName", "type", "itemCategoryCode", "unitPrice", "unitCost"),
    *("inventory", "baseUnitOfMeasureCode", "priceIncludesTax", "taxGroupCode", "gtin", "blocked"),
    "lastModifiedDateTime",
)
FIELDS = {
    "number": "number",
    "name": "displayName",
    "kind": "type",
    "base_unit": "baseUnitOfMeasureCode",
    "category": "itemCategoryCode",
    "unit_price": "unitPrice",
    "unit_cost": "unitCost",
    "blocked": "blocked",
}
_IN_THE_HEADLINE = ("name", "unit_price")
_CHANGEABLE = {name: field for name, field in FIELDS.items() if name not in ("number", "kind")}


class Items:
    """The tools of one connection."""

    def __init__(self, bc: BusinessCentral) -> None:
        self._bc = bc
        self._new_records = MasterData(bc, RecordKind("items", "item", FIELDS, _ITEM))
        self._records = MasterData(bc, RecordKind("items", "item", _CHANGEABLE, _ITEM))

    def tools(self) -> list[Tool]:
        records = self._records
        return [
            read_tool(self.find_item),
            read_tool(self.get_item),
            write_tool(_describe_create, self._new_records.created)(self.create_item),
            write_tool(_describe_update, records.changed)(self.update_item),
            write_tool("Delete item {number} ({current_name})", records.deleted)(self.delete_item),
        ]

    async def find_item(self, text: Text | None = None, limit: Limit = 10) -> Result:
        """Find items (products and services) by part of their name, or by their number.

        Without text, list them. Gives number, name, type, unit price and what is in stock of
        each; hasMore says that there are more than these, total how many.
        """
        return listing(await search(self._bc, "items", text, _LISTED, limit), "items")

    async def get_item(self, number: ItemNumber) -> Result:
        """One item: type, unit, price, cost, stock, category, whether it is blocked.

        Its etag is needed to change or delete it.
        """
        return with_etag(await by_number(self._bc, "items", number, _ITEM))

    async def create_item(
        self,
        name: Name,
        unit_price: Money,
        context: ToolContext,
        number: NewNumber | None = None,
        kind: Literal["Inventory", "Service", "Non-Inventory"] = "Inventory",
        base_unit: Unit = "PCS",
        category: Category | None = None,
        unit_cost: Money | None = None,
        allow_same_name: bool = False,
    ) -> Result:
        """Create an item. Refused if there is one of exactly this name or number.

        Look with find_item first. Stock does not come with it: that takes a purchase.
        """
        return await self._new_records.create(arguments(locals()), context)

    async def update_item(
        self,
        number: ItemNumber,
        current_name: CurrentName,
        etag: Etag,
        context: ToolContext,
        name: Name | None = None,
        unit_price: Money | None = None,
        unit_cost: Money | None = None,
        base_unit: Unit | None = None,
        category: Category | None = None,
        blocked: bool | None = None,
    ) -> Result:
        """Change an item: give only the fields that change, with their new values.

        Read it with get_item first. If somebody has changed it since, this is refused. Documents
        that exist keep the price they have.
        """
        return await self._records.change(arguments(locals()), context)

    async def delete_item(
        self, number: ItemNumber, current_name: CurrentName, etag: Etag, context: ToolContext
    ) -> Result:
        """Delete an item for good. Refused while documents or entries have it.

        Read it with get_item first. To stop selling it, set blocked with update_item instead.
        """
        return await self._records.delete(arguments(locals()), context)


def _describe_create(args: dict[str, Any]) -> str:
    rest = {name: field for name, field in FIELDS.items() if name not in _IN_THE_HEADLINE}
    details = describe_fields(args, rest)
    item = f"{args['name']} at {money(args['unit_price'])} each"
    return f"Create item {item} ({details}){second_one(args)}"


def _describe_update(args: dict[str, Any]) -> str:
    item = f"{args['number']} ({args['current_name']})"
    return f"Change item {item}: {describe_changes(args, _CHANGEABLE)}"
