"""Bound actions, such as `POST salesInvoices(id)/Microsoft.NAV.post`."""

from collections.abc import Callable
from decimal import Decimal

from turnlog.contrib.business_central.sandbox.books.company import Company, Row
from turnlog.contrib.business_central.sandbox.books.documents import total
from turnlog.contrib.business_central.sandbox.refusal import dialog
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.schema.fields import NO_GUID
from turnlog.contrib.business_central.sandbox.schema.values import empty

_INVOICE = ENTITIES["salesInvoice"]
_ORDER = ENTITIES["salesOrder"]
_DRAFT_ONLY = "The action can be applied to a draft invoice only."
_POSTED_ONLY = "The action can be applied to a posted invoice only."
_CANCELED = "The action cannot be applied to a canceled invoice."


def post(company: Company, invoice: Row) -> None:
    """A draft becomes Open and gets a number of the posted series. Its id stays."""
    if invoice["status"] != "Draft":
        dialog(_DRAFT_ONLY)
    _check_postable(company, invoice)
    number = company.next_number("postedInvoices", _INVOICE)
    company.put(_INVOICE, invoice | {"number": number, "status": "Open"})
    _book(company, invoice, Decimal(1))


def send(company: Company, invoice: Row) -> None:
    """Sends nothing. Refuses an invoice whose customer has no e-mail address."""
    if not invoice["email"]:
        dialog("You must specify a valid email address for the recipient.")


def post_and_send(company: Company, invoice: Row) -> None:
    send(company, invoice)
    post(company, invoice)


def cancel(company: Company, invoice: Row) -> None:
    """Take back the stock and the customer's balance of a posted invoice."""
    if invoice["status"] == "Canceled":
        dialog(_CANCELED)
    if invoice["status"] != "Open":
        dialog(_POSTED_ONLY)
    company.put(_INVOICE, invoice | {"status": "Canceled", "remainingAmount": Decimal(0)})
    _book(company, invoice, Decimal(-1))


def cancel_and_send(company: Company, invoice: Row) -> None:
    send(company, invoice)
    cancel(company, invoice)


def ship_and_invoice(company: Company, order: Row) -> None:
    """Post an invoice of the whole order, and remove the order."""
    _check_lines(company.lines(_ORDER, order["id"]))
    shared = {name: order[name] for name in _INVOICE.fields if name in order}
    row = {name: empty(field) for name, field in _INVOICE.fields.items()} | shared
    row |= {"id": company.new_id(), "orderId": order["id"], "orderNumber": order["number"]}
    row |= {"number": "", "status": "Draft", "invoiceDate": company.today()}
    row |= {"postingDate": company.today(), "dueDate": company.today()}
    company.put(_INVOICE, row)
    for line in company.lines(_ORDER, order["id"]):
        _copy_line(company, line, row["id"])
        company.remove(ENTITIES["salesOrderLine"], line["id"])
    company.remove(_ORDER, order["id"])
    post(company, total(company, _INVOICE, row["id"]))


ACTIONS: dict[tuple[str, str], Callable[[Company, Row], None]] = {
    ("salesInvoice", "post"): post,
    ("salesInvoice", "postAndSend"): post_and_send,
    ("salesInvoice", "send"): send,
    ("salesInvoice", "cancel"): cancel,
    ("salesInvoice", "cancelAndSend"): cancel_and_send,
    ("salesOrder", "shipAndInvoice"): ship_and_invoice,
}


def _check_postable(company: Company, invoice: Row) -> None:
    _check_lines(company.lines(_INVOICE, invoice["id"]))
    customer = company.get(ENTITIES["customer"], invoice["customerId"])
    if customer and customer["blocked"] in ("Invoice", "All"):
        number, kind = customer["number"], customer["blocked"]
        dialog(f"You cannot post this type of document when Customer {number} is blocked with"
               f" type {kind}.")  # fmt: skip


def _check_lines(lines: list[Row]) -> None:
    if not any(line["quantity"] and line["lineType"] != "Comment" for line in lines):
        dialog("There is nothing to post.")


def _book(company: Company, invoice: Row, sign: Decimal) -> None:
    customer = company.get(ENTITIES["customer"], invoice["customerId"])
    if customer:
        due = customer["balanceDue"] + sign * invoice["totalAmountIncludingTax"]
        company.put(ENTITIES["customer"], customer | {"balanceDue": due})
    for line in company.lines(_INVOICE, invoice["id"]):
        item = None if line["itemId"] == NO_GUID else company.get(ENTITIES["item"], line["itemId"])
        if item and item["type"] == "Inventory":
            stock = item["inventory"] - sign * line["quantity"]
            company.put(ENTITIES["item"], item | {"inventory": stock})


def _copy_line(company: Company, line: Row, document_id: str) -> None:
    target = ENTITIES["salesInvoiceLine"]
    row = {name: line[name] for name in target.fields}
    company.put(target, row | {"id": company.new_id(), "documentId": document_id})
