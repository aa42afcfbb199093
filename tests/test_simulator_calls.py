"""Which tools the conversational simulator calls for what people say: one table."""

import pytest
from sim_tools import ALL_TOOLS, ERP_TOOLS, HAND_OFFS, TASK_TOOLS, Box, Chat, first_calls, tasks

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
