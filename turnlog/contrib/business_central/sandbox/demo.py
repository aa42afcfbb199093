"""The companies that a new sandbox has: one with a year's business, one that is empty.

Documents are made and posted by the same rules as a client's, so their totals, stocks and
balances are right. The same rows and ids come out every time; only documents made later carry
the clock's date.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from . import actions, records
from .company import Company, Row
from .demo_rows import ACCOUNTS, BLOCKED, BLOCKED_ITEMS, CUSTOMERS, ITEMS, SET_UP, TERMS, VENDORS
from .entities import ENTITIES
from .values import empty

NAMES = ("CRONUS USA, Inc.", "My Company")
FIRST_DAY = date(2026, 8, 3)
INVOICES, ORDERS = 40, 26
_DRAFTS = 4  # the newest invoices
_SALESPEOPLE = ("JO", "OF", "TD")


def companies(clock: Callable[[], datetime]) -> list[Company]:
    busy, new = (Company(name, clock) for name in NAMES)
    for company in (busy, new):
        _set_up(company)
    _master(busy)
    _trade(busy)
    return [busy, new]


def _table(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def _put(company: Company, name: str, **values: Any) -> Row:
    """A row as it stands, without the rules for clients: some of it they may not set."""
    entity = ENTITIES[name]
    row = {one: empty(field) for one, field in entity.fields.items()}
    row |= records.DEFAULTS.get(name, {})
    return company.put(entity, row | {"id": company.new_id()} | values)


def _set_up(company: Company) -> None:
    for name, text in SET_UP.items():
        shown = "description" if "description" in ENTITIES[name].fields else "displayName"
        for part in text.split("; " if ";" in text else ", "):
            code, title = part.split(" | ")
            _put(company, name, code=code, **{shown: title})
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
    found = company.find(ENTITIES[name], code=code)
    assert found is not None, f"{name} {code}"
    return str(found["id"])


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
    """One to three lines; which and how many follows from the document's place."""
    chosen = [goods[(at * 7 + step * 11) % len(goods)] for step in range(1 + at % 3)]
    return [{"itemId": one["id"], "quantity": 1 + (at + n) % 6} for n, one in enumerate(chosen)]


def _invoice(company: Company, at: int, buyer: Row, goods: list[Row]) -> None:
    day = (FIRST_DAY + timedelta(days=at * 2)).isoformat()
    dates = {"invoiceDate": day, "postingDate": day}
    header = {"customerId": buyer["id"], "externalDocumentNumber": f"PO-{7000 + at * 13}"}
    given = header | dates | {"salesInvoiceLines": _lines(at, goods)}
    row = records.create(company, ENTITIES["salesInvoice"], given)
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
    wanted = {"requestedDeliveryDate": (day + timedelta(days=14)).isoformat()}
    header = {"customerId": buyer["id"], "orderDate": day.isoformat()}
    given = header | wanted | {"salesOrderLines": _lines(at + 3, goods)}
    row = records.create(company, ENTITIES["salesOrder"], given)
    if at % 4:
        company.put(ENTITIES["salesOrder"], row | {"status": "Open"})


def _stock_up(company: Company) -> None:
    """What is in stock today is what the table says."""
    entity = ENTITIES["item"]
    for number, *_, stock in _table(ITEMS):
        row = company.find(entity, number=number)
        if row is not None:
            company.put(entity, row | {"inventory": Decimal(stock)})
