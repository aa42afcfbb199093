"""The books: what the sandbox refuses and computes. § is the section of our facts."""

import re

import pytest

from turnlog.testing.business_central import odata_client


@pytest.fixture
async def bc():
    async with odata_client() as client:
        yield client


# §6 errors

CREATED = [  # set, body, code, what it says
    ("customers", {}, "Application_DialogException", 'A "displayName" must be provided.'),
    ("customers", {"displayName": "  "}, "Application_DialogException", '"displayName"'),
    ("salesInvoices", {}, "Application_DialogException", 'A "customerNumber" or a "customerId"'),
    (
        "customers",
        {"displayName": "X", "currencyCode": "XXX"},
        "Application_DialogException",
        'The "currencyCode" does not match to a Currency.',
    ),
    (
        "customers",
        {
            "displayName": "X",
            "currencyCode": "EUR",
            "currencyId": "0" * 8 + "-0000" * 3 + "-" + "1" * 12,
        },
        "Application_DialogException",
        "The currency values do not match to a specific Currency.",
    ),
    (
        "customers",
        {"displayName": "X" * 101},
        "Application_StringExceededLength",
        "The length of the string is 101, but it must be less than or equal to 100 characters.",
    ),
    (
        "customers",
        {"displayName": "X", "number": "10000"},
        "Internal_EntityWithSameKeyExists",
        "The Customer already exists. Identification fields and values: No.='10000'",
    ),
    (
        "items",
        {"displayName": "X", "type": "Invalid Type"},
        "Unknown",
        "'Invalid Type' is not an option. The existing options are: Inventory,Service,Non-",
    ),
    ("items", {"displayName": "X", "inventory": 5}, "BadRequest_InvalidOperation", "read-only"),
    ("items", {"displayName": "X", "colour": 5}, "BadRequest", "'colour' does not exist on type"),
    ("items", {"displayName": "X", "unitPrice": "5"}, "BadRequest", "Edm.Decimal"),
    ("items", {"displayName": "X", "unitPrice": 1e300}, "Application_EvaluateException", "range"),
    ("items", {"displayName": "X", "blocked": 1}, "BadRequest", "Edm.Boolean"),
    ("items", {"displayName": "X", "taxGroupId": "x"}, "Application_InvalidGUID", "GUID"),
    (
        "salesInvoices",
        {"customerNumber": "10000", "dueDate": "soon"},
        "BadRequest",
        "Unable to convert value to Date",
    ),
    ("salesInvoices", {"customerNumber": "NOPE"}, "Application_DialogException", "a Customer"),
    ("salesInvoices", {"customerNumber": "C00160"}, "Application_DialogException", "is blocked"),
]


@pytest.mark.parametrize(("path", "body", "code", "says"), CREATED)
async def test_a_refusal_has_a_code_a_message_and_a_correlation_id(bc, path, body, code, says):
    reply = await bc.post(path, **body)
    assert (reply.status, reply.code) == (400, code)
    assert says in reply.message
    assert re.search(r"  CorrelationId:  [0-9a-f-]{36}\.$", reply.message)


PATHS = [
    ("nopes", 404, "BadRequest_ResourceNotFound"),
    ("customers(00000000-0000-0000-0000-000000000001)", 404, "Internal_RecordNotFound"),
    ("customers(x)", 400, "Application_InvalidGUID"),
    ("customers)(", 400, "BadRequest"),
    ("salesInvoiceLines", 400, "Application_DialogException"),
]


@pytest.mark.parametrize(("path", "status", "code"), PATHS)
async def test_an_unknown_path_is_refused(bc, path, status, code):
    reply = await bc.get(path)
    assert (reply.status, reply.code) == (status, code)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b"[" * 5000])
async def test_a_body_that_is_not_an_object_is_refused(bc, raw):
    headers = {"Authorization": f"Bearer {bc.token}"}
    async with bc._http.post(f"{bc.company}/customers", data=raw, headers=headers) as response:
        assert response.status == 400
        assert "Invalid Request Body" in await response.text()


async def test_a_row_in_use_cannot_be_deleted(bc):
    customer = await bc.one("customers", number="10000")
    reply = await bc.delete(f"customers({customer['id']})")
    assert reply.message.startswith("You cannot delete Customer 10000 because")
    euro = await bc.one("currencies", code="EUR")
    await bc.post("customers", displayName="Paris SA", currencyCode="EUR")
    assert (await bc.delete(f"currencies({euro['id']})")).status == 400


# §10 copied and computed fields


async def test_a_document_copies_fields_of_its_customer(bc):
    made = (await bc.post("salesInvoices", customerNumber="20000", invoiceDate="2026-11-01")).body
    assert (made["customerName"], made["billToCity"]) == ("Trey Research", "Chicago")
    assert (made["dueDate"], made["status"]) == ("2026-11-15", "Draft")  # 14 days
    assert made["billToCustomerNumber"] == "20000"


