"""The ERP tools: searching, reading, and changing customers and items."""

import pytest

from turnlog.contrib.business_central import BusinessCentral, erp_agent
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.events.kinds import ToolResult
from turnlog.simulator import Reply, Text, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.testing.business_central import approval_of, erp_tools


@pytest.fixture
async def erp():
    async with erp_tools() as connection:
        yield connection


# from search to posting


async def test_an_invoice_is_created_and_posted_with_the_tools(erp):
    (customer,) = (await erp.result("find_customer", text="adatum"))["customers"]
    item = await erp.result("get_item", number="1896-S")
    assert (customer["number"], item["unitPrice"]) == ("10000", 1000.8)
    invoice = await erp.draft()
    assert (invoice["status"], invoice["totalAmountIncludingTax"]) == ("Draft", 2412.67)
    assert [line["description"] for line in invoice["lines"]] == ["ATHENS Desk", "AMSTERDAM Lamp"]
    posted = await erp.result("post_sales_invoice", **approval_of(invoice))
    assert (posted["status"], posted["id"]) == ("Open", invoice["id"])
    assert posted["number"] != invoice["number"]
    listing = await erp.result("find_sales_invoice", customer_number="10000", status="Open")
    assert posted["number"] in [row["number"] for row in listing["salesInvoices"]]


async def test_the_agent_reads_the_embedded_sandbox():
    bc, call = BusinessCentral(), ToolCall("get_customer", {"number": "10000"})
    script = (Reply(call), Reply(Text("Atlanta.")))
    async with scripted_app(*script, agents=[erp_agent(bc)], connections=[bc]) as (app, _):
        result = await app.run_turn("Where is customer 10000?")
    (tool_result,) = [entry.event for entry in result.events if isinstance(entry.event, ToolResult)]
    assert (tool_result.result["city"], result.text) == ("Atlanta", "Atlanta.")


# reading


async def test_the_agent_lists_all_entities(erp):
    result = await erp.result("list_all_entities")
    assert {"customers", "items", "salesInvoices"} <= set(result["entities"])
    assert result["count"] == len(result["entities"])


SEARCHES = [
    ("find_customer", {"text": "10000"}, "customers", ["10000"]),
    ("find_customer", {"text": "SCHOOL"}, "customers", ["30000", "C00090"]),
    ("find_vendor", {"text": "fabrikam"}, "vendors", ["10000"]),
    ("find_item", {"text": "1896-s"}, "items", ["1896-S"]),
    ("find_item", {"text": "desk", "limit": 2}, "items", ["1896-S", "2100-S"]),
]


@pytest.mark.parametrize(("name", "args", "key", "numbers"), SEARCHES)
async def test_a_search_finds_records_by_name_or_number(erp, name, args, key, numbers):
    result = await erp.result(name, **args)
    assert [row["number"] for row in result[key]] == numbers


@pytest.mark.parametrize(
    ("name", "key", "total"),
    [
        ("find_customer", "customers", 28),
        ("find_item", "items", 30),
        ("find_vendor", "vendors", 25),
    ],
)
async def test_a_search_without_text_lists_the_first_records_and_counts_all(erp, name, key, total):
    result = await erp.result(name, limit=3)
    names = [row["displayName"].upper() for row in result[key]]
    assert names == sorted(names)
    assert (result["count"], result["hasMore"], result["total"]) == (3, True, total)


async def test_a_search_counts_only_documents_of_that_status(erp):
    result = await erp.result("find_sales_invoice", status="Open")
    assert (result["count"], result["total"]) == (10, 12)
    assert "total" not in await erp.result("find_sales_invoice", status="Draft")  # these are all


async def test_a_result_has_no_blank_fields_and_plain_options(erp):
    result = await erp.result("get_customer", number="C00210")
    assert result["blocked"] == "Ship"
    assert "website" not in result  # blank
    assert (await erp.result("get_item", number="1965-W"))["type"] == "Non-Inventory"
    assert not any("@" in name for name in result)


async def test_a_search_is_narrowed_by_status_and_day(erp):
    days = {"from_day": "2026-10-10", "to_day": "2026-10-20"}
    orders = (await erp.result("find_sales_order", status="Open", limit=50, **days))["salesOrders"]
    assert orders
    assert all("2026-10-10" <= row["orderDate"] <= "2026-10-20" for row in orders)
    order = await erp.result("get_sales_order", number=orders[0]["number"].lower())
    assert order["lines"]
    drafts = await erp.result("find_sales_invoice", status="Draft")
    assert drafts["count"] == 4


MISSING = [
    ("get_customer", "There is no customer 'X'. find_customer finds them."),
    ("get_vendor", "There is no vendor 'X'. find_vendor finds them."),
    ("get_item", "There is no item 'X'. find_item finds them."),
    ("get_sales_order", "There is no sales order 'X'. find_sales_order finds them."),
    ("get_sales_invoice", "There is no sales invoice 'X'. find_sales_invoice finds them."),
]


