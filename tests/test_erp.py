"""The ERP tools: the whole way of an invoice, reading, and changing customers and items."""

import pytest
from erp import connected, draft, posting, reading

from turnlog import create_app
from turnlog.config import Settings
from turnlog.contrib.business_central import BusinessCentral, erp_agent
from turnlog.contrib.business_central.sandbox.entities import ENTITIES
from turnlog.events.kinds import ToolResult
from turnlog.simulator import (
    Reply,
    SimulatedClaude,
    Text,
    ToolCall,
)


@pytest.fixture
async def erp():
    async with connected() as connection:
        yield connection


# the whole way


async def test_an_invoice_from_the_first_question_to_the_books(erp):
    (customer,) = (await erp.does("find_customer", text="adatum"))["customers"]
    item = await erp.does("get_item", number="1896-S")
    assert (customer["number"], item["unitPrice"]) == ("10000", 1000.8)
    invoice = await draft(erp)
    assert (invoice["status"], invoice["totalAmountIncludingTax"]) == ("Draft", 2412.67)
    assert [line["description"] for line in invoice["lines"]] == ["ATHENS Desk", "AMSTERDAM Lamp"]
    posted = await erp.does("post_sales_invoice", **posting(invoice))
    assert (posted["status"], posted["id"]) == ("Open", invoice["id"])
    assert posted["number"] != invoice["number"]
    found = await erp.does("find_sales_invoice", customer_number="10000", status="Open")
    assert posted["number"] in [row["number"] for row in found["salesInvoices"]]


async def test_the_model_uses_the_embedded_sandbox():
    sim = SimulatedClaude(
        Reply(ToolCall("get_customer", {"number": "10000"}, id="toolu_1")), Reply(Text("Atlanta."))
    )
    bc = BusinessCentral()
    async with sim.serve() as url:
        settings = Settings(base_url=url, api_key="k")
        app = create_app([erp_agent(bc)], settings=settings, store="memory:", connections=[bc])
        async with app:
            result = await app.run_turn("Where is customer 10000?")
    (told,) = [at.event for at in result.events if isinstance(at.event, ToolResult)]
    assert (told.result["city"], result.text) == ("Atlanta", "Atlanta.")


# reading


async def test_entities_are_listed(erp):
    told = await erp.does("list_all_entities")
    assert {"customers", "items", "salesInvoices"} <= set(told["entities"])
    assert told["count"] == len(told["entities"])


SEARCHES = [
    ("find_customer", {"text": "10000"}, "customers", ["10000"]),
    ("find_customer", {"text": "SCHOOL"}, "customers", ["30000", "C00090"]),
    ("find_vendor", {"text": "fabrikam"}, "vendors", ["10000"]),
    ("find_item", {"text": "1896-s"}, "items", ["1896-S"]),
    ("find_item", {"text": "desk", "limit": 2}, "items", ["1896-S", "2100-S"]),
]


@pytest.mark.parametrize(("name", "args", "key", "numbers"), SEARCHES)
async def test_records_are_found_by_name_or_number(erp, name, args, key, numbers):
    told = await erp.does(name, **args)
    assert [row["number"] for row in told[key]] == numbers


@pytest.mark.parametrize(
    ("name", "key", "total"),
    [
        ("find_customer", "customers", 28),
        ("find_item", "items", 30),
        ("find_vendor", "vendors", 25),
    ],
)
async def test_without_a_text_the_first_are_listed_and_all_counted(erp, name, key, total):
    told = await erp.does(name, limit=3)
    names = [row["displayName"].upper() for row in told[key]]
    assert names == sorted(names)
    assert (told["count"], told["hasMore"], told["total"]) == (3, True, total)


async def test_documents_are_counted_by_what_was_asked_for(erp):
    told = await erp.does("find_sales_invoice", status="Open")
    assert (told["count"], told["total"]) == (10, 12)
    assert "total" not in await erp.does("find_sales_invoice", status="Draft")  # these are all


async def test_results_are_small_and_plain(erp):
    told = await erp.does("get_customer", number="C00210")
    assert told["blocked"] == "Ship"
    assert "website" not in told  # blank
    assert (await erp.does("get_item", number="1965-W"))["type"] == "Non-Inventory"
    assert not any("@" in name for name in told)


async def test_orders_and_invoices_are_narrowed_by_status_and_day(erp):
    days = {"from_day": "2026-10-10", "to_day": "2026-10-20"}
    orders = (await erp.does("find_sales_order", status="Open", limit=50, **days))["salesOrders"]
    assert orders
    assert all("2026-10-10" <= row["orderDate"] <= "2026-10-20" for row in orders)
    order = await erp.does("get_sales_order", number=orders[0]["number"].lower())
    assert order["lines"]
    drafts = await erp.does("find_sales_invoice", status="Draft")
    assert drafts["count"] == 4


