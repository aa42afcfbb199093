"""Customers, vendors, items, sales orders and sales invoices of an ERP.

A name is always looked up and must mean one record; what a write has to confirm is read first.
"""

import re
from collections.abc import Generator

from ..script import Json
from .plans import Batch, Desk, Plan
from .talk import Done
from .tools import Call, Ended
from .wording import cell, counted, failure, listed, name_of, words, written

# fmt: off
KINDS = {
    "customer": "customer",      "client":        "customer",
    "vendor":   "vendor",        "supplier":      "vendor",
    "item":     "item",          "product":       "item",
    "invoice":  "sales_invoice", "sales invoice": "sales_invoice",
    "order":    "sales_order",   "sales order":   "sales_order",
}
# What can be asked about a record: of which kind it is, and where the record has it.
FIELDS = {
    "balance":      ("customer",      ("balanceDue", "balance")),
    "credit limit": ("customer",      ("creditLimit",)),
    "email":        ("customer",      ("email",)),
    "phone number": ("customer",      ("phoneNumber", "phone")),
    "city":         ("customer",      ("city",)),
    "address":      ("customer",      ("addressLine1", "address")),
    "price":        ("item",          ("unitPrice", "price")),
    "stock":        ("item",          ("inventory", "stock")),
    "status":       ("sales_invoice", ("status",)),
    "total":        ("sales_invoice", ("totalAmountIncludingTax", "total")),
    "due date":     ("sales_invoice", ("dueDate",)),
}
# What a person is asked to post, and where the record has it.
CONFIRMED = {
    "invoice_id":          "id",
    "number":              "number",
    "customer_name":       "customerName",
    "total_including_tax": "totalAmountIncludingTax",
    "currency_code":       "currencyCode",
    "etag":                "etag",
}
# fmt: on
NUMBER = re.compile(r"[\w-]*\d[\w-]*")  # of a record: 10000, 1896-S, S-ORD101003
BACK = re.compile(
    rf"it|this|that|them|(?:that |this |the )?({'|'.join(KINDS)})", re.I
)  # at what was told
LINE = re.compile(r"(\d{1,6}) (?:x |of )?(?:the )?(.+)", re.I)
PLURAL = re.compile(r"(?:(?<=[sxz])e|(?<=[cs]h)e)?s$")
Looking = Generator[Batch, list[Done], Json]


def find(desk: Desk, kind: str, name: str) -> Plan:
    (done,) = yield Batch([_look_up(desk, kind, name)])
    if rows := _rows(done):
        return listed(f"I found {_count(done, kind)}", kind, rows)
    return f"I found no {words(kind)}s for “{name}”."


def show(desk: Desk, kind: str, state: str = "", is_count: bool = False) -> Plan:
    narrow = {"status": state.capitalize()} if state else {}
    (done,) = yield Batch([desk.call(f"find_{kind}", **narrow)])
    rows, many = _rows(done), _count(done, kind, state)
    head = f"There {'is' if many.startswith('1 ') else 'are'} {many}"
    return f"{head.partition(';')[0]}." if is_count else listed(head, kind, rows)


def _count(done: Done, kind: str, state: str = "") -> str:
    """The true count: more than are shown, where the tool says so."""
    shown, noun = len(_rows(done)), f"{state.lower()} {words(kind)}".strip()
    page = done.value if isinstance(done.value, dict) else {}
    if page.get("hasMore") is not True:
        return counted(shown, noun)
    total = page.get("total")
    every = counted(total, noun) if isinstance(total, int) else f"more than {counted(shown, noun)}"
    return f"{every}; these are the first {shown}"


def fields(desk: Desk, name: str, field: str, kind: str = "") -> Plan:
    """What one record says: of one field, or of several with a + between them."""
    wanted, back = [FIELDS[one] for one in field.lower().split("+")], BACK.fullmatch(name)
    named = KINDS[back[1].lower()] if back and back[1] else wanted[0][0]
    record = yield from _one(desk, kind or named, name)
    return "\n".join(_field(record, keys, name) for _, keys in wanted)


