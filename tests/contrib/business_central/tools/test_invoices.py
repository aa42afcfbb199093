"""Sales invoices by the ERP tools, and writes whose response was lost."""

import re

import pytest

from turnlog.contrib.business_central.client.failures import Uncertain
from turnlog.contrib.business_central.sandbox import Failure
from turnlog.contrib.business_central.tools.invoices import _check_postable
from turnlog.errors import ToolError
from turnlog.testing.business_central import INVOICE, approval_of, erp_tools
from turnlog.tools.approval import description
from turnlog.tools.tool import NotDone


@pytest.fixture
async def erp():
    async with erp_tools() as connection:
        yield connection


# invoices

BAD_INVOICES = [
    ({"customer_name": "Trey Research"}, "'10000' is 'Adatum Corporation'"),
    ({"customer_number": "X"}, "There is no customer 'X'"),
    ({"lines": [{"item_number": "X", "quantity": 1}]}, "There is no item X. find_item"),
    ({"lines": [{"item_number": "1964-S", "quantity": 1}]}, "Item 1964-S is blocked"),
    ({"lines": []}, "Wrong arguments"),
    ({"lines": [{"item_number": "1896-S", "quantity": 0}]}, "Wrong arguments"),
    ({"lines": [{"item_number": "1896-S", "quantity": 1, "x": 1}]}, "Wrong arguments"),
    ({"customer_number": "C00160", "customer_name": "Quarry Lane Studios"}, "is blocked"),
]


@pytest.mark.parametrize(("changed", "says"), BAD_INVOICES)
async def test_a_refused_invoice_leaves_no_draft(erp, changed, says):
    before = (await erp.result("find_sales_invoice", limit=50))["count"]
    assert says in await erp.error("create_sales_invoice", **INVOICE | changed)
    assert (await erp.result("find_sales_invoice", limit=50))["count"] == before


async def test_a_line_can_have_its_own_price_and_discount(erp):
    line = {"item_number": "5000-V", "quantity": 1.5, "unit_price": 100, "discount_percent": 10}
    changes = {"lines": [line], "invoice_date": "2026-11-02", "customer_reference": "their 17"}
    made = await erp.draft(**changes)
    assert made["totalAmountIncludingTax"] == 135
    assert (made["invoiceDate"], made["dueDate"]) == ("2026-11-02", "2026-12-02")
    assert made["customerPurchaseOrderReference"] == "their 17"


async def test_one_failed_line_undoes_the_whole_invoice(erp, monkeypatch):
    """The item is blocked between the check and the write."""
    invoices = erp.tools["create_sales_invoice"].function.__self__
    line_bodies = invoices._line_bodies

    async def then_block(lines):
        bodies = await line_bodies(lines)
        args = await erp.current("item", "1928-S")
        await erp.result("update_item", **args, blocked=True)
        return bodies

    monkeypatch.setattr(invoices, "_line_bodies", then_block)
    error = await erp.error("create_sales_invoice", **INVOICE)
    assert error.startswith("No invoice was created. line 2 (1928-s): Business Central refused")
    assert (await erp.result("find_sales_invoice", status="Draft"))["count"] == 4


async def test_a_call_that_runs_twice_creates_one_invoice(erp):
    first, again = await erp.draft(), await erp.draft()
    assert first["id"] == again["id"]
    other = await erp.result("create_sales_invoice", "toolu_2", **INVOICE)
    assert other["id"] != first["id"]
    assert re.fullmatch(r"TL-[0-9A-F]{20}", first["externalDocumentNumber"])


async def test_an_invoice_is_posted_once(erp):
    invoice = await erp.draft()
    posted = await erp.result("post_sales_invoice", **approval_of(invoice))
    error = await erp.error("post_sales_invoice", **approval_of(invoice))
    assert error == f"This invoice is posted already, as {posted['number']} (Open)."
    assert erp.row("item", number="1928-S")["inventory"] == 55


CHANGED = [
    ({"total_including_tax": 1.0}, "totalAmountIncludingTax is 2412.67, not 1.0"),
    ({"customer_name": "Trey Research"}, "customerName is 'Adatum Corporation'"),
    ({"number": "9"}, "number is"),
    ({"currency_code": "EUR"}, "currencyCode is 'USD'"),
]


@pytest.mark.parametrize(("changed", "says"), CHANGED)
async def test_an_invoice_that_differs_from_the_approval_is_not_posted(erp, changed, says):
    args = approval_of(await erp.draft()) | changed
    assert says in await erp.error("post_sales_invoice", **args)
    assert erp.row("salesInvoice", id=args["invoice_id"])["status"] == "Draft"


async def test_a_malformed_invoice_id_is_refused_before_it_is_sent(erp):
    args = approval_of(await erp.draft()) | {"invoice_id": "x)/Microsoft.NAV.cancel("}
    assert "Wrong arguments" in await erp.error("post_sales_invoice", **args)


