"""Tools that create and post sales invoices.

API v2.0 has no idempotency key. An invoice carries a short form of ours as its
externalDocumentNumber, so that we can find it again. The header is created first, without lines;
all lines follow in one transaction. So a crash leaves nothing, an empty draft, or the whole
invoice, and we can tell these three apart.
"""

from contextlib import suppress
from datetime import date
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from turnlog.contrib.business_central.client.conditions import equals, one_of
from turnlog.contrib.business_central.client.connection import BusinessCentral, Row
from turnlog.contrib.business_central.client.failures import Conflict, Missing
from turnlog.contrib.business_central.tools.items import ItemNumber
from turnlog.contrib.business_central.tools.master_data import arguments, money, number
from turnlog.contrib.business_central.tools.records import (
    Etag,
    Number,
    Result,
    by_number,
    check_name,
    plain,
    settle,
    short_key,
    write_tool,
)
from turnlog.contrib.business_central.tools.sales import (
    INVOICE,
    INVOICE_LINES,
    MOST_LINES,
    with_lines,
)
from turnlog.errors import ToolError
from turnlog.tools.tool import NotDone, Tool, ToolContext

Quantity = Annotated[float, Meta(gt=0, le=1_000_000)]
Price = Annotated[float, Meta(ge=0, le=999_999_999, description="Instead of the item's price")]
Percent = Annotated[float, Meta(ge=0, le=100)]
CustomerNumber = Annotated[
    str, Meta(min_length=1, max_length=20, description="Number of the customer, such as 10000")
]
CustomerName = Annotated[str, Meta(max_length=100, description="Checked against the number")]
Reference = Annotated[str, Meta(max_length=35, description="The customer's own order number")]
InvoiceId = Annotated[
    str, Meta(pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", description="Its id")
]
_POSTED = ("Open", "Paid", "Canceled", "Corrective")
_DRAFT = ("Draft", "In Review")


class Line(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is sold."""

    item_number: ItemNumber
    quantity: Quantity
    unit_price: Price | None = None
    discount_percent: Percent | None = None


class Invoices:
    """The tools of one connection."""

    def __init__(self, bc: BusinessCentral) -> None:
        self._bc = bc

    def tools(self) -> list[Tool]:
        return [
            write_tool(_describe_create, self.created)(self.create_sales_invoice),
            write_tool(_describe_post, self.posted)(self.post_sales_invoice),
        ]

    async def create_sales_invoice(
        self,
        customer_number: CustomerNumber,
        customer_name: CustomerName,
        lines: Annotated[list[Line], Meta(min_length=1, max_length=MOST_LINES)],
        context: ToolContext,
        invoice_date: date | None = None,
        customer_reference: Reference | None = None,
    ) -> Result:
        """Create a draft sales invoice for a customer, with its lines.

        Find the customer and the items first; their prices are taken unless a line has its own.
        The draft can still be changed: post_sales_invoice makes it final. Gives the invoice with
        its id, number and totals.
        """
        args = arguments(locals())
        return await settle(self._create(args, context), lambda: self.created(args, context))

    async def post_sales_invoice(
        self,
        invoice_id: InvoiceId,
        number: Number,
        customer_name: CustomerName,
        total_including_tax: float,
        currency_code: Annotated[str, Meta(max_length=10)],
        etag: Etag,
        context: ToolContext,
    ) -> Result:
        """Post a draft sales invoice: it becomes final, enters the books and cannot be changed.

        Give id, number, customerName, totalAmountIncludingTax, currencyCode and etag as
        get_sales_invoice shows them: a person is asked to allow exactly that, and it is refused
        if anything in the invoice has changed by then. Posting gives it a new number.
        """
        args = arguments(locals())
        row = await self._bc.get(_path(invoice_id), select=INVOICE)
        _check_postable(row, args)
        return await settle(self._post(row, args), lambda: self.posted(args, context))

    # --- did it happen? Raises NotDone if it did not; None: nobody can tell ---

    async def created(self, args: Row, context: ToolContext) -> Result | None:
        """The invoice with this call's key. An empty draft of it is deleted."""
        row = await self._by_key(context)
        if row is None:
            raise NotDone
        if len(row["salesInvoiceLines"]) >= len(
            args["lines"]
        ):  # Business Central may add texts of its own
            return with_lines(row, "salesInvoiceLines")
        if not row["salesInvoiceLines"] and await self._remove_draft(row):
            raise NotDone
        return None  # somebody has worked on it since

    async def posted(self, args: Row, context: ToolContext) -> Result | None:
        try:
            row = await self._bc.get(_path(args["invoice_id"]), select=INVOICE)
        except Missing:
            return None
        status = plain(row)["status"]
        if status in _DRAFT:
            raise NotDone
        return plain(row) if status in _POSTED else None

    # --- the steps ---

    async def _create(self, args: Row, context: ToolContext) -> Result:
        if (known := await self._by_key(context)) and known["salesInvoiceLines"]:
            return with_lines(known, "salesInvoiceLines")  # the same call, once more
        customer = await by_number(
            self._bc, "customers", args["customer_number"], ("number", "displayName")
        )
        check_name(customer, args["customer_name"], args["customer_number"])
        lines = await self._line_bodies(args["lines"])
        header = known or await self._bc.create("salesInvoices", _header(args, context))
        await self._add_lines(header, args["lines"], lines)
        invoice = await self._bc.get(_path(header["id"]), select=INVOICE, expand=INVOICE_LINES)
        return with_lines(invoice, "salesInvoiceLines")

    async def _line_bodies(self, lines: list[Line]) -> list[Row]:
        """Request bodies of the lines. Raises ToolError, which names every unusable item."""
        numbers = [line.item_number.strip().upper() for line in lines]
        result = await self._bc.find(
            "items",
            one_of("number", sorted(set(numbers))),
            select=("id", "number", "blocked"),
            limit=len(numbers),
        )
        items = {row["number"].upper(): row for row in result.rows}
        _check_items(numbers, items)
        return [_body(items[number], line) for number, line in zip(numbers, lines, strict=True)]

    async def _add_lines(self, header: Row, lines: list[Line], bodies: list[Row]) -> None:
        """Add all lines or none. If none, the empty draft is deleted as well."""
        path = f"{_path(header['id'])}/salesInvoiceLines"
        errors = await self._bc.create_all(path, bodies)
        problems = [
            f"line {number} ({line.item_number}): {error}"
            for number, (line, error) in enumerate(zip(lines, errors, strict=True), 1)
            if error is not None
        ]
        if problems:
            removed = await self._remove_draft(header)
            draft = f"Draft {header['number']} has no lines"
            raise ToolError(
                f"{'No invoice was created' if removed else draft}. {'; '.join(problems)}"
            )

    async def _remove_draft(self, empty: Row) -> bool:
        """Delete an empty draft. False if somebody has begun to work on it."""
        try:
            with suppress(Missing):  # somebody else has deleted it
                await self._bc.delete(_path(empty["id"]), empty["@odata.etag"])
        except Conflict:
            return False
        return True

    async def _post(self, row: Row, args: Row) -> Result:
        path = _path(args["invoice_id"])
        unchanged = {"externalDocumentNumber": row["externalDocumentNumber"]}
        await self._bc.act(path, "post", args["etag"], unchanged)
        return plain(await self._bc.get(path, select=INVOICE))

    async def _by_key(self, context: ToolContext) -> Row | None:
        condition = equals("externalDocumentNumber", short_key(context))
        result = await self._bc.find(
            "salesInvoices", condition, select=INVOICE, limit=1, expand=INVOICE_LINES
        )
        return result.rows[0] if result.rows else None


def _path(id: str) -> str:
    return f"salesInvoices({id})"


def _header(args: Row, context: ToolContext) -> Row:
    body: Row = {"externalDocumentNumber": short_key(context)}
    body["customerNumber"] = args["customer_number"].strip().upper()
    if args.get("invoice_date"):
        body |= dict.fromkeys(("invoiceDate", "postingDate"), args["invoice_date"].isoformat())
    if args.get("customer_reference"):
        body["customerPurchaseOrderReference"] = args["customer_reference"]
    return body


def _body(item: Row, line: Line) -> Row:
    """The item comes first: it sets description, unit and price, which later fields change."""
    body: Row = {"itemId": item["id"], "quantity": line.quantity}
    if line.unit_price is not None:
        body["unitPrice"] = line.unit_price
    if line.discount_percent is not None:
        body["discountPercent"] = line.discount_percent
    return body


def _check_items(numbers: list[str], items: dict[str, Row]) -> None:
    if missing := [number for number in numbers if number not in items]:
        raise ToolError(f"There is no item {', '.join(missing)}. find_item finds them.")
    if blocked := [number for number in numbers if items[number]["blocked"]]:
        raise ToolError(f"Item {', '.join(blocked)} is blocked and cannot be sold.")


def _check_postable(row: Row, args: Row) -> None:
    """Refuse an invoice that is not as the person has approved it."""
    invoice = plain(row)
    if invoice["status"] not in _DRAFT:
        raise ToolError(
            f"This invoice is posted already, as {invoice['number']} ({invoice['status']})."
        )
    approved = {
        "number": args["number"].strip().upper(),
        "customerName": args["customer_name"].strip(),
        "currencyCode": args["currency_code"].strip().upper(),
        "totalAmountIncludingTax": args["total_including_tax"],
    }
    for name, wanted in approved.items():
        actual = invoice.get(name, 0 if name.startswith("total") else "")
        if actual != wanted:
            raise ToolError(
                f"The invoice's {name} is {actual!r}, not {wanted!r}. Nothing was posted: read it"
                " again with get_sales_invoice and ask anew."
            )


def _describe_create(args: dict[str, Any]) -> str:
    lines = ", ".join(map(_describe_line, args["lines"]))
    customer = f"{args['customer_name']} ({args['customer_number']})"
    dated = f" of {args['invoice_date']}" if args.get("invoice_date") else ""
    reference = args.get("customer_reference")
    about = f", their order {reference}" if reference else ""
    return f"Create a draft sales invoice{dated} for {customer}{about}: {lines}"


def _describe_line(line: dict[str, Any]) -> str:
    text = f"{number(line['quantity'])} × {line['item_number']}"
    if line.get("unit_price") is not None:
        text += f" at {money(line['unit_price'])}"
    if line.get("discount_percent"):
        text += f" less {number(line['discount_percent'])} %"
    return text


def _describe_post(args: dict[str, Any]) -> str:
    total = f"{money(args['total_including_tax'])} {args['currency_code']}"
    customer = args["customer_name"]
    return f"Post sales invoice {args['number']} for {customer} — {total}"