MISSING = [
    ("get_customer", "There is no customer 'X'. find_customer finds them."),
    ("get_vendor", "There is no vendor 'X'. find_vendor finds them."),
    ("get_item", "There is no item 'X'. find_item finds them."),
    ("get_sales_order", "There is no sales order 'X'. find_sales_order finds them."),
    ("get_sales_invoice", "There is no sales invoice 'X'. find_sales_invoice finds them."),
]


@pytest.mark.parametrize(("name", "says"), MISSING)
async def test_what_is_not_there_is_told_with_what_to_do(erp, name, says):
    assert await erp.says(name, number="X") == says


async def test_a_status_with_a_blank_is_found_as_the_wire_has_it(erp):
    company, invoice = erp.sandbox.service.companies[0], erp.drafts()[0]
    company.put(ENTITIES["salesInvoice"], invoice | {"status": "In Review"})
    (found,) = (await erp.does("find_sales_invoice", status="In Review"))["salesInvoices"]
    assert (found["number"], found["status"]) == (invoice["number"], "In Review")


# creating, changing, deleting


async def test_a_customer_is_created_changed_and_deleted(erp):
    made = await erp.does("create_customer", name="Test Corp", city="Boston", credit_limit=500)
    assert (made["displayName"], made["city"], made["creditLimit"]) == ("Test Corp", "Boston", 500)
    args = await reading(erp, "customer", made["number"])
    changed = await erp.does("update_customer", **args, city="Miami", blocked="All")
    assert (changed["city"], changed["blocked"]) == ("Miami", "All")
    back = await erp.does("update_customer", **args | {"etag": changed["etag"]}, blocked="No")
    assert back["blocked"] == "No"
    assert await erp.does("delete_customer", **args | {"etag": back["etag"]}) == {
        "deleted": True,
        "number": made["number"],
    }
    assert "no customer" in await erp.says("get_customer", number=made["number"])


async def test_an_item_is_created_changed_and_deleted(erp):
    given = {"name": "Test Chair", "unit_price": 99.5, "number": "T-1", "category": "CHAIR"}
    made = await erp.does("create_item", **given)
    assert (made["number"], made["itemCategoryCode"]) == ("T-1", "CHAIR")
    args = await reading(erp, "item", "T-1")
    changed = await erp.does("update_item", **args, unit_price=120, blocked=True)
    assert (changed["unitPrice"], changed["blocked"]) == (120, True)
    args["etag"] = changed["etag"]
    assert (await erp.does("delete_item", **args))["deleted"]


async def test_a_second_one_of_the_same_name_has_to_be_meant(erp):
    said = await erp.says("create_customer", name="Adatum Corporation")
    assert "already, with number 10000" in said
    assert await erp.does("create_customer", name="Adatum Corporation", allow_same_name=True)


async def test_an_etag_conflict_is_told_in_words(erp):
    args = await reading(erp, "customer", "10000")
    await erp.does("update_customer", **args, city="Miami")
    said = await erp.says("update_customer", **args, city="Boston")
    assert said == (
        "Somebody has changed this record in Business Central since it was read."
        " Read it again, then decide whether the change still makes sense."
    )
    assert erp.row("customer", number="10000")["city"] == "Miami"


@pytest.mark.parametrize("etag", ["", "W/nonsense", "*\r\nX: y"])
async def test_an_invented_etag_is_told(erp, etag):
    args = await reading(erp, "customer", "10000")
    said = await erp.says("update_customer", **args | {"etag": etag}, city="X")
    assert "etag" in said


async def test_a_star_is_no_etag(erp):
    args = await reading(erp, "customer", "10000")
    said = await erp.says("update_customer", **args | {"etag": "*"}, city="X")
    assert "etag" in said
    assert erp.row("customer", number="10000")["city"] == "Atlanta"


@pytest.mark.parametrize("name", ["update_customer", "delete_customer"])
async def test_a_name_that_is_not_the_numbers_changes_nothing(erp, name):
    args = await reading(erp, "customer", "10000") | {"current_name": "Trey Research"}
    said = await erp.says(name, **args, **({"city": "X"} if "update" in name else {}))
    assert said.startswith("'10000' is 'Adatum Corporation', not 'Trey Research'.")


async def test_what_the_erp_refuses_is_passed_on_in_its_words(erp):
    said = await erp.says("delete_customer", **await reading(erp, "customer", "10000"))
    assert said.startswith("Business Central refused this: You cannot delete Customer 10000")
    assert "CorrelationId" not in said
    said = await erp.says("create_customer", name="X", currency_code="XXX")
    assert 'The "currencyCode" does not match to a Currency.' in said
    assert "Nothing to change" in await erp.says(
        "update_customer", **await reading(erp, "customer", "10000")
    )
