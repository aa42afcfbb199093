"""The companies that a new sandbox has: one with a year's business, one that is empty.

Documents are created and posted by the same rules as a client's, so their totals, stocks and
balances are right. Rows, ids and times are the same every time, so they are made once a process;
only later documents have the clock's date.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from turnlog.contrib.business_central.sandbox.books import actions, records
from turnlog.contrib.business_central.sandbox.books.company import Company, Row
from turnlog.contrib.business_central.sandbox.demo.rows import (
    ACCOUNTS,
    BLOCKED,
    BLOCKED_ITEMS,
    CUSTOMERS,
    ITEMS,
    SET_UP,
    TERMS,
    VENDORS,
)
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.schema.values import empty

BUSY, EMPTY = "CRONUS USA, Inc.", "My Company"
FIRST_DAY = date(2026, 8, 3)
MADE = datetime(2026, 11, 1, 18, tzinfo=UTC)  # after the last document
INVOICES, ORDERS = 40, 26
_DRAFTS = 4  # the newest invoices
_SALESPEOPLE = ("JO", "OF", "TD")


def companies(clock: Callable[[], datetime]) -> list[Company]:
    return [company.copied(clock) for company in _made()]


@cache
def _made() -> list[Company]:
    """Never given out themselves."""
    busy, new = Company(BUSY, lambda: MADE), Company(EMPTY, lambda: MADE)
    for company in (busy, new):
        _set_up(company)
    _master(busy)
    _trade(busy)
    return [busy, new]


def _table(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def _put(company: Company, name: str, **values: Any) -> Row:
    """Write a row without the checks for clients: they may not set all of its fields."""
    entity = ENTITIES[name]
    row = {each: empty(field) for each, field in entity.fields.items()}
    row |= records.DEFAULTS.get(name, {})
    return company.put(entity, row | {"id": company.new_id()} | values)


def _set_up(company: Company) -> None:
    for name, text in SET_UP.items():
        title_field = "description" if "description" in ENTITIES[name].fields else "displayName"
        for part in text.split("; " if ";" in text else ", "):
            code, title = part.split(" | ")
            _put(company, name, code=code, **{title_field: title})
    for code, (title, days) in TERMS.items():
        _put(company, "paymentTerm", code=code, displayName=title, dueDateCalculation=days)
    for number, (title, category) in ACCOUNTS.items():
        _put(
            company,
            "account",
            number=number,
            displayName=title,
            category=category,
            directPosting=True,
        )


def _id(company: Company, name: str, code: str) -> str:
    row = company.find(ENTITIES[name], code=code)
    assert row is not None, f"{name} {code}"
    return str(row["id"])


def _master(company: Company) -> None:
    for at, cells in enumerate(_table(CUSTOMERS)):
        _customer(company, at, *cells)
    for number, name, city, state, balance in _table(VENDORS):
        _put(
            company,
            "vendor",
            **_address(number, name, city, state),
            balance=Decimal(balance),
            paymentTermsId=_id(company, "paymentTerm", "30 DAYS"),
        )
    for cells in _table(ITEMS):
        _item(company, *cells)


def _address(number: str, name: str, city: str, state: str) -> dict[str, str]:
    first = "".join(letter for letter in name.split()[0].lower() if letter.isascii())
    mail = "".join(letter for letter in first if letter.isalnum())
    return {
        "number": number,
        "displayName": name,
        "city": city,
        "state": state,
        "country": "US",
        "email": f"office@{mail}.example",
        "phoneNumber": f"555-01{sum(map(ord, name)) % 100:02d}",
    }


def _customer(company: Company, at: int, *cells: str) -> None:
    number, name, street, city, state, postal, terms, limit, taxable = cells
    _put(
        company,
        "customer",
        **_address(number, name, city, state),
        addressLine1=street,
        postalCode=postal,
        salespersonCode=_SALESPEOPLE[at % len(_SALESPEOPLE)],
        creditLimit=Decimal(limit),
        taxLiable=taxable == "yes",
        paymentTermsId=_id(company, "paymentTerm", terms),
        paymentMethodId=_id(company, "paymentMethod", "BANK"),
        shipmentMethodId=_id(company, "shipmentMethod", "DELIVERY"),
        blocked=BLOCKED.get(number, " "),
    )


def _item(company: Company, *cells: str) -> None:
    number, name, kind, category, tax, unit, price, cost, stock = cells
    posting = "SERVICES" if kind == "Service" else "RETAIL"
    _put(
        company,
        "item",
        number=number,
        displayName=name,
        type=kind,
        unitPrice=Decimal(price),
        unitCost=Decimal(cost),
        inventory=Decimal(stock),
        blocked=number in BLOCKED_ITEMS,
        itemCategoryCode=category,
        itemCategoryId=_id(company, "itemCategory", category),
        taxGroupCode=tax,
        taxGroupId=_id(company, "taxGroup", tax),
        baseUnitOfMeasureCode=unit,
        baseUnitOfMeasureId=_id(company, "unitOfMeasure", unit),
        generalProductPostingGroupCode=posting,
        generalProductPostingGroupId=_id(company, "generalProductPostingGroup", posting),
    )


# --- business ---


def _trade(company: Company) -> None:
    buyers = [row for row in company.rows(ENTITIES["customer"]) if row["blocked"] != "All"]
    goods = [row for row in company.rows(ENTITIES["item"]) if not row["blocked"]]
    for at in range(INVOICES):
        _invoice(company, at, buyers[at * 5 % len(buyers)], goods)
    for at in range(ORDERS):
        _order(company, at, buyers[(at * 3 + 1) % len(buyers)], goods)
    _stock_up(company)


def _lines(at: int, goods: list[Row]) -> list[Row]:
    """One to three lines, chosen by the number of the document."""
    items = [goods[(at * 7 + step * 11) % len(goods)] for step in range(1 + at % 3)]
    return [{"itemId": item["id"], "quantity": 1 + (at + n) % 6} for n, item in enumerate(items)]


def _invoice(company: Company, at: int, buyer: Row, goods: list[Row]) -> None:
    day = (FIRST_DAY + timedelta(days=at * 2)).isoformat()
    dates = {"invoiceDate": day, "postingDate": day}
    header = {"customerId": buyer["id"], "externalDocumentNumber": f"PO-{7000 + at * 13}"}
    values = header | dates | {"salesInvoiceLines": _lines(at, goods)}
    row = records.create(company, ENTITIES["salesInvoice"], values)
    if at >= INVOICES - _DRAFTS:
        return
    actions.post(company, row)
    if at % 3 != 2:
        _pay(company, row["id"])


def _pay(company: Company, id: str) -> None:
    entity, customers = ENTITIES["salesInvoice"], ENTITIES["customer"]
    row = company.get(entity, id)
    buyer = company.get(customers, row["customerId"]) if row else None
    if row and buyer:
        due = buyer["balanceDue"] - row["totalAmountIncludingTax"]
        company.put(customers, buyer | {"balanceDue": due})
        company.put(entity, row | {"status": "Paid", "remainingAmount": Decimal("0")})


def _order(company: Company, at: int, buyer: Row, goods: list[Row]) -> None:
    day = FIRST_DAY + timedelta(days=60 + at)
    delivery = {"requestedDeliveryDate": (day + timedelta(days=14)).isoformat()}
    header = {"customerId": buyer["id"], "orderDate": day.isoformat()}
    values = header | delivery | {"salesOrderLines": _lines(at + 3, goods)}
    row = records.create(company, ENTITIES["salesOrder"], values)
    if at % 4:
        company.put(ENTITIES["salesOrder"], row | {"status": "Open"})


def _stock_up(company: Company) -> None:
    """Set the stock of today to that of the table."""
    entity = ENTITIES["item"]
    for number, *_, stock in _table(ITEMS):
        row = company.find(entity, number=number)
        if row is not None:
            company.put(entity, row | {"inventory": Decimal(stock)})
