"""Sales documents: fields copied from the customer and the item, and computed fields.

Totals of a document are the sums of its lines; an invoice discount is spread over the lines
before tax. A posted document does not change any more.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from turnlog.contrib.business_central.sandbox.books.company import Company, Row, linked
from turnlog.contrib.business_central.sandbox.refusal import dialog, refuse
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.schema.fields import NO_DATE, NO_GUID, Entity

STEP = 10_000  # between the sequences of two lines
TAX_PERCENT = {"FURNITURE": 6, "SUPPLIES": 6, "MATERIALS": 4}  # by tax group; others: none
_FORMULA = re.compile(r"(\d{1,3})([DWMY])", re.ASCII)  # of a due date
_DAYS = {"D": 1, "W": 7, "M": 30, "Y": 365}
_COPIED = ("AddressLine1", "AddressLine2", "City", "Country", "State", "PostCode")
_FROM = ("addressLine1", "addressLine2", "city", "country", "state", "postalCode")
_POSTED = "The invoice has been posted and can no longer be modified."


def money(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


# --- fields that follow from another field ---


def validate(company: Company, entity: Entity, row: Row, name: str) -> None:
    """Set the fields that follow from this one."""
    kind = "line" if entity.document else "document" if entity.lines else ""
    if follow := _FOLLOWING.get((kind, name)):
        follow(company, row)


def set_dates(company: Company, row: Row) -> None:
    for name in ("invoiceDate", "orderDate", "postingDate", "dueDate"):
        if name in row:
            row[name] = company.today()


def _copy_customer(company: Company, row: Row) -> None:
    customer = linked(company, "customer", row["customerId"])
    if customer is None:
        return
    name = customer["displayName"]
    row |= {"customerName": name, "billToName": name, "shipToName": name}
    row |= {"billToCustomerId": customer["id"], "billToCustomerNumber": customer["number"]}
    for part, source in zip(_COPIED, _FROM, strict=True):
        row |= {f"{party}{part}": customer[source] for party in ("sellTo", "billTo", "shipTo")}
    for own in ("currencyId", "currencyCode", "paymentTermsId", "shipmentMethodId"):
        row[own] = customer[own]
    row |= {"salesperson": customer["salespersonCode"]}
    row |= {"phoneNumber": customer["phoneNumber"], "email": customer["email"]}
    _set_due_date(company, row)


def _set_due_date(company: Company, row: Row) -> None:
    if "dueDate" not in row or row["invoiceDate"] == NO_DATE:
        return
    terms = linked(company, "paymentTerm", row["paymentTermsId"])
    formula = _FORMULA.fullmatch(terms["dueDateCalculation"]) if terms else None
    days = int(formula[1]) * _DAYS[formula[2]] if formula else 0
    try:
        due = date.fromisoformat(row["invoiceDate"]) + timedelta(days=days)
    except OverflowError:
        refuse("Application_EvaluateException", "The due date is outside of the allowed range.")
    row["dueDate"] = due.isoformat()


def _fill_from_item(company: Company, row: Row) -> None:
    item = linked(company, "item", row["itemId"])
    if item is None:
        return
    if item["blocked"]:
        refuse(
            "Application_FieldValidationException",
            f"Blocked must be equal to 'No' in Item: No.={item['number']}. Current value is 'Yes'.",
        )
    row |= {"lineType": "Item", "lineObjectNumber": item["number"], "accountId": NO_GUID}
    row |= {"description": item["displayName"], "unitPrice": item["unitPrice"]}
    row |= {"unitOfMeasureId": item["baseUnitOfMeasureId"]}
    row |= {"unitOfMeasureCode": item["baseUnitOfMeasureCode"], "taxCode": item["taxGroupCode"]}


def _fill_from_account(company: Company, row: Row) -> None:
    account = linked(company, "account", row["accountId"])
    if account is not None:
        row |= {"lineType": "Account", "lineObjectNumber": account["number"], "itemId": NO_GUID}
        row |= {"description": account["displayName"]}


def _fill_from_number(company: Company, row: Row) -> None:
    """lineObjectNumber names an account on an Account line, otherwise an item."""
    kind = "account" if row["lineType"] == "Account" else "item"
    target = company.find(ENTITIES[kind], number=row["lineObjectNumber"])
    if target is None:
        caption, number = ENTITIES[kind].caption, row["lineObjectNumber"]
        refuse(
            "Internal_InvalidTableRelation",
            f"The field No. of table Sales Line contains a value ({number}) that cannot be found"
            f" in the related table ({caption}).",
        )
    row[f"{kind}Id"] = target["id"]
    (_fill_from_account if kind == "account" else _fill_from_item)(company, row)


def _discount_from_percent(company: Company, row: Row) -> None:
    _check_percent(row)
    row["discountAmount"] = money(row["quantity"] * row["unitPrice"] * row["discountPercent"] / 100)


def _percent_from_discount(company: Company, row: Row) -> None:
    whole = row["quantity"] * row["unitPrice"]
    row["discountPercent"] = money(row["discountAmount"] * 100 / whole) if whole else Decimal(0)
    _check_percent(row)


def _check_percent(row: Row) -> None:
    if not 0 <= row["discountPercent"] <= 100:
        refuse(
            "Application_FieldValidationException",
            "Line Discount % must be between 0 and 100.",
        )


_FOLLOWING: dict[tuple[str, str], Callable[[Company, Row], None]] = {
    ("document", "customerId"): _copy_customer,
    ("document", "customerNumber"): _copy_customer,
    ("document", "paymentTermsId"): _set_due_date,
    ("document", "invoiceDate"): _set_due_date,
    ("line", "itemId"): _fill_from_item,
    ("line", "accountId"): _fill_from_account,
    ("line", "lineObjectNumber"): _fill_from_number,
    ("line", "quantity"): _discount_from_percent,
    ("line", "unitPrice"): _discount_from_percent,
    ("line", "discountPercent"): _discount_from_percent,
    ("line", "discountAmount"): _percent_from_discount,
}


# --- checks ---


def check(company: Company, entity: Entity, row: Row) -> None:
    if entity.lines:
        _check_customer(company, row)
    if entity.document:
        document = company.get(ENTITIES[entity.document], row["documentId"])
        if document is None:
            dialog("You must specify a document id to get the lines.")
        refuse_if_posted(company, ENTITIES[entity.document], document)
        _check_sequence(company, entity, row)


def _check_customer(company: Company, row: Row) -> None:
    if row["customerId"] == NO_GUID:
        dialog('A "customerNumber" or a "customerId" must be provided.')
    customer = linked(company, "customer", row["customerId"])
    if customer and customer["blocked"] == "All":
        dialog(
            "You cannot create this type of document when Customer"
            f" {customer['number']} is blocked with type All."
        )


def _check_sequence(company: Company, entity: Entity, row: Row) -> None:
    others = [
        line["sequence"]
        for line in company.lines(ENTITIES[entity.document], row["documentId"])
        if line["id"] != row["id"]
    ]
    if not row["sequence"]:
        row["sequence"] = max(others, default=0) + STEP
    if row["sequence"] in others:
        dialog("You cannot insert a line with a duplicate sequence number.")


def refuse_if_posted(company: Company, entity: Entity, row: Row) -> None:
    document = row
    if entity.document:
        document = company.get(ENTITIES[entity.document], row["documentId"]) or row
    if document.get("status", "Draft") not in ("Draft", "In Review") and _is_invoice(entity):
        dialog(_POSTED)


def _is_invoice(entity: Entity) -> bool:
    return "salesInvoice" in (entity.name, entity.document)


def describe_use(company: Company, other: Entity, using: Row, entity: Entity) -> str:
    """Why a used row cannot be deleted."""
    document = using
    if other.document:
        other, id = ENTITIES[other.document], using["documentId"]
        document = company.get(other, id) or using
    if document.get("status") in ("Open", "Paid", "Canceled") and other.name == "salesInvoice":
        return "it has ledger entries in a fiscal year that has not been closed yet."
    if not other.lines:
        return f"{other.caption} {using[other.key]} uses it."
    use = "that includes this item" if entity.name == "item" else f"for this {entity.name}"
    return f"there is at least one outstanding {other.caption} {use}."


# --- computed fields ---


def put_line(company: Company, entity: Entity, row: Row) -> Row:
    """Write a line, and its document with new totals."""
    company.put(entity, row)
    total(company, ENTITIES[entity.document], row["documentId"])
    return company.get(entity, row["id"]) or row


def total(company: Company, entity: Entity, id: str) -> Row:
    """The row. The lines and totals of a document are computed anew."""
    row = company.get(entity, id)
    if row is None or not entity.lines:
        return row or {}
    customer = linked(company, "customer", row["customerId"])
    taxed = bool(customer and customer["taxLiable"])
    sums = _total_lines(company, entity, row, taxed)
    return company.put(entity, row | sums)


def _total_lines(company: Company, entity: Entity, document: Row, taxed: bool) -> Row:
    lines = [_priced(line, taxed) for line in company.lines(entity, document["id"])]
    whole = sum((line["amountExcludingTax"] for line in lines), Decimal(0))
    left = min(document["discountAmount"], whole)
    for at, line in enumerate(lines):
        share = money(left * line["amountExcludingTax"] / whole) if whole else Decimal(0)
        line |= _net(line, share if at < len(lines) - 1 else left)
        left, whole = left - line["invoiceDiscountAllocation"], whole - line["amountExcludingTax"]
        company.put(ENTITIES[entity.lines], line)
    return _sums(entity, lines)


def _priced(line: Row, taxed: bool) -> Row:
    amount = money(line["quantity"] * line["unitPrice"]) - line["discountAmount"]
    percent = Decimal(TAX_PERCENT.get(line["taxCode"], 0) if taxed else 0)
    tax = money(amount * percent / 100)
    priced = {"amountExcludingTax": amount, "taxPercent": percent, "totalTaxAmount": tax}
    return line | priced | {"amountIncludingTax": amount + tax}


def _net(line: Row, share: Decimal) -> Row:
    net = line["amountExcludingTax"] - share
    tax = money(net * line["taxPercent"] / 100)
    return {
        "invoiceDiscountAllocation": share,
        "netAmount": net,
        "netTaxAmount": tax,
        "netAmountIncludingTax": net + tax,
    }


def _sums(entity: Entity, lines: list[Row]) -> dict[str, Any]:
    net = sum((line["netAmount"] for line in lines), Decimal(0))
    tax = sum((line["netTaxAmount"] for line in lines), Decimal(0))
    sums = {"totalAmountExcludingTax": net, "totalTaxAmount": tax}
    sums |= {"totalAmountIncludingTax": net + tax}
    return sums | ({"remainingAmount": net + tax} if "remainingAmount" in entity.fields else {})