# lost responses

LOST = [Failure(hang_up=True, done=True), Failure(503, done=True)]


@pytest.mark.parametrize("lost", LOST, ids=["broken", "503"])
async def test_a_write_whose_response_was_lost_is_looked_up(erp, lost):
    await erp.result("get_customer", number="10000")
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "POST"}))
    assert (await erp.result("create_customer", name="Test Corp"))["number"] == "C00240"
    invoice = await erp.draft()
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "POST"}))
    assert (await erp.result("post_sales_invoice", **approval_of(invoice)))["status"] == "Open"
    args = await erp.current("customer", "C00240")
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "PATCH"}))
    changed = await erp.result("update_customer", **args, city="Boston")
    assert changed["city"] == "Boston"
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "DELETE"}))
    assert (await erp.result("delete_customer", **args | {"etag": changed["etag"]}))["deleted"]


async def test_an_invoice_without_lines_is_deleted(erp):
    erp.sandbox.fail(Failure(hang_up=True, done=True, method="POST", path="salesInvoices"))
    error = await erp.error("create_sales_invoice", **INVOICE)
    assert "not there so far. It may or may not" in error
    assert (await erp.result("find_sales_invoice", status="Draft"))["count"] == 4
    assert len((await erp.draft())["lines"]) == 2


async def test_lines_whose_response_was_lost_are_looked_up(erp):
    erp.sandbox.fail(Failure(hang_up=True, done=True, method="POST", path="$batch"))
    assert len((await erp.draft())["lines"]) == 2
    assert (await erp.result("find_sales_invoice", status="Draft"))["count"] == 5


async def test_lines_that_never_arrived_leave_no_draft(erp):
    erp.sandbox.fail(Failure(503, method="POST", path="$batch"))
    assert "not there so far" in await erp.error("create_sales_invoice", **INVOICE)
    assert (await erp.result("find_sales_invoice", status="Draft"))["count"] == 4


async def test_reconciliation_of_a_new_customer(erp):
    args = {"name": "Test Corp", "city": "Boston"}
    with pytest.raises(NotDone):
        await erp.reconcile("create_customer", **args)
    made = await erp.result("create_customer", **args)
    assert (await erp.reconcile("create_customer", **args))["number"] == made["number"]
    assert await erp.reconcile("create_customer", **args | {"city": "Miami"}) is None
    assert await erp.reconcile("create_customer", **args, allow_same_name=True) is None


async def test_reconciliation_of_a_change(erp):
    args = await erp.current("item", "1928-S") | {"unit_price": 60.0}
    with pytest.raises(NotDone):
        await erp.reconcile("update_item", **args)
    await erp.result("update_item", **args)
    assert (await erp.reconcile("update_item", **args))["unitPrice"] == 60
    assert await erp.reconcile("update_item", **args | {"unit_price": 61.0}) is None


async def test_reconciliation_of_a_deletion(erp):
    await erp.result("create_customer", name="Test Corp")
    args = await erp.current("customer", "C00240")
    with pytest.raises(NotDone):
        await erp.reconcile("delete_customer", **args)
    await erp.result("delete_customer", **args)
    assert (await erp.reconcile("delete_customer", **args))["deleted"]


async def test_reconciliation_of_an_invoice(erp):
    with pytest.raises(NotDone):
        await erp.reconcile("create_sales_invoice", **INVOICE)
    made = await erp.draft()
    assert (await erp.reconcile("create_sales_invoice", **INVOICE))["id"] == made["id"]
    with pytest.raises(NotDone):
        await erp.reconcile("post_sales_invoice", **approval_of(made))
    await erp.result("post_sales_invoice", **approval_of(made))
    assert (await erp.reconcile("post_sales_invoice", **approval_of(made)))["status"] == "Open"


async def test_a_draft_that_somebody_works_on_is_not_deleted(erp):
    erp.sandbox.fail(Failure(503, method="POST", path="$batch"), Failure(503, method="DELETE"))
    await erp.error("create_sales_invoice", **INVOICE)
    (row,) = [r for r in erp.drafts() if r["externalDocumentNumber"].startswith("TL-")]
    post = f"salesInvoices({row['id']})/salesInvoiceLines"
    await erp.bc.create(post, {"lineObjectNumber": "2150-S", "quantity": 1})
    assert await erp.reconcile("create_sales_invoice", **INVOICE) is None
    assert erp.row("salesInvoice", id=row["id"]) is not None


async def test_an_answer_that_is_missing_in_a_batch_is_looked_up(erp, monkeypatch):
    """The lines are there; who believes the gap would say that the invoice has none."""
    request = erp.bc._request

    async def without_the_last(method, url, **given):
        answer = await request(method, url, **given)
        return {"responses": answer["responses"][:1]} if "$batch" in str(url) else answer

    monkeypatch.setattr(erp.bc, "_request", without_the_last)
    assert len((await erp.draft())["lines"]) == 2


