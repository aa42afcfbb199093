"""Which tools the conversational simulator calls for what people say: one table."""

import pytest
from sim_tools import (
    ALL_TOOLS,
    ERP_TOOLS,
    HAND_OFFS,
    INTEGER,
    NUMBER,
    OTHER_TOOLS,
    TASK_TOOLS,
    Box,
    Chat,
    first_calls,
    spec,
    tasks,
)

# fmt: off
# what is said                                        the calls of the first answer
FIRST = [
    # nothing to do
    ("hi",                                            []),
    ("Hello, how are you?",                           []),
    ("Guten Tag!",                                    []),
    ("thanks a lot",                                  []),
    ("who are you?",                                  []),
    ("what can you do?",                              []),
    ("what is the capital of France?",                []),
    ("Tell me a joke",                                []),
    ("delete all customers",                          []),
    ("I would rather not delete anything",            []),
    ("don't delete my tasks",                         []),
    ("Don't forget to call Bob",                      [("add_task", {"title": "call Bob"})]),
    # tasks
    ("show me my tasks",                              [("list_tasks", {})]),
    ("Hello! Could you please list all my tasks?",    [("list_tasks", {})]),
    ("what do I have to do?",                         [("list_tasks", {})]),
    ("What's on my to-do list?",                      [("list_tasks", {})]),
    ("how many tasks do I have",                      [("list_tasks", {})]),
    ("display the completed tasks",                   [("list_tasks", {"status": "completed"})]),
    ("which tasks are still open?",                   [("list_tasks", {"status": "pending"})]),
    ("list_tasks",                                    [("list_tasks", {})]),
    ("add a task to buy milk",                        [("add_task", {"title": "buy milk"})]),
    ("Add task Buy milk",                             [("add_task", {"title": "Buy milk"})]),
    ("create a new task called 'Pay the rent'",       [("add_task", {"title": "Pay the rent"})]),
    ("new todo: water the plants",
     [("add_task", {"title": "water the plants"})]),
    ("remind me to call Bob",                         [("add_task", {"title": "call Bob"})]),
    ("put “send report” on my list",                  [("add_task", {"title": "send report"})]),
    ("add Read the news to my tasks",                 [("add_task", {"title": "Read the news"})]),
    ("add tasks: eggs, milk and bread",               [("add_task", {"title": "eggs"}),
                                                       ("add_task", {"title": "milk"}),
                                                       ("add_task", {"title": "bread"})]),
    ("delete task 3",                                 [("delete_task", {"task_id": 3})]),
    ("remove task #17 please",                        [("delete_task", {"task_id": 17})]),
    ("finish task 4",                                 [("complete_task", {"task_id": 4})]),
    ("mark task 4 as done",                           [("complete_task", {"task_id": 4})]),
    ("rename task 2 to Buy bread",                    [("update_task", {"task_id": 2,
                                                                        "title": "Buy bread"})]),
    ("complete buy milk",                             [("list_tasks", {})]),
    ("delete all my tasks",                           [("list_tasks", {})]),
    ("clear my todo list",                            [("list_tasks", {})]),
    # an ERP
    ("list all BC entities",                          [("list_all_entities", {})]),
    ("which entities are there?",                     [("list_all_entities", {})]),
    ("show me the customers",                         [("list_customers", {})]),
    ("list clients",                                  [("list_customers", {})]),
    ("show the first 5 customers",                    [("list_customers", {"limit": 5})]),
    ("find customer Adatum",                          [("find_customer", {"query": "Adatum"})]),
    ("look up the client Trey Research",
     [("find_customer", {"query": "Trey Research"})]),
    ("get customer 10000",
     [("get_customer", {"customer_number": "10000"})]),
    ("what is the phone number of Adatum?",           [("find_customer", {"query": "Adatum"})]),
    ("get item 1896-S",                               [("get_item", {"item_number": "1896-S"})]),
    ("find the product Athens Desk",                  [("find_item", {"query": "Athens Desk"})]),
    ("create customer Test Corp",
     [("create_customer", {"display_name": "Test Corp"})]),
    ("register a new client named Contoso Ltd with email info@contoso.example",
     [("create_customer", {"display_name": "Contoso Ltd", "email": "info@contoso.example"})]),
    ("create customer \"Müller & Söhne\" in Zürich, phone +41 44 123 45 67",
     [("create_customer", {"display_name": "Müller & Söhne", "phone_number": "+41 44 123 45 67",
                           "city": "Zürich"})]),
    ("change the phone number of Adatum to 555-9999", [("find_customer", {"query": "Adatum"})]),
    ("create an invoice for Adatum with 3 chairs",    [("find_item", {"query": "chair"})]),
    ("create an invoice",                             [("list_customers", {})]),
    ("list sales orders",                             [("list_sales_orders", {})]),
    ("show me the open orders",                       [("list_sales_orders", {"status": "Open"})]),
    ("show the invoices",                             [("list_sales_invoices", {})]),
    ("post the invoice",                              [("list_sales_invoices", {})]),
    ("order 5 of the Athens desk for Adatum",         [("find_item", {"query": "Athens desk"})]),
    # other tools
    ("what time is it?",                              [("current_time", {})]),
    ("What's the date today?",                        [("current_time", {})]),
    ("what is 12*7?",                                 [("calculate", {"expression": "12*7"})]),
    ("calculate (3 + 4) * 2.5",
     [("calculate", {"expression": "(3 + 4) * 2.5"})]),
    ("add a task 3+4",                                [("add_task", {"title": "3+4"})]),
    ("3 x 4",                                         [("calculate", {"expression": "3 * 4"})]),
    ("What is the weather in Paris?",                 [("get_weather", {"city": "Paris"})]),
    ("weather for New York in fahrenheit",            [("get_weather", {"city": "New York",
                                                                        "unit": "fahrenheit"})]),
    ("send an email to bob@x.example with subject 'Hello there'",
     [("send_email", {"recipient": "bob@x.example", "subject": "Hello there"})]),
    # several at once
    ("list my tasks and the time",                    [("list_tasks", {}), ("current_time", {})]),
    ("show the customers, the orders and what is 2+2",
     [("list_customers", {}), ("list_sales_orders", {}), ("calculate", {"expression": "2+2"})]),
]
# fmt: on