def _field(record: Json, keys: tuple[str, ...], name: str) -> str:
    key = next((key for key in keys if record.get(key) not in (None, "")), None)
    title = name_of(record) or name
    if key is None:
        return f"The record of {title} has no {words(keys[0])}."
    return f"The {words(key)} of {title} is {cell(key, record[key])}."


# --- which one ---


def _look_up(desk: Desk, kind: str, name: str) -> Call:
    """One record by its number, or those whose name has this text in it."""
    get = desk.tools.get(f"get_{kind}")
    if get and "number" in get.parameters and NUMBER.fullmatch(name):
        return desk.call(f"get_{kind}", number=name)
    if kind.startswith("sales_"):
        raise Ended(f"Which {words(kind)} do you mean? Say its number.")
    if get and "name" in get.parameters and f"find_{kind}" not in desk.tools:
        return desk.call(f"get_{kind}", name=name)
    return desk.call(f"find_{kind}", text=name)


def _one(desk: Desk, kind: str, name: str) -> Looking:
    """The record that is meant. What was talked about is read anew: it may have changed."""
    if BACK.fullmatch(name):
        name = str((desk.last(kind) or {}).get("number") or "")
        if not name:
            raise Ended(f"Which {words(kind)} do you mean? Say its name or number.")
    (done,) = yield Batch([_look_up(desk, kind, name)])
    return _the_one(done, kind, name)


def _the_one(done: Done, kind: str, name: str) -> Json:
    rows, text = _rows(done), name.lower()
    exact = [r for r in rows if text in (name_of(r).lower(), str(r.get("number")).lower())]
    near = exact or [row for row in rows if text in name_of(row).lower()]
    if len(near) == 1:
        return near[0]
    if not rows:
        raise Ended(f"I found no {words(kind)} for “{name}”.")
    raise Ended(listed(f"Which {words(kind)} do you mean by “{name}”", kind, rows))


def _rows(done: Done) -> list[Json]:
    if done.failed:
        raise Ended(failure(done))
    if done.rows is None:
        raise Ended(f"I cannot read what {done.name} gave.")
    return done.rows


# --- writes ---


def create_customer(desk: Desk, new_name: str, city: str = "") -> Plan:
    given = {"name": new_name, "city": city} if city else {"name": new_name}
    return (yield from _written(desk.call("create_customer", **given)))


def delete(desk: Desk, kind: str, name: str) -> Plan:
    record = yield from _one(desk, kind, name)
    if "etag" not in record:  # a change confirms what was read
        (done,) = yield Batch([desk.call(f"get_{kind}", number=record.get("number"))])
        record = _the_one(done, kind, name)
    given = {"number": record.get("number"), "current_name": name_of(record)}
    return (yield from _written(desk.call(f"delete_{kind}", **given, etag=record.get("etag"))))


def create_invoice(desk: Desk, name: str, lines: str) -> Plan:
    parts = [_line(part) for part in re.split(r",? and |, ", lines)]
    items = [_look_up(desk, "item", item) for _, item in parts]
    first, *others = yield Batch([_look_up(desk, "customer", name), *items])
    customer = _the_one(first, "customer", name)
    given: list[Json] = []
    for (quantity, item), done in zip(parts, others, strict=True):
        number = _the_one(done, "item", item).get("number")
        given.append({"item_number": number, "quantity": quantity})
    whose = {"customer_number": customer.get("number"), "customer_name": name_of(customer)}
    return (yield from _written(desk.call("create_sales_invoice", **whose, lines=given)))


def _line(text: str) -> tuple[int, str]:
    """`2 Athens desks` -> how many, and the words to look for."""
    match = LINE.fullmatch(text)
    if match is None:
        raise Ended(f"How many, and of what, is “{text}”? Say for example: 2 Athens desks")
    return int(match[1]), match[2] if match[1] == "1" else PLURAL.sub("", match[2])


def post(desk: Desk, number: str) -> Plan:
    record = yield from _one(desk, "sales_invoice", number)
    confirmed = {argument: record.get(key) for argument, key in CONFIRMED.items()}
    return (yield from _written(desk.call("post_sales_invoice", **confirmed)))


def _written(call: Call) -> Plan:
    (done,) = yield Batch([call])
    if done.failed:
        raise Ended(failure(done))
    return written(done)