async def test_an_answer_to_another_request_is_a_missing_one(erp, monkeypatch):
    async def of_others(*given, **more):
        return {"responses": [{"id": "0", "status": 201}, {"id": "7", "status": 201}]}

    await erp.result("get_customer", number="10000")  # the company is known now
    monkeypatch.setattr(erp.bc, "_request", of_others)
    with pytest.raises(Uncertain):
        await erp.bc.create_all("salesInvoices(1)/salesInvoiceLines", [{}, {}])


def test_an_invoice_in_a_currency_with_three_decimals_is_compared_as_it_is():
    row = {"status": "Draft", "number": "S1", "customerName": "A", "currencyCode": "KWD"}
    approved = {"number": "S1", "customer_name": "A", "currency_code": "KWD"}
    row["totalAmountIncludingTax"] = 10.125
    _check_postable(row, approved | {"total_including_tax": 10.125})
    with pytest.raises(ToolError, match="Nothing was posted"):
        _check_postable(row, approved | {"total_including_tax": 10.12})


# questions to people

ETAG = 'W/"e"'
QUESTIONS = [
    (
        "create_customer",
        {"name": "Test Corp", "city": "Boston", "credit_limit": 5000},
        "Create customer Test Corp with city Boston, credit limit 5,000.00",
    ),
    ("create_customer", {"name": "Test Corp"}, "Create customer Test Corp"),
    ("create_customer", {"name": "Test\n\nCorp "}, "Create customer Test Corp"),
    (
        "create_sales_invoice",
        INVOICE | {"lines": [{"item_number": "A", "quantity": 12345.5}]},
        "Create a draft sales invoice for Adatum Corporation (10000): 12,345.5 × A",
    ),
    (
        "update_customer",
        {
            "number": "10000",
            "current_name": "Adatum",
            "etag": ETAG,
            "city": "Rome",
            "blocked": "All",
        },
        "Change customer 10000 (Adatum): city → Rome, blocked → All",
    ),
    (
        "delete_customer",
        {"number": "10000", "current_name": "Adatum", "etag": ETAG},
        "Delete customer 10000 (Adatum)",
    ),
    (
        "create_customer",
        {"name": "Ann", "kind": "Person", "allow_same_name": True},
        "Create customer (a person) Ann, even if there is one of this name",
    ),
    (
        "create_item",
        {"name": "Chair", "unit_price": 1250},
        "Create item Chair at 1,250.00 each (kind Inventory, base unit PCS)",
    ),
    (
        "create_item",
        {"name": "Screw", "unit_price": 0.0625, "number": "S1", "unit_cost": 1e-05},
        "Create item Screw at 0.0625 each (number S1, kind Inventory, base unit PCS,"
        " unit cost 0.00001)",
    ),
    (
        "create_sales_invoice",
        INVOICE
        | {
            "lines": [
                {
                    "item_number": "A",
                    "quantity": 0.000004,
                    "unit_price": 1.999,
                    "discount_percent": 33.3333333,
                }
            ],
            "invoice_date": "2026-11-02",
            "customer_reference": "their 17",
        },
        "Create a draft sales invoice of 2026-11-02 for Adatum Corporation (10000),"
        " their order their 17: 0.000004 × A at 1.999 less 33.3333333 %",
    ),
    (
        "update_item",
        {"number": "1", "current_name": "Chair", "etag": ETAG, "unit_price": 9.5},
        "Change item 1 (Chair): unit price → 9.50",
    ),
    (
        "delete_item",
        {"number": "1", "current_name": "Chair", "etag": ETAG},
        "Delete item 1 (Chair)",
    ),
    (
        "create_sales_invoice",
        INVOICE
        | {"lines": [{"item_number": "A", "quantity": 2, "unit_price": 5, "discount_percent": 10}]},
        "Create a draft sales invoice for Adatum Corporation (10000): 2 × A at 5.00 less 10 %",
    ),
    (
        "post_sales_invoice",
        {
            "invoice_id": "00000000-0000-0000-0000-000000000001",
            "number": "103241",
            "customer_name": "Adatum Corporation",
            "total_including_tax": 1250.0,
            "currency_code": "USD",
            "etag": ETAG,
        },
        "Post sales invoice 103241 for Adatum Corporation — 1,250.00 USD",
    ),
]


@pytest.mark.parametrize(("name", "args", "says"), QUESTIONS)
async def test_the_question_to_a_person_is_in_words_of_the_business(erp, name, args, says):
    assert description(erp.tools[name], args) == says


async def test_every_write_has_a_question_and_a_reconciliation(erp):
    for tool in erp.tools.values():
        assert tool.writes == bool(tool.describe) == bool(tool.reconcile)
        assert tool.writes == tool.name.startswith(("create", "update", "delete", "post"))
        assert "context" not in tool.spec.input_schema["properties"]
        assert len(tool.spec.description) > 40
