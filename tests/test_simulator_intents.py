"""What is said to the conversational simulator, and which tools it calls for it: one table.

[] means that it called nothing: the text is in the answer instead.
"""

import pytest
from sim_tools import ALL_TOOLS, ERP_TOOLS, Box, Chat, tasks

from turnlog.simulator.conversation import patterns, reading
from turnlog.simulator.conversation.intents import TABLE

MILK, BOB = {"title": "Buy milk"}, {"title": "call Bob"}
ADATUM, DESK = {"text": "Adatum"}, {"text": "Athens desk"}
LISTED = ("list_tasks", {})

# fmt: off
# what is said                                        all calls of the turn
DONE = [
    ("show me my tasks",                              [LISTED]),
    ("Hello! Could you please list all my tasks?",    [LISTED]),
    ("please list all my tasks",                      [LISTED]),
    ("What's on my list?",                            [LISTED]),
    ("what is on my to-do list?",                     [LISTED]),
    ("how many tasks do I have",                      [LISTED]),
    ("which tasks are still open?",                   [LISTED]),
    ("add a task to buy eggs, milk and bread",
     [("add_task", {"title": "buy eggs, milk and bread"})]),
    ("Add task Buy milk",                             [("add_task", MILK)]),
    ('create a new task called "Buy milk"',           [("add_task", MILK)]),
    ("add a task: Buy milk",                          [("add_task", MILK)]),
    ("Remind me to call Bob!",                        [("add_task", BOB)]),
    ("Don't forget to call Bob",                      [("add_task", BOB)]),
    ("remind me to call Dr. Smith",                   [("add_task", {"title": "call Dr. Smith"})]),
    ('remind me to read "Dune"',                      [("add_task", {"title": 'read "Dune"'})]),
    ('add a task “call Bob and delete task 11”',
     [("add_task", {"title": "call Bob and delete task 11"})]),
    ("add tasks: A, B and C",                         [("add_task", {"title": "A"}),
                                                       ("add_task", {"title": "B"}),
                                                       ("add_task", {"title": "C"})]),
    ('add "milk and bread" to my list',               [("add_task", {"title": "milk and bread"})]),
    ("put eggs, milk on my list",                     [("add_task", {"title": "eggs"}),
                                                       ("add_task", {"title": "milk"})]),
    ("delete task 11",                                [("delete_task", {"id": 11})]),
    ("complete task #12 please",                      [("complete_task", {"id": 12})]),
    ("mark task 12 as done",                          [("complete_task", {"id": 12})]),
    ("complete buy milk",                             [LISTED, ("complete_task", {"id": 11})]),
    ("rename Buy milk to Buy bread",
     [LISTED, ("update_task", {"id": 11, "title": "Buy bread"})]),
    ("complete task 11 and delete task 12",           [("complete_task", {"id": 11}),
                                                       ("delete_task", {"id": 12})]),
    ("show my tasks\nremind me to call Bob",          [LISTED, ("add_task", BOB)]),
    ("delete all my tasks",                           [LISTED, ("delete_task", {"id": 11}),
                                                       ("delete_task", {"id": 12}), LISTED]),
    ("find the customer Adatum",                      [("find_customer", ADATUM)]),
    ("look up client 10000",                          [("get_customer", {"number": "10000"})]),
    ("show me item 1896-S",                           [("get_item", {"number": "1896-S"})]),
    ("list our customers",                            [("find_customer", {})]),
    ("show me the customer list",                     [("find_customer", {})]),
    ("how many items are there?",                     [("find_item", {})]),
    ("show me the draft invoices",
     [("find_sales_invoice", {"status": "Draft"})]),
    ("what is the balance of Adatum?",                [("find_customer", ADATUM)]),
    ("how much does Adatum owe us?",                  [("find_customer", ADATUM)]),
    ("What does the Athens desk cost?",               [("find_item", DESK)]),
    ("what does the Athens desk cost and how many are in stock?",
     [("find_item", DESK)]),
    ("create a customer called Blue Bay in Portland",
     [("create_customer", {"name": "Blue Bay", "city": "Portland"})]),
    ('create customer "Salt, Sand & Sea" in Portland',
     [("create_customer", {"name": "Salt, Sand & Sea", "city": "Portland"})]),
    ("delete the customer Adatum Corporation",
     [("find_customer", {"text": "Adatum Corporation"}), ("get_customer", {"number": "10000"}),
      ("delete_customer", {"number": "10000", "current_name": "Adatum Corporation",
                           "etag": 'W/"7"'})]),
    ("create an invoice for Adatum with 2 Athens desks and 1 lamp",
     [("find_customer", ADATUM), ("find_item", DESK), ("find_item", {"text": "lamp"}),
      ("create_sales_invoice", {"customer_number": "10000", "customer_name": "Adatum Corporation",
                                "lines": [{"item_number": "1896-S", "quantity": 2},
                                          {"item_number": "1928-S", "quantity": 1}]})]),
    ("list all BC entities",                          [("list_all_entities", {})]),
    ("what time is it?",                              [("current_time", {})]),
    ("What is 15% of 240?",                           [("calculate", {"expression":
                                                                      "15 / 100 * 240"})]),
    ("12.5 + 3",                                      [("calculate", {"expression": "12.5 + 3"})]),
    ("what is 17 times 23?",                          [("calculate", {"expression": "17 * 23"})]),
    ("calculate (3 + 4) x 2.5",                       [("calculate", {"expression":
                                                                      "(3 + 4) * 2.5"})]),
    ("what time is it and what is 2 + 2?",            [("current_time", {}),
                                                       ("calculate", {"expression": "2 + 2"})]),
    ('use get_weather {"city": "Bern"}',              [("get_weather", {"city": "Bern"})]),
    ("Use get_weather “Bern”.",                       [("get_weather", {"city": "Bern"})]),
    ('use refund_payment {"payment_id": "120", "amount": "5"}',
     [("refund_payment", {"payment_id": "120", "amount": "5"})]),
    ('please use add_task {"title":\n "Buy milk"}\nuse complete_task 12\nuse current_time',
     [("add_task", MILK), ("complete_task", {"id": 12}), ("current_time", {})]),
]
# what is said                                        what it answers, without any call
ASKED = [
    ("12,5 + 3",                                      "cannot tell what the comma means"),
    ("what is 1,200 + 3?",                            "cannot tell what the comma means"),
    ("100 + 10%",                                     "percent only as in"),
    ("what is 2026-11-16?",                           "a date from a sum"),
    ("2 ^ 10",                                        "only numbers, + - * /"),
    ("1 200 + 3",                                     "only numbers, + - * /"),
    ("1 / 0",                                         "only numbers, + - * /"),
    ("add A, B and C",                                "Then say: add tasks: A, B and C"),
    ("add a task A, B and C",                         "one task or several?"),
    ("add milk and bread to my list",                 "one task or several?"),
    ("add a task",                                    "What should the task be called?"),
    ("add a task to",                                 "What should the task be called?"),
    ("create a customer called",                      "What should the customer be called?"),
    ("add a task to my list",                         "What should the task be called?"),
    ("remind me to call Bob and delete task 11",      "one thing or several?"),
    ("add tasks: A, B and delete task 11",            "one thing or several?"),
    ("remind me to call Bob, remind me to call Ann",  "one thing or several?"),
    ("remind me to call Bob and a reminder to call Ann", "one task or several?"),
    ("complete it",                                   "Which task should I complete?"),
    ("delete the task that",                          "Which task should I delete?"),
    ("complete the second one",                       "Which task should I complete?"),
    ("create a customer",                             "What should the customer be called?"),
    ("create a customer called Ada, phone 555 1234",  "put the name in quotes"),
    ("create a customer called Ada in Rome with email a@b.example", "put the name in quotes"),
    ("create an invoice for Adatum",                  "how many, and of what?"),
    ("create an invoice for Adatum with a lamp",      "how many, and of what?"),
    ("post it",                                       "Which sales invoice do you mean?"),
    ("find the invoice of Adatum",                    "Which sales invoice do you mean?"),
    ("use refund_payment 120 now",                    'use refund_payment {"payment_id": "…"}'),
    ('use send_email "bob@x.example"',                'use send_email {"recipient": "…", "subject'),
    ("use update_task [1, 2",                         'use update_task {"id": 1}'),
    ("use .",                                         "no tool “” here. There are: add"),
    ("use fly_to_moon {}",                            "no tool “fly_to_moon” here. There are: add"),
    # nothing that it can read: it says so, and how to put it
    ("refund payment 120",                            'use refund_payment {"payment_id": "…"}'),
    ("what's the weather in Bern?",                   'use get_weather {"city": "…"}'),
    ("send an email to bob@x.example",                'use send_email {"recipient": "…"'),
    ("delete tasks 11 and 12",                        "I do not guess"),
    ("delete task 11 or 12",                          "I do not guess"),
    ("delete task 11 and 12",                         "I do not guess"),
    ("find a customer in Boston",                     "I do not guess"),
    ("find the customer with the highest balance",    "I do not guess"),
    ("delete my tasks",                               "I do not guess"),
    ("don't delete task 11",                          "I do not guess"),
    ("remind me to call Bob. Then we will see",       "I do not guess"),
    ("show my tasks\nand dance",                      "I do not guess"),
    ("show my tasks\n" + "\n" * 500 + "and dance",     "I do not guess"),
    ("who owes us the most?",                         "I do not guess"),
    ("what is 42?",                                   "I do not guess"),
    ("Tell me a joke",                                "I do not guess"),
    ("delete all vendors",                            "I do not guess"),
    ("find the vendor Contoso",                       "I was offered no tool for"),
    ("search the web for VAT",                        "I was offered no tool for"),
    # nothing to do
    ("hi",                                            "Hello!"),
    ("thanks a lot",                                  "You're welcome!"),
    ("never mind",                                    "I do nothing"),
    ("what did I just ask?",                          "the first thing"),
]
# A read comes first, and shows that it is not clear.
UNCLEAR = [
    ("delete the customer Trey",                      [("find_customer", {"text": "Trey"})],
     "Which customer do you mean by “Trey”"),
    ("bill Trey for 2 lamps",                         [("find_customer", {"text": "Trey"}),
                                                       ("find_item", {"text": "lamp"})],
     "Which customer do you mean by “Trey”"),
    ("bill Adatum for 2 sofas",                       [("find_customer", ADATUM),
                                                       ("find_item", {"text": "sofa"})],
     "I found no item for “sofa”"),
    ("complete the milk",                             [LISTED], "Which task should I complete?"),
    ("delete the task all of them",                   [LISTED], "Which task should I delete?"),
]
# fmt: on


