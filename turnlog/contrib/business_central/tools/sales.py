"""Tools that read sales orders and sales invoices."""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from turnlog.contrib.business_central.client.conditions import (
    Condition,
    all_of,
    equals,
    from_day,
    to_day,
)
from turnlog.contrib.business_central.client.connection import BusinessCentral, Row
from turnlog.contrib.business_central.tools.records import (
    Limit,
    Number,
    Result,
    by_number,
    listing,
    read_tool,
    wire_option,
    with_etag,
)
from turnlog.tools.tool import Tool

CustomerNumber = Annotated[str, Meta(max_length=20, description="Only those of this customer")]
FromDay = Annotated[date, Meta(description="Only from this day on, YYYY-MM-DD")]
ToDay = Annotated[date, Meta(description="Only up to this day, YYYY-MM-DD")]
OrderStatus = Literal["Draft", "In Review", "Open"]
InvoiceStatus = Annotated[
    Literal["Draft", "In Review", "Open", "Paid", "Canceled", "Corrective"],
    Meta(description="Draft: not posted yet. Open: posted and not paid."),
]

_TOTALS = ("currencyCode", "totalAmountExcludingTax", "totalTaxAmount", "totalAmountIncludingTax")
_ORDERS = (
    *("number", "orderDate", "customerNumber", "customerName", "requestedDeliveryDate"),
    *("status", "fullyShipped", "currencyCode", "totalAmountIncludingTax"),
)
_ORDER = ("id", *_ORDERS, "externalDocumentNumber", "salesperson", *_TOTALS)
_INVOICES = (
    *("id", "number", "invoiceDate", "dueDate", "customerNumber", "customerName", "status"),
    *("currencyCode", "totalAmountIncludingTax", "remainingAmount"),
)
INVOICE = (
    *_INVOICES,
    *("externalDocumentNumber", "customerPurchaseOrderReference", "orderNumber", "salesperson"),
    *("totalAmountExcludingTax", "totalTaxAmount", "discountAmount"),
)
_LINE = "sequence,lineType,lineObjectNumber,description,quantity,unitOfMeasureCode,unitPrice"
_AMOUNTS = "discountPercent,amountExcludingTax,taxPercent,amountIncludingTax"
MOST_LINES = 100  # that are shown, and that can be created at once
INVOICE_LINES = f"salesInvoiceLines($select={_LINE},{_AMOUNTS})"
_ORDER_LINES = f"salesOrderLines($select={_LINE},{_AMOUNTS},shippedQuantity)"


class Sales:
    """The tools of one connection."""

    def __init__(self, bc: BusinessCentral) -> None:
        self._bc = bc

    def tools(self) -> list[Tool]:
        return [
            read_tool(self.find_sales_order),
            read_tool(self.get_sales_order),
            read_tool(self.find_sales_invoice),
            read_tool(self.get_sales_invoice),
        ]

    async def find_sales_order(
        self,
        customer_number: CustomerNumber | None = None,
        status: OrderStatus | None = None,
        from_day: FromDay | None = None,
        to_day: ToDay | None = None,
        limit: Limit = 10,
    ) -> Result:
        """Sales orders, newest first: of one customer, in one status, of some days; or all.

        Every condition narrows. Use get_sales_order for the lines of one.
        """
        condition = _condition(customer_number, status, "orderDate", from_day, to_day)
        newest = "orderDate desc"
        result = await self._bc.find(
            "salesOrders", condition, select=_ORDERS, limit=limit, order=newest, counted=True
        )
        return listing(result, "salesOrders")

    async def get_sales_order(self, number: Number) -> Result:
        """One sales order with its lines, quantities shipped and totals."""
        row = await by_number(self._bc, "salesOrders", number, _ORDER, _ORDER_LINES)
        return with_lines(row, "salesOrderLines")

    async def find_sales_invoice(
        self,
        customer_number: CustomerNumber | None = None,
        status: InvoiceStatus | None = None,
        from_day: FromDay | None = None,
        to_day: ToDay | None = None,
        limit: Limit = 10,
    ) -> Result:
        """Sales invoices, newest first: of one customer, in one status, of some days; or all.

        Every condition narrows. remainingAmount is what is not paid yet. Use get_sales_invoice
        for the lines of one.
        """
        condition = _condition(customer_number, status, "invoiceDate", from_day, to_day)
        newest = "invoiceDate desc"
        result = await self._bc.find(
            "salesInvoices", condition, select=_INVOICES, limit=limit, order=newest, counted=True
        )
        return listing(result, "salesInvoices")

    async def get_sales_invoice(self, number: Number) -> Result:
        """One sales invoice, draft or posted, with its lines and totals.

        A draft gets another number when it is posted; its id stays.
        """
        row = await by_number(self._bc, "salesInvoices", number, INVOICE, INVOICE_LINES)
        return with_lines(row, "salesInvoiceLines")


def with_lines(row: Row, lines: str) -> Result:
    """The document with its first lines under the name `lines`."""
    head = {name: value for name, value in row.items() if name != lines}
    more = {"hasMoreLines": True} if len(row[lines]) > MOST_LINES else {}
    return with_etag(head | {"lines": row[lines][:MOST_LINES]} | more)


def _condition(
    customer: str | None, status: str | None, day: str, first: date | None, last: date | None
) -> Condition | None:
    conditions = []
    if customer is not None:
        conditions.append(equals("customerNumber", customer.strip().upper()))
    if status is not None:
        conditions.append(equals("status", wire_option(status)))
    if first is not None:
        conditions.append(from_day(day, first))
    if last is not None:
        conditions.append(to_day(day, last))
    return all_of(conditions)
