"""What business people say, and what the ERP agent does for it: real tools, nothing scripted."""

import asyncio

import pytest

from turnlog import Settings, create_app
from turnlog.contrib.business_central import BusinessCentral, erp_agent
from turnlog.events.kinds import ApprovalRequested, ToolUse
from turnlog.events.rows.record import stamped
from turnlog.ports import Decision
from turnlog.simulator import SimulatedClaude
from turnlog.testing.golden import people
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER

PARIS, ATHENS = {"item_number": "1900-S"}, {"item_number": "1896-S"}
# fmt: off
# what is said                              the last call, the arguments that matter, the answer
SAID = [
    ("list our customers",                  "find_customer", {}, "28 customers; these are the"),
    ("how many customers do we have?",      "find_customer", {}, "28 customers."),
    ("list the vendors",                    "find_vendor", {}, "25 vendors; these are the"),
    ("how much is a Paris Guest Chair?",    "find_item", {"text": "Paris Guest Chair"}, "192.80"),
    ("What does the Athens desk cost and how many are in stock?",
                                            "find_item", {"text": "Athens desk"}, "is 4."),
    ("how much does Trey Research owe us?", "find_customer", {"text": "Trey Research"}, "2,445.42"),
    ("what is the city of customer 10000?", "get_customer", {"number": "10000"}, "is Atlanta."),
    ("show me the open invoices",           "find_sales_invoice", {"status": "Open"},
                                            "open sales invoices"),
    ("show me the order S-ORD101003",       "get_sales_order", {"number": "S-ORD101003"},
                                            "Driftwood Hotels"),
    ("list all BC entities",                "list_all_entities", {}, "customers"),
    ("sell 5 Paris guest chairs to Trey Research",
                                            "create_sales_invoice",
                                            {"customer_number": "20000",
                                             "lines": [PARIS | {"quantity": 5}]}, "is created."),
    ("bill School of Fine Art for 2 Athens desks",
                                            "create_sales_invoice",
                                            {"customer_number": "30000",
                                             "lines": [ATHENS | {"quantity": 2}]}, "is created."),
]
UNREAD = [
    "who owes us the most?", "which items are low on stock?", "which invoices are overdue?",
    "raise the price of 1896-S to 1100", "give Adatum 10% off",
]
# fmt: on


@pytest.fixture
async def talk():
    """Says something in a session of its own, allows all that is asked. Gives calls and answer."""
    bc, sim = BusinessCentral(), SimulatedClaude(pace=0)
    async with sim.serve() as url:
        settings = Settings(base_url=url, api_key="k")
        app = create_app([erp_agent(bc)], settings=settings, store="memory:", connections=[bc])
        async with app:
            session = await app.create_session(LOCAL_USER)
            yield lambda said: turn(app, session.id, said)
    assert sim.refused == []


async def turn(app, session_id, said):
    deciding = []

    def decide(entry):
        if isinstance(entry.event, ApprovalRequested):
            allow = app.answer_approval(
                LOCAL_USER, entry.event.approval_id, Decision(approved=True)
            )
            deciding.append(asyncio.create_task(allow))

    result = await app.run_turn(said, session_id=session_id, user_id=LOCAL_USER, on_event=decide)
    await asyncio.gather(*deciding)
    seen = [wire.decode(wire.encode(entry)) for entry in result.events]
    if seen[-1]["type"] not in people.ENDINGS:
        await people.until_at_rest(app, session_id, seen)
    log = [stamped(row).event for row in (await app.store.evidence(session_id)).log]
    return [event for event in log if isinstance(event, ToolUse)], log[-1].content


@pytest.mark.parametrize(("said", "tool", "args", "answer"), SAID, ids=[row[0] for row in SAID])
async def test_what_is_said_is_what_is_done(talk, said, tool, args, answer):
    calls, told = await talk(said)
    assert calls[-1].tool_name == tool
    assert {name: calls[-1].args.get(name) for name in args} == args
    assert answer in told


@pytest.mark.parametrize("said", UNREAD)
async def test_what_cannot_be_read_is_not_guessed(talk, said):
    calls, told = await talk(said)
    assert calls == []
    assert "I do not guess" in told


async def test_a_discount_is_not_left_out(talk):
    calls, told = await talk("bill Relecloud for 2 Athens desks with 10% discount")
    assert [call.tool_name for call in calls] == ["find_customer", "find_item"]
    assert "I found no item for “Athens desks with 10% discount”" in told


async def test_it_is_the_record_talked_about_last(talk):
    await talk("bill Relecloud for 1 Athens desk and 2 Paris guest chairs")
    calls, told = await talk("post it")
    assert calls[-1].tool_name == "post_sales_invoice"
    assert calls[-1].args["customer_name"] == "Relecloud"
    assert "is posted" in told