def turn(*questions):
    """The calls of the last question, and the answer to it."""
    chat = Chat(ALL_TOOLS, tasks("Buy milk", "Call Bob"))
    for question in questions:
        chat.called()
        text = chat.say(question)
    return chat.called(), text


@pytest.mark.parametrize(("question", "calls"), DONE)
def test_it_does_what_is_said(question, calls):
    assert turn(question)[0] == calls


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_it_asks_or_says_what_it_can_do_and_calls_nothing(question, answer):
    calls, text = turn(question)
    assert calls == []
    assert answer in text


@pytest.mark.parametrize(("question", "calls", "answer"), UNCLEAR)
def test_it_writes_nothing_while_a_name_may_mean_two_things(question, calls, answer):
    made, text = turn(question)
    assert made == calls
    assert answer in text


def test_the_table_is_long_enough_to_mean_something():
    assert len(DONE) + len(ASKED) + len(UNCLEAR) >= 100
    assert len(ASKED) >= 40


@pytest.mark.parametrize(
    "part", ["add a task to a, ", "rename a to b, ", "1 + 1, ", "bill a for 1 b and "]
)
def test_a_hostile_sentence_is_not_taken_apart_without_end(part, monkeypatch):
    """Counted in rows that are tried: each part of a sentence with each row, twice at most."""
    tries = []
    monkeypatch.setattr(reading, "values", lambda *row: tries.append(row) or patterns.values(*row))
    for cuts in range(1, 20):
        tries.clear()
        turn(part * cuts + "“")
        assert len(tries) <= 28 * 2 * sum(map(len, TABLE.values())) * 3