@pytest.mark.parametrize(("said", "calls"), FIRST, ids=[said for said, _ in FIRST])
def test_what_is_said_leads_to_these_calls(said, calls):
    assert first_calls(said, ALL_TOOLS) == calls


# fmt: off
HANDED_OVER = [
    ("create an invoice for Adatum",             "transfer_to_erp"),
    ("which customers do we have?",              "transfer_to_erp"),
    ("show me my tasks",                         "transfer_to_tasks"),
    ("remind me to call Bob",                    "transfer_to_tasks"),
    ("what does the handbook say on holidays?",  "transfer_to_knowledge"),
    ("summarize the PDF",                        "transfer_to_knowledge"),
    ("hello",                                    None),
    ("what is the meaning of life?",             None),
]
# fmt: on


@pytest.mark.parametrize(("said", "agent"), HANDED_OVER)
def test_a_supervisor_hands_over_by_what_is_said(said, agent):
    assert [name for name, _ in first_calls(said, HAND_OFFS)] == ([agent] if agent else [])


def test_a_hand_off_before_does_not_confuse_the_agent_that_takes_over():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    call = {"type": "tool_use", "id": "toolu_1", "name": "transfer_to_tasks", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Transferred"}
    chat.messages = [
        {"role": "user", "content": "show me my tasks"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    reply = chat.next()
    assert [block.name for block in reply.blocks[1:]] == ["list_tasks"]


# --- what it means depends on what was said before ---

# fmt: off
# said one after the other             the calls of the last one
THEN = [
    (["show my tasks", "complete the second one"],     [("complete_task", {"task_id": 12})]),
    (["show my tasks", "delete the last task"],        [("delete_task", {"task_id": 13})]),
    (["show my tasks", "delete task 13"],              [("delete_task", {"task_id": 13})]),
    (["show my tasks", "delete task 3"],               [("delete_task", {"task_id": 13})]),
    (["show my tasks", "tick off call bob"],           [("complete_task", {"task_id": 12})]),
    (["show my tasks", "rename Buy milk to Buy bread"],
     [("update_task", {"task_id": 11, "title": "Buy bread"})]),
    (["add task Pay rent", "complete it"],             [("complete_task", {"task_id": 14})]),
    (["add task Pay rent", "delete that"],             [("delete_task", {"task_id": 14})]),
    (["complete buy milk"],                            [("list_tasks", {}),
                                                        ("complete_task", {"task_id": 11})]),
    (["I finished the report"],                        [("list_tasks", {}),
                                                        ("complete_task", {"task_id": 13})]),
    (["add a task", "Water the plants"],
     [("add_task", {"title": "Water the plants"})]),
    (["add a task", "never mind"],                     []),
    (["add a task", "show my tasks"],                  [("list_tasks", {})]),
    (["create customer Test Corp", "set its email to a@b.example"],
     [("update_customer", {"customer_id": "c-9", "email": "a@b.example"})]),
    (["find customer Adatum", "create an invoice with 2 lamps"],
     [("find_item", {"query": "lamp"}),
      ("create_sales_invoice", {"customer_id": "c-1",
                                "lines": [{"item_id": "i-3", "quantity": 2}]})]),
    (["create an invoice for Trey Research", "2 lamps and one Athens desk at 950"],
     [("find_item", {"query": "lamp"}), ("find_item", {"query": "Athens desk"}),
      ("create_sales_invoice", {"customer_id": "c-2", "lines": [
          {"item_id": "i-3", "quantity": 2},
          {"item_id": "i-1", "quantity": 1, "unit_price": 950}]})]),
    (["show the customers", "what's the city of the second one?"],   []),
]
# fmt: on


@pytest.mark.parametrize(("said", "calls"), THEN, ids=[" / ".join(said) for said, _ in THEN])
def test_what_was_said_and_returned_before_counts(said, calls):
    chat = Chat(ALL_TOOLS, tasks("Buy milk", "Call Bob", "Write report"))
    for one in said:
        chat.called()
        chat.say(one)
    assert chat.called() == calls


def test_a_plan_of_several_steps_is_carried_out():
    chat = Chat(ERP_TOOLS)
    told = chat.say("find customer Adatum and create an invoice for 3 chairs due 2026-12-01")
    lines = [{"item_id": "i-2", "quantity": 3}]
    assert chat.called() == [
        ("find_customer", {"query": "Adatum"}),
        ("find_item", {"query": "chair"}),
        ("create_sales_invoice", {"customer_id": "c-1", "lines": lines, "due_date": "2026-12-01"}),
    ]
    assert "578.40" in told
    chat.say("post it")
    assert chat.called() == [("post_sales_invoice", {"invoice_id": "inv-1"})]
    assert chat.box.invoices[0]["status"] == "Open"


def test_nothing_follows_a_step_that_failed():
    chat = Chat(ERP_TOOLS)
    chat.say("create an invoice for Adatum with 2 lamps")
    chat.box.broken["create_sales_invoice"] = "User rejected"
    told = chat.say("create an invoice for Trey Research with 1 lamp and post it")
    assert [name for name, _ in chat.called()][-1] == "create_sales_invoice"
    assert chat.box.invoices[0]["status"] == "Draft"
    assert "did not create the sales invoice" in told
    assert "did not do the rest" in told


def test_one_call_at_a_time_where_the_request_says_so():
    choice = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    chat = Chat(TASK_TOOLS, tasks("a task", "another", "a third"), choice)
    told = chat.say("delete all my tasks")
    counts = [sum(b["type"] == "tool_use" for b in m["content"]) for m in chat.messages[1::2]]
    assert counts == [1, 1, 1, 1, 1, 0]
    assert "Verified: your task list is now empty." in told


def test_a_tool_that_must_be_called_is_called():
    forced = {"tool_choice": {"type": "tool", "name": "get_customer"}}
    some = {"tool_choice": {"type": "any"}}
    none = {"tool_choice": {"type": "none"}}
    ask = [{"role": "user", "content": "Hi"}]
    names = [
        [getattr(block, "name", None) for block in Chat(ERP_TOOLS, Box(), body, ask).next().blocks]
        for body in (forced, some, none)
    ]
    assert names == [[None, "get_customer"], [None, "list_all_entities"], [None]]


# --- tools that want more than an id: as Business Central's tools do ---

TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
CAREFUL_TOOLS = [
    spec("find_customer", "Find customers by name.", "text", text=TEXT, limit=INTEGER),
    spec("get_customer", "One customer.", "number", number=TEXT),
    spec(
        "update_customer",
        "Change a customer. Read it with get_customer first.",
        "number current_name etag",
        **dict.fromkeys(("number", "current_name", "etag", "name", "city"), TEXT),
    ),
    spec("find_invoice", "Invoices, newest first.", "", customer_number=TEXT),
    spec("get_invoice", "One invoice.", "number", number=TEXT),
    spec(
        "post_invoice",
        "Post a draft.",
        "invoice_id number customer_name total_including_tax",
        invoice_id={"type": "string", "pattern": "^[0-9a-f-]{36}$"},
        number=TEXT,
        customer_name=TEXT,
        total_including_tax=NUMBER,
    ),
]
FOUND = {"customers": [{"number": "10000", "displayName": "Adatum"}], "count": 1, "hasMore": False}
INVOICE = {
    "id": "cc469fd4-0a04-528e-9984-186b616b5ac2",
    "number": "1001",
    "customerName": "Adatum",
    "totalAmountIncludingTax": 12.5,
}


def careful():
    chat = Chat(CAREFUL_TOOLS)
    chat.box._find_customer = lambda text: FOUND
    chat.box._get_customer = lambda number: FOUND["customers"][0] | {"etag": 'W/"7"'}
    chat.box._update_customer = lambda number, **changes: FOUND["customers"][0] | changes
    chat.box._get_invoice = lambda number: INVOICE
    chat.box._find_invoice = lambda customer_number=None: {"invoices": [INVOICE], "count": 1}
    chat.box._post_invoice = lambda **args: INVOICE | {"status": "Open"}
    return chat


@pytest.mark.parametrize("first", [["find customer Adatum"], []])
def test_a_record_is_read_anew_for_what_a_change_must_confirm(first):
    chat = careful()
    for said in first:
        chat.say(said)
    chat.called()
    chat.say("change the city of Adatum to Berlin")
    change = {"number": "10000", "current_name": "Adatum", "etag": 'W/"7"', "city": "Berlin"}
    look_up = [] if first else [("find_customer", {"text": "Adatum"})]
    read = ("get_customer", {"number": "10000"})
    assert chat.called() == [*look_up, read, ("update_customer", change)]


def test_a_number_leads_to_the_id_that_a_tool_wants():
    chat = careful()
    chat.say("post invoice 1001")
    confirmed = {"number": "1001", "customer_name": "Adatum", "total_including_tax": 12.5}
    posted = {"invoice_id": INVOICE["id"], **confirmed}
    assert chat.called() == [("get_invoice", {"number": "1001"}), ("post_invoice", posted)]


def test_whose_records_are_wanted_narrows_a_list():
    chat = careful()
    chat.say("find customer Adatum")
    chat.say("show me the invoices of Adatum")
    assert chat.called()[-1] == ("find_invoice", {"customer_number": "10000"})


def test_wrapped_lists_and_plain_ids_work_as_well():
    box = tasks("Buy milk", "Call Bob")
    by_id = {"id": INTEGER}
    chat = Chat(
        [
            spec("list_tasks", "The user's tasks."),
            spec("delete_task", "Delete a task for good.", "id", **by_id),
            spec("update_task", "Change a task.", "id", **by_id, title=TEXT, completed=FLAG),
        ],
        box,
    )
    box._list_tasks = lambda: {"tasks": box.tasks, "count": len(box.tasks)}
    box._delete_task = lambda id: box.tasks.remove(box._task(id)) or {"id": id, "deleted": True}
    box._update_task = lambda id, **changes: box._task(id) | changes
    chat.say("mark call bob as not done")
    assert chat.called()[-1] == ("update_task", {"id": 12, "completed": False})
    assert "I deleted all 2 tasks. Verified: your task list is now empty." in chat.say(
        "delete all my tasks"
    )


# --- arithmetic ---


def test_arithmetic_can_be_said_in_words_and_goes_on():
    chat = Chat(OTHER_TOOLS)
    for said in ("what is 17 times 23?", "and divided by 4?", "what is 19% of 250?"):
        chat.say(said)
    expressions = [args["expression"] for _, args in chat.called()]
    assert expressions == ["17 * 23", "391 / 4", "250 * 19 / 100"]
