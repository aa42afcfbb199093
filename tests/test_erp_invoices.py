"""Sales invoices by the ERP tools, and what became of a write whose answer was lost."""

import re

import pytest
from erp import INVOICE, connected, draft, posting, reading

from turnlog.contrib.business_central.sandbox import Failure
from turnlog.tools.approval import description
from turnlog.tools.tool import NotDone


@pytest.fixture
async def erp():
    async with connected() as connection:
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
async def test_an_invoice_that_cannot_be_leaves_nothing(erp, changed, says):
    before = (await erp.does("find_sales_invoice", limit=50))["count"]
    assert says in await erp.says("create_sales_invoice", **INVOICE | changed)
    assert (await erp.does("find_sales_invoice", limit=50))["count"] == before


async def test_lines_have_prices_and_discounts_of_their_own(erp):
    line = {"item_number": "5000-V", "quantity": 1.5, "unit_price": 100, "discount_percent": 10}
    given = {"lines": [line], "invoice_date": "2026-11-02", "customer_reference": "their 17"}
    made = await draft(erp, **given)
    assert made["totalAmountIncludingTax"] == 135
    assert (made["invoiceDate"], made["dueDate"]) == ("2026-11-02", "2026-12-02")
    assert made["customerPurchaseOrderReference"] == "their 17"


async def test_a_line_that_fails_takes_the_whole_invoice_with_it(erp, monkeypatch):
    """The item is blocked between the check and the write."""
    lines = erp.tools["create_sales_invoice"].function.__self__
    check = lines._lines

    async def then_block(*asked):
        bodies = await check(*asked)
        args = await reading(erp, "item", "1928-S")
        await erp.does("update_item", **args, blocked=True)
        return bodies

    monkeypatch.setattr(lines, "_lines", then_block)
    said = await erp.says("create_sales_invoice", **INVOICE)
    assert said.startswith("No invoice was created. line 2 (1928-s): Business Central refused")
    assert (await erp.does("find_sales_invoice", status="Draft"))["count"] == 4


async def test_the_same_call_makes_one_invoice_however_often_it_runs(erp):
    first, again = await draft(erp), await draft(erp)
    assert first["id"] == again["id"]
    other = await erp.does("create_sales_invoice", "toolu_2", **INVOICE)
    assert other["id"] != first["id"]
    assert re.fullmatch(r"TL-[0-9A-F]{20}", first["externalDocumentNumber"])


async def test_a_posted_invoice_is_not_posted_again(erp):
    invoice = await draft(erp)
    posted = await erp.does("post_sales_invoice", **posting(invoice))
    said = await erp.says("post_sales_invoice", **posting(invoice))
    assert said == f"This invoice is posted already, as {posted['number']} (Open)."
    assert erp.row("item", number="1928-S")["inventory"] == 55


CHANGED = [
    ({"total_including_tax": 1.0}, "totalAmountIncludingTax is 2412.67, not 1.0"),
    ({"customer_name": "Trey Research"}, "customerName is 'Adatum Corporation'"),
    ({"number": "9"}, "number is"),
    ({"currency_code": "EUR"}, "currencyCode is 'USD'"),
]


@pytest.mark.parametrize(("changed", "says"), CHANGED)
async def test_only_what_a_person_allowed_is_posted(erp, changed, says):
    args = posting(await draft(erp)) | changed
    assert says in await erp.says("post_sales_invoice", **args)
    assert erp.row("salesInvoice", id=args["invoice_id"])["status"] == "Draft"


async def test_an_invoice_id_that_is_none_is_refused_before_it_is_sent(erp):
    args = posting(await draft(erp)) | {"invoice_id": "x)/Microsoft.NAV.cancel("}
    assert "Wrong arguments" in await erp.says("post_sales_invoice", **args)


# what became of it

LOST = [Failure(hang_up=True, done=True), Failure(503, done=True)]


@pytest.mark.parametrize("lost", LOST, ids=["broken", "503"])
async def test_an_answer_that_was_lost_is_found_again(erp, lost):
    await erp.does("get_customer", number="10000")
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "POST"}))
    assert (await erp.does("create_customer", name="Test Corp"))["number"] == "C00240"
    invoice = await draft(erp)
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "POST"}))
    assert (await erp.does("post_sales_invoice", **posting(invoice)))["status"] == "Open"
    args = await reading(erp, "customer", "C00240")
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "PATCH"}))
    changed = await erp.does("update_customer", **args, city="Boston")
    assert changed["city"] == "Boston"
    erp.sandbox.fail(Failure(**vars(lost) | {"method": "DELETE"}))
    assert (await erp.does("delete_customer", **args | {"etag": changed["etag"]}))["deleted"]


