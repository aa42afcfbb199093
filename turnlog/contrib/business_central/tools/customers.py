"""Tools for customers and vendors."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from turnlog.contrib.business_central.client.connection import BusinessCentral
from turnlog.contrib.business_central.tools.master_data import (
    MasterData,
    RecordKind,
    arguments,
    describe_changes,
    describe_fields,
    second_one,
)
from turnlog.contrib.business_central.tools.records import (
    CurrentName,
    Etag,
    Limit,
    Name,
    Number,
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

Line = Annotated[str, Meta(max_length=100)]
Short = Annotated[str, Meta(max_length=30)]
Postal = Annotated[str, Meta(max_length=20)]
Mail = Annotated[str, Meta(max_length=80)]
Country = Annotated[str, Meta(max_length=10, description="Code of the country, such as US")]
Currency = Annotated[
    str, Meta(max_length=10, description="Code such as EUR; blank: the company's own")
]
Money = Annotated[float, Meta(ge=0, le=999_999_999)]
Blocked = Annotated[
    Literal["No", "Ship", "Invoice", "All"], Meta(description="What is not done for them any more")
]

_LISTED = ("number", "displayName", "city", "state", "country", "phoneNumber", "email", "blocked")
_CUSTOMER = (
    *("id", "number", "displayName", "type", "addressLine1", "addressLine2", "city", "state"),
    *("postalCode", "country", "phoneNumber", "email", "website", "salespersonCode"),
    *("currencyCode", "creditLimit", "balanceDue", "taxLiable", "blocked", "lastModifiedDateTime"),
)
_VENDOR = (
    *("id", "number", "displayName", "addressLine1", "addressLine2", "city", "state"),
    *("postalCode", "country", "phoneNumber", "email", "website", "currencyCode", "balance"),
    *("taxLiable", "blocked", "lastModifiedDateTime"),
)
# Argument -> field, in the order in which Business Central should check them.
FIELDS = {
    "name": "displayName",
    "kind": "type",
    "address": "addressLine1",
    "city": "city",
    "state": "state",
    "postal_code": "postalCode",
    "country": "country",
    "phone_number": "phoneNumber",
    "email": "email",
    "currency_code": "currencyCode",
    "credit_limit": "creditLimit",
    "blocked": "blocked",
}
_IN_THE_HEADLINE = ("name", "kind")


class Customers:
    """The tools of one connection."""

    def __init__(self, bc: BusinessCentral) -> None:
        self._bc = bc
        self._records = MasterData(bc, RecordKind("customers", "customer", FIELDS, _CUSTOMER))

    def tools(self) -> list[Tool]:
        records = self._records
        return [
            read_tool(self.find_customer),
            read_tool(self.get_customer),
            write_tool(_describe_create, records.created)(self.create_customer),
            write_tool(_describe_update, records.changed)(self.update_customer),
            write_tool("Delete customer {number} ({current_name})", records.deleted)(
                self.delete_customer
            ),
            read_tool(self.find_vendor),
            read_tool(self.get_vendor),
        ]

    async def find_customer(self, text: Text | None = None, limit: Limit = 10) -> Result:
        """Find customers by part of their name, or by their number; without text, list them.

        Gives number, name, place, contact and balance due of each; hasMore says that there are
        more than these, total how many. Use get_customer for everything else.
        """
        shown = (*_LISTED, "balanceDue")
        return listing(await search(self._bc, "customers", text, shown, limit), "customers")

    async def get_customer(self, number: Number) -> Result:
        """One customer: address, contact, currency, balance due, credit limit, whether blocked.

        Its etag is needed to change or delete it.
        """
        return with_etag(await by_number(self._bc, "customers", number, _CUSTOMER))

    async def create_customer(
        self,
        name: Name,
        context: ToolContext,
        kind: Literal["Company", "Person"] = "Company",
        address: Line | None = None,
        city: Short | None = None,
        state: Short | None = None,
        postal_code: Postal | None = None,
        country: Country | None = None,
        phone_number: Short | None = None,
        email: Mail | None = None,
        currency_code: Currency | None = None,
        credit_limit: Money | None = None,
        allow_same_name: bool = False,
    ) -> Result:
        """Create a customer; Business Central gives it a number.

        Refused if there is one of exactly this name, unless allow_same_name is set: look with
        find_customer first, and ask the user for what is not known instead of inventing it.
        """
        return await self._records.create(arguments(locals()), context)

    async def update_customer(
        self,
        number: Number,
        current_name: CurrentName,
        etag: Etag,
        context: ToolContext,
        name: Name | None = None,
        address: Line | None = None,
        city: Short | None = None,
        state: Short | None = None,
        postal_code: Postal | None = None,
        country: Country | None = None,
        phone_number: Short | None = None,
        email: Mail | None = None,
        credit_limit: Money | None = None,
        blocked: Blocked | None = None,
    ) -> Result:
        """Change a customer: give only the fields that change, with their new values.

        Read it with get_customer first. If somebody has changed it since, this is refused.
        """
        return await self._records.change(arguments(locals()), context)

    async def delete_customer(
        self, number: Number, current_name: CurrentName, etag: Etag, context: ToolContext
    ) -> Result:
        """Delete a customer for good. Refused while there are documents or entries for it.

        Read it with get_customer first. To stop business with somebody, set blocked to All
        with update_customer instead.
        """
        return await self._records.delete(arguments(locals()), context)

    async def find_vendor(self, text: Text | None = None, limit: Limit = 10) -> Result:
        """Find vendors (suppliers) by part of their name, or by their number; or list them.

        Gives number, name, place, contact of each and the balance: what is owed to it.
        """
        shown = (*_LISTED, "balance")
        return listing(await search(self._bc, "vendors", text, shown, limit), "vendors")

    async def get_vendor(self, number: Number) -> Result:
        """One vendor: address, contact, currency, what is owed to it, whether it is blocked."""
        return with_etag(await by_number(self._bc, "vendors", number, _VENDOR))


def _describe_create(args: dict[str, Any]) -> str:
    rest = {name: FIELDS[name] for name in FIELDS if name not in _IN_THE_HEADLINE}
    details = describe_fields(args, rest)
    word = "customer" if args.get("kind") != "Person" else "customer (a person)"
    who = f"{word} {args['name']}{f' with {details}' if details else ''}"
    return f"Create {who}{second_one(args)}"


def _describe_update(args: dict[str, Any]) -> str:
    who = f"{args['number']} ({args['current_name']})"
    return f"Change customer {who}: {describe_changes(args, FIELDS)}"