@pytest.mark.parametrize(("name", "says"), MISSING)
async def test_a_missing_record_names_the_tool_that_finds_records(erp, name, says):
    assert await erp.error(name, number="X") == says


async def test_a_status_with_a_blank_can_be_searched(erp):
    company, invoice = erp.sandbox.service.companies[0], erp.drafts()[0]
    company.put(ENTITIES["salesInvoice"], invoice | {"status": "In Review"})
    (row,) = (await erp.result("find_sales_invoice", status="In Review"))["salesInvoices"]
    assert (row["number"], row["status"]) == (invoice["number"], "In Review")


# creating, changing, deleting


async def test_a_customer_can_be_created_changed_and_deleted(erp):
    made = await erp.result("create_customer", name="Test Corp", city="Boston", credit_limit=500)
    assert (made["displayName"], made["city"], made["creditLimit"]) == ("Test Corp", "Boston", 500)
    args = await erp.current("customer", made["number"])
    changed = await erp.result("update_customer", **args, city="Miami", blocked="All")
    assert (changed["city"], changed["blocked"]) == ("Miami", "All")
    back = await erp.result("update_customer", **args | {"etag": changed["etag"]}, blocked="No")
    assert back["blocked"] == "No"
    assert await erp.result("delete_customer", **args | {"etag": back["etag"]}) == {
        "deleted": True,
        "number": made["number"],
    }
    assert "no customer" in await erp.error("get_customer", number=made["number"])


async def test_an_item_can_be_created_changed_and_deleted(erp):
    values = {"name": "Test Chair", "unit_price": 99.5, "number": "T-1", "category": "CHAIR"}
    made = await erp.result("create_item", **values)
    assert (made["number"], made["itemCategoryCode"]) == ("T-1", "CHAIR")
    args = await erp.current("item", "T-1")
    changed = await erp.result("update_item", **args, unit_price=120, blocked=True)
    assert (changed["unitPrice"], changed["blocked"]) == (120, True)
    args["etag"] = changed["etag"]
    assert (await erp.result("delete_item", **args))["deleted"]


async def test_a_second_customer_of_the_same_name_needs_allow_same_name(erp):
    error = await erp.error("create_customer", name="Adatum Corporation")
    assert "already, with number 10000" in error
    assert await erp.result("create_customer", name="Adatum Corporation", allow_same_name=True)


async def test_a_record_that_somebody_changed_is_not_overwritten(erp):
    args = await erp.current("customer", "10000")
    await erp.result("update_customer", **args, city="Miami")
    error = await erp.error("update_customer", **args, city="Boston")
    assert error == (
        "Somebody has changed this record in Business Central since it was read."
        " Read it again, then decide whether the change still makes sense."
    )
    assert erp.row("customer", number="10000")["city"] == "Miami"


@pytest.mark.parametrize("etag", ["", "W/nonsense", "*\r\nX: y"])
async def test_an_invented_etag_is_refused(erp, etag):
    args = await erp.current("customer", "10000")
    error = await erp.error("update_customer", **args | {"etag": etag}, city="X")
    assert "etag" in error


async def test_a_star_as_etag_is_refused(erp):
    args = await erp.current("customer", "10000")
    error = await erp.error("update_customer", **args | {"etag": "*"}, city="X")
    assert "etag" in error
    assert erp.row("customer", number="10000")["city"] == "Atlanta"


@pytest.mark.parametrize("name", ["update_customer", "delete_customer"])
async def test_a_number_with_the_wrong_name_changes_nothing(erp, name):
    args = await erp.current("customer", "10000") | {"current_name": "Trey Research"}
    error = await erp.error(name, **args, **({"city": "X"} if "update" in name else {}))
    assert error.startswith("'10000' is 'Adatum Corporation', not 'Trey Research'.")


async def test_a_refusal_reaches_the_model_in_business_centrals_words(erp):
    error = await erp.error("delete_customer", **await erp.current("customer", "10000"))
    assert error.startswith("Business Central refused this: You cannot delete Customer 10000")
    assert "CorrelationId" not in error
    error = await erp.error("create_customer", name="X", currency_code="XXX")
    assert 'The "currencyCode" does not match to a Currency.' in error
    assert "Nothing to change" in await erp.error(
        "update_customer", **await erp.current("customer", "10000")
    )


async def test_a_name_that_looks_like_an_escaped_option_is_shown_as_it_is(erp):
    """Half a surrogate pair cannot be written: one such record would cost the whole list."""
    for word, name in (("Half", "Half _xD83D_"), ("Bell", "Bell _x0007_")):
        await erp.result("create_customer", name=name)
        (found,) = (await erp.result("find_customer", text=word))["customers"]
        assert found["displayName"] == name