async def test_a_line_is_priced_taxed_and_discounted(bc):
    made = (await bc.post("salesInvoices", customerNumber="10000")).body
    path = f"salesInvoices({made['id']})/salesInvoiceLines"
    values = {"lineObjectNumber": "1896-S", "quantity": 3, "discountPercent": 10}
    line = (await bc.post(path, **values)).body
    assert (line["unitPrice"], line["discountAmount"]) == (1000.8, 300.24)
    assert (line["amountExcludingTax"], line["taxPercent"]) == (2702.16, 6)
    assert line["amountIncludingTax"] == 2864.29
    header = (await bc.get(f"salesInvoices({made['id']})")).body
    assert header["totalAmountIncludingTax"] == 2864.29


async def test_an_invoice_discount_is_spread_over_the_lines(bc):
    lines = [{"lineObjectNumber": "5000-V", "quantity": n} for n in (1, 2)]
    values = {"customerNumber": "10000", "discountAmount": 10, "salesInvoiceLines": lines}
    made = (await bc.post("salesInvoices", **values)).body
    rows = await bc.rows(f"salesInvoices({made['id']})/salesInvoiceLines")
    assert [line["invoiceDiscountAllocation"] for line in rows] == [3.33, 6.67]
    assert made["totalAmountExcludingTax"] == 245


async def test_a_number_of_the_series_is_skipped_if_it_is_taken(bc):
    assert (await bc.post("customers", displayName="A", number="c00240")).body["number"] == "C00240"
    assert (await bc.post("customers", displayName="B")).body["number"] == "C00250"


async def test_a_blocked_item_cannot_be_sold(bc):
    made = (await bc.post("salesInvoices", customerNumber="10000")).body
    path = f"salesInvoices({made['id']})/salesInvoiceLines"
    reply = await bc.post(path, lineObjectNumber="1964-S")
    assert reply.code == "Application_FieldValidationException"


# §10 actions


async def draft(bc, quantity=2):
    lines = [{"lineObjectNumber": "1928-S", "quantity": quantity}]
    made = await bc.post("salesInvoices", customerNumber="10000", salesInvoiceLines=lines)
    return f"salesInvoices({made.body['id']})"


async def test_posting_keeps_the_id_and_changes_the_number(bc):
    path = await draft(bc)
    number = (await bc.get(path)).body["number"]
    stock = (await bc.one("items", number="1928-S"))["inventory"]
    assert (await bc.post(f"{path}/Microsoft.NAV.post")).status == 204
    posted = (await bc.get(path)).body
    assert (posted["status"], posted["number"] != number) == ("Open", True)
    assert (await bc.one("items", number="1928-S"))["inventory"] == stock - 2
    assert (await bc.one("customers", number="10000"))["balanceDue"] == 116.39


async def test_an_invoice_cannot_be_posted_twice(bc):
    path = await draft(bc)
    await bc.post(f"{path}/Microsoft.NAV.post")
    again = await bc.post(f"{path}/Microsoft.NAV.post")
    assert again.code == "Application_DialogException"
    assert again.message.startswith("The action can be applied to a draft invoice only.")


async def test_an_invoice_without_lines_cannot_be_posted(bc):
    made = (await bc.post("salesInvoices", customerNumber="10000")).body
    reply = await bc.post(f"salesInvoices({made['id']})/Microsoft.NAV.post")
    assert (reply.status, "nothing to post" in reply.message) == (400, True)


async def test_a_posted_invoice_and_its_lines_cannot_be_changed(bc):
    path = await draft(bc)
    await bc.post(f"{path}/Microsoft.NAV.post")
    (line,) = await bc.rows(f"{path}/salesInvoiceLines")
    replies = [
        await bc.patch(path, "*", shipToName="X"),
        await bc.delete(path),
        await bc.patch(f"salesInvoiceLines({line['id']})", "*", quantity=9),
        await bc.delete(f"salesInvoiceLines({line['id']})"),
        await bc.post(f"{path}/salesInvoiceLines", lineObjectNumber="1928-S"),
    ]
    assert all("can no longer be modified" in reply.message for reply in replies)


async def test_canceling_gives_back_stock_and_balance(bc):
    stock = (await bc.one("items", number="1928-S"))["inventory"]
    path = await draft(bc)
    await bc.post(f"{path}/Microsoft.NAV.post")
    assert (await bc.post(f"{path}/Microsoft.NAV.cancel")).status == 204
    assert (await bc.get(path)).body["status"] == "Canceled"
    assert (await bc.one("items", number="1928-S"))["inventory"] == stock
    assert (await bc.post(f"{path}/Microsoft.NAV.cancel")).status == 400


async def test_an_order_becomes_a_posted_invoice(bc):
    order = (await bc.rows("salesOrders", top=1))[0]
    assert (await bc.post(f"salesOrders({order['id']})/Microsoft.NAV.shipAndInvoice")).status == 204
    assert (await bc.get(f"salesOrders({order['id']})")).status == 404
    invoice = await bc.one("salesInvoices", orderNumber=order["number"])
    assert invoice["status"] == "Open"
    assert invoice["totalAmountIncludingTax"] == order["totalAmountIncludingTax"]


async def test_an_unknown_action_is_refused(bc):
    path = await draft(bc)
    reply = await bc.post(f"{path}/Microsoft.NAV.explode")
    assert reply.code == "BadRequest_ResourceNotFound"