async def test_a_header_without_its_lines_is_taken_away_again(erp):
    erp.sandbox.fail(Failure(hang_up=True, done=True, method="POST", path="salesInvoices"))
    said = await erp.says("create_sales_invoice", **INVOICE)
    assert "not there so far. It may or may not" in said
    assert (await erp.does("find_sales_invoice", status="Draft"))["count"] == 4
    assert len((await draft(erp))["lines"]) == 2


async def test_lines_whose_answer_was_lost_are_found_again(erp):
    erp.sandbox.fail(Failure(hang_up=True, done=True, method="POST", path="$batch"))
    assert len((await draft(erp))["lines"]) == 2
    assert (await erp.does("find_sales_invoice", status="Draft"))["count"] == 5


async def test_lines_that_never_arrived_leave_no_draft(erp):
    erp.sandbox.fail(Failure(503, method="POST", path="$batch"))
    assert "not there so far" in await erp.says("create_sales_invoice", **INVOICE)
    assert (await erp.does("find_sales_invoice", status="Draft"))["count"] == 4


async def test_reconciling_a_customer(erp):
    args = {"name": "Test Corp", "city": "Boston"}
    with pytest.raises(NotDone):
        await erp.reconciled("create_customer", **args)
    made = await erp.does("create_customer", **args)
    assert (await erp.reconciled("create_customer", **args))["number"] == made["number"]
    assert await erp.reconciled("create_customer", **args | {"city": "Miami"}) is None
    assert await erp.reconciled("create_customer", **args, allow_same_name=True) is None


async def test_reconciling_a_change(erp):
    args = await reading(erp, "item", "1928-S") | {"unit_price": 60.0}
    with pytest.raises(NotDone):
        await erp.reconciled("update_item", **args)
    await erp.does("update_item", **args)
    assert (await erp.reconciled("update_item", **args))["unitPrice"] == 60
    assert await erp.reconciled("update_item", **args | {"unit_price": 61.0}) is None


async def test_reconciling_a_deletion(erp):
    await erp.does("create_customer", name="Test Corp")
    args = await reading(erp, "customer", "C00240")
    with pytest.raises(NotDone):
        await erp.reconciled("delete_customer", **args)
    await erp.does("delete_customer", **args)
    assert (await erp.reconciled("delete_customer", **args))["deleted"]


async def test_reconciling_an_invoice(erp):
    with pytest.raises(NotDone):
        await erp.reconciled("create_sales_invoice", **INVOICE)
    made = await draft(erp)
    assert (await erp.reconciled("create_sales_invoice", **INVOICE))["id"] == made["id"]
    with pytest.raises(NotDone):
        await erp.reconciled("post_sales_invoice", **posting(made))
    await erp.does("post_sales_invoice", **posting(made))
    assert (await erp.reconciled("post_sales_invoice", **posting(made)))["status"] == "Open"


async def test_an_empty_draft_that_somebody_works_on_is_left_alone(erp):
    erp.sandbox.fail(Failure(503, method="POST", path="$batch"), Failure(503, method="DELETE"))
    await erp.says("create_sales_invoice", **INVOICE)
    (row,) = [r for r in erp.drafts() if r["externalDocumentNumber"].startswith("TL-")]
    post = f"salesInvoices({row['id']})/salesInvoiceLines"
    await erp.bc.create(post, {"lineObjectNumber": "2150-S", "quantity": 1})
    assert await erp.reconciled("create_sales_invoice", **INVOICE) is None
    assert erp.row("salesInvoice", id=row["id"]) is not None


# what people are asked

ETAG = 'W/"e"'
TOLD = [
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
    ("create_item", {"name": "Chair", "unit_price": 1250}, "Create item Chair at 1,250.00 each"),
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
        },
        "Post sales invoice 103241 for Adatum Corporation — 1,250.00 USD",
    ),
]


@pytest.mark.parametrize(("name", "args", "says"), TOLD)
async def test_a_person_is_asked_in_words_of_the_business(erp, name, args, says):
    assert description(erp.tools[name], args) == says


async def test_every_write_asks_can_be_reconciled_and_says_what_it_takes(erp):
    for tool in erp.tools.values():
        assert tool.writes == bool(tool.describe) == bool(tool.reconcile)
        assert tool.writes == tool.name.startswith(("create", "update", "delete", "post"))
        assert "context" not in tool.spec.input_schema["properties"]
        assert len(tool.spec.description) > 40
