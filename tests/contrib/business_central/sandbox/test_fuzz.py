"""The sandbox answers whatever a client sends, and its sums stay right."""

from decimal import Decimal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from turnlog.contrib.business_central.sandbox import Sandbox, batch
from turnlog.contrib.business_central.sandbox.books.company import Company
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.service import Call

SERVICE = Sandbox().service
BUSY: Company = SERVICE.companies[0]
DRAFT = next(r for r in BUSY.rows(ENTITIES["salesInvoice"]) if r["status"] == "Draft")
ORDER = BUSY.rows(ENTITIES["salesOrder"])[0]
NUMBERS = ["10000", "C00140", "1896-S", "5000-V", "40100", "EUR", "PCS", "30 DAYS", "FURNITURE"]
IDS = [row["id"] for name in ENTITIES for row in BUSY.rows(ENTITIES[name])[:2]] + [DRAFT["id"]]


class Undo(Exception):
    """Raised to leave the sandbox unchanged."""


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from([*NUMBERS, *IDS, "2026-11-16", "9999-12-31", "Item", "Account", "Company"]),
    st.lists(st.dictionaries(st.sampled_from(["lineObjectNumber", "quantity"]), st.integers())),
)
DOCUMENTS = [entity for entity in ENTITIES.values() if entity.lines or entity.document]
sets = st.sampled_from(list(ENTITIES.values())) | st.sampled_from(DOCUMENTS)


FITTING = {
    "decimal": st.floats(-1e6, 1e6) | st.sampled_from([0, 1, 1e12, 0.00001, 100, -1]),
    "integer": st.integers(0, 50_000),
    "boolean": st.booleans(),
    "date": st.dates().map(str),
    "guid": st.sampled_from(IDS),
    "code": st.sampled_from(NUMBERS),
    "text": st.text(max_size=30),
}
MINIMAL = {
    "salesInvoice": {"customerNumber": "10000"},
    "salesOrder": {"customerNumber": "C00140"},
    "salesInvoiceLine": {"documentId": DRAFT["id"], "lineObjectNumber": "1896-S"},
    "salesOrderLine": {"documentId": ORDER["id"], "lineObjectNumber": "5000-V"},
}


def fitting(field):
    return st.sampled_from(field.options) if field.options else FITTING[field.kind]


@st.composite
def bodies(draw, entity):
    """Mostly values that fit, so that many calls are carried out."""
    body = dict(MINIMAL.get(entity.name, {"displayName": "x", "code": draw(st.text("AB"))}))
    writable = [field for field in entity.fields.values() if not field.read_only]
    for field in draw(st.lists(st.sampled_from(writable), max_size=4)):
        body[field.name] = draw(fitting(field))
    wrong = [*entity.fields, "nope", "salesInvoiceLines"]
    if draw(st.integers(0, 3)) == 0:
        body[draw(st.sampled_from(wrong))] = draw(values)
    return {name: value for name, value in body.items() if name in entity.fields or name in wrong}


@st.composite
def calls(draw):
    entity = draw(sets)
    rows = BUSY.rows(entity)
    path, method = entity.set, draw(st.sampled_from(["GET", "POST"]))
    if rows and draw(st.booleans()):
        path += f"({draw(st.sampled_from([*rows[:3], *rows[-3:]]))['id']})"
        method = draw(st.sampled_from(["GET", "PATCH", "PATCH", "DELETE"]))
        if entity.actions and draw(st.booleans()):
            path += f"/Microsoft.NAV.{draw(st.sampled_from(entity.actions))}"
            method = "POST"
    names = st.sampled_from(["$filter", "$select", "$orderby", "$top", "$expand", "$skiptoken"])
    texts = st.text(max_size=20) | st.sampled_from([*entity.fields, "customer", "currency(", "*"])
    query = draw(st.lists(st.tuples(names, texts), max_size=2))
    body = msgspec.json.encode(draw(bodies(entity)))
    return Call(method, path, query, {"if-match": "*"}, body)


def sums_are_right():
    for name in ("salesInvoice", "salesOrder"):
        for row in BUSY.rows(ENTITIES[name]):
            lines = BUSY.lines(ENTITIES[name], row["id"])
            net = sum((line["netAmountIncludingTax"] for line in lines), Decimal(0))
            assert row["totalAmountIncludingTax"] == net


@given(st.lists(calls(), min_size=1, max_size=4))
def test_every_call_is_answered_and_the_sums_stay_right(requests):
    try:
        with BUSY.all_or_nothing():
            for call in requests:
                assert SERVICE.answer(call).status < 500
            sums_are_right()
            raise Undo
    except Undo:
        pass


@given(st.text(max_size=40), st.sampled_from(["GET", "POST", "PUT"]))
def test_every_path_is_answered(path, method):
    assert SERVICE.answer(Call(method, path)).status < 500
    inside = f"companies({BUSY.id})/{path}"
    assert SERVICE.answer(Call("GET", inside)).status < 500


@given(st.text(max_size=30) | st.just("http://["))
def test_every_batch_is_answered(url):
    raw = msgspec.json.encode({"requests": [{"method": "GET", "url": url}]})
    assert batch.run(SERVICE, raw, {}).status == 200