# fmt: off
# said one after the other             the calls of the last one
THEN = [
    (["show my tasks", "complete the second one"],         [("complete_task", {"id": 12})]),
    (["show my tasks", "delete the task last one"],        [("delete_task", {"id": 12})]),
    (["show my completed tasks", "complete the first one"], []),  # another list than it looks
    (["show my tasks", "delete task 11", "complete the first one"], []),
    (["add task Pay rent", "complete it"],                 [("complete_task", {"id": 13})]),
    (["add tasks: A, B", "complete it"],                   []),  # which of the two?
    (["delete task 11", "complete it"],                    []),
    (["add a task", "Water the plants"],   [("add_task", {"title": "Water the plants"})]),
    (["add a task", "never mind"],                         []),
    (["add a task", "I don't know"],                       []),
    (["add a task", "what time is it?"],                   [("current_time", {})]),
    (["complete it", "Buy milk"],                          [LISTED, ("complete_task", {"id": 11})]),
    (["create a customer", "Blue Bay in Portland"],
     [("create_customer", {"name": "Blue Bay", "city": "Portland"})]),
    (["bill Adatum for 2 lamps", "what is the status of that invoice?"],
     [("get_sales_invoice", {"number": "1001"})]),
    (["bill Adatum for 2 lamps", "post it"],
     [("get_sales_invoice", {"number": "1001"}),
      ("post_sales_invoice", {"invoice_id": "inv-1001", "number": "1001",
                              "customer_name": "Adatum Corporation",
                              "total_including_tax": 109.8, "currency_code": "USD",
                              "etag": "E1001"})]),
    (["find the customer Trey", "what is the balance of it?"], []),  # two were found
]
# fmt: on


@pytest.mark.parametrize(("questions", "calls"), THEN, ids=[" / ".join(row[0]) for row in THEN])
def test_what_was_said_and_shown_before_counts(questions, calls):
    assert turn(*questions)[0] == calls


def test_nothing_follows_a_step_that_failed():
    chat = Chat(ERP_TOOLS, Box(broken={"create_sales_invoice": "User rejected"}))
    text = chat.say("bill Adatum for 2 lamps and post it")
    assert chat.called()[-1][0] == "create_sales_invoice"
    assert "did not run create_sales_invoice" in text
    assert text.endswith("So I stopped there, and did not do the rest.")
