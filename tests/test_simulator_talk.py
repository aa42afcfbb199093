"""What the conversational simulator says: greetings, true counts, failures told as failures."""

import json

import pytest
from sim_tools import ALL_TOOLS, ERP_TOOLS, TASK_TOOLS, Chat, spec, tasks
from test_simulator_calls import careful

from turnlog.simulator import Text, Thinking


def test_the_first_answer_and_every_greeting_say_that_it_is_a_simulation():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.say("show me my tasks")
    assert "simulated" in chat.messages[1]["content"][0]["text"]
    assert "simul" not in chat.say("how many tasks do I have?")
    assert "simulated" in chat.say("hello again")
    assert "simulated" in chat.say("are you a real model?")


# fmt: off
GREETINGS = [
    ("Hi there!", "Hello!"), ("Guten Morgen", "Hallo!"), ("bonjour", "Bonjour !"),
    ("¡Hola!", "¡Hola!"), ("hola", "¡Hola!"), ("Ciao", "Ciao!"), ("danke schön", "Gern geschehen!"),
    ("merci", "Je vous en prie !"), ("Thank you very much", "You're welcome!"),
    ("wer bist du?", "Ich bin ein simuliertes Claude"), ("bye", "Goodbye!"),
]
# fmt: on


@pytest.mark.parametrize(("said", "answer"), GREETINGS)
def test_a_greeting_is_answered_in_its_language_and_without_tools(said, answer):
    chat = Chat(ALL_TOOLS)
    assert answer in chat.say(said)
    assert chat.called() == []


def test_who_it_is_comes_from_the_system_prompt_and_the_tools():
    chat = Chat(TASK_TOOLS, body={"system": "You are the Todo AI Assistant. Be brief."})
    told = chat.say("what is your name?")
    assert "simulated Claude" in told
    assert "Here I stand in for the Todo AI Assistant." in told
    assert "tasks (add, list, update, complete, delete)" in told


def test_the_same_request_gets_the_same_answer():
    ask = [{"role": "user", "content": "create an invoice for Adatum with 3 chairs"}]
    assert Chat(messages=ask).next() == Chat(messages=ask).next()


# --- results ---


@pytest.mark.parametrize(("count", "head"), [(0, "no tasks."), (1, "1 task:"), (12, "12 tasks:")])
def test_the_count_is_the_true_one(count, head):
    chat = Chat(TASK_TOOLS, tasks(*(f"Task no {at}" for at in range(count))))
    told = chat.say("show me my tasks")
    assert f"You have {head}" in told
    assert told.count("Task no") == count


def test_a_long_list_is_cut_but_its_count_is_not():
    chat = Chat(TASK_TOOLS, tasks(*(f"Task no {at}" for at in range(60))))
    told = chat.say("show me my tasks")
    assert "You have 60 tasks:" in told
    assert told.count("Task no") == 25
    assert "… and 35 more." in told


def test_a_count_without_the_list_when_only_that_is_asked():
    box = tasks("Buy milk", "Call Bob", "Pay rent")
    box.tasks[1]["completed"] = True
    assert (
        Chat(TASK_TOOLS, box)
        .say("how many tasks are there?")
        .endswith("There are 3 tasks (1 completed, 2 open).")
    )


def test_records_with_many_fields_become_a_table_with_a_total():
    told = Chat(ERP_TOOLS).say("show me the customers")
    assert "| # | number | display name | city | balance due | id |" in told
    assert "| 2 | 20000 | Trey Research | Chicago | 0 | c-2 |" in told
    assert "Balance due: 1,200.50." in told


def test_a_page_of_more_says_how_many_there_are_in_all():
    chat = Chat([spec("list_items", "List items.")])
    chat.box._list_items = lambda: {"value": [{"number": "1"}], "@odata.count": 57}
    assert "There are 57 items:" in (told := chat.say("list the items"))
    assert "… and 56 more." in told


def test_a_field_that_is_asked_for_is_all_that_is_told():
    assert Chat(ERP_TOOLS).say("what is the phone number of Trey Research?") == (
        "The phone number of Trey Research is 555-0200."
    )


def test_a_plain_text_is_told_as_it_is():
    assert Chat(ALL_TOOLS).say("weather in Bern").endswith("Sunny in Bern, 21 °C.")


def test_a_list_that_goes_on_is_not_counted_as_whole():
    chat = Chat([spec("find_order", "Sales orders.")])
    chat.box._find_order = lambda: {"orders": [{"number": "1"}], "count": 1, "hasMore": True}
    told = chat.say("how many orders are there?")
    assert "more than 1 order; these are the first 1" in told


def test_the_first_one_is_read_and_not_listed_again():
    chat = careful()
    chat.say("list the invoices")
    chat.say("show the first one")
    assert chat.called()[-1] == ("get_invoice", {"number": "1001"})


def test_a_list_that_cannot_be_read_is_not_told_as_empty():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.box._list_tasks = lambda **_: {"note": "Cut.", "text": '{"tasks": [{"id": 1'}
    assert "I cannot read the list of tasks, so I did nothing." in chat.say("delete all my tasks")


def test_an_empty_list_ends_what_was_known():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.say("delete all my tasks")
    assert "There is no task 1." in chat.say("delete task 1")


# --- failures ---

# fmt: off
FAILURES = [
    ("User rejected",                              "did not delete", "Nothing was changed."),
    ("User rejected: too early",                   "(too early)", "Nothing was changed."),
    ("The approval expired.",                      "nobody approved it in time", "Ask me again"),
    ("In doubt: its process died while it ran.",   "cannot say whether", "Please check"),
    ("There is no task 11.",                       "could not delete", "list the tasks"),
    ("No answer after 60 s: time limit.",          "could not delete", "again in a moment"),
    ("This was not done: it was withdrawn.",       "did not delete", "withdrawn"),
    ("You have no permission for this.",           "could not delete", "Somebody with the right"),
    ("Something odd",                              "Something odd", "tell me what to change"),
    ("",                                           "gave no reason", "tell me what to change"),
]
# fmt: on


@pytest.mark.parametrize(("error", "what", "next_step"), FAILURES)
def test_a_failure_is_told_with_what_to_do_next(error, what, next_step):
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.box.broken["delete_task"] = error
    told = chat.say("delete task 11")
    assert what in told
    assert next_step in told
    assert "Done" not in told
    assert "deleted" not in told


def test_some_failures_among_many_are_counted():
    chat = Chat(TASK_TOOLS, tasks("a task", "another"))
    chat.say("show my tasks")
    run = chat.box.run
    chat.box.run = lambda name, args: run("add_task" if args == {"task_id": 12} else name, args)
    chat.box.broken["add_task"] = "User rejected"
    told = chat.say("delete all my tasks")
    assert "I deleted 1 of 2 tasks." in told
    assert "the other 1 task: the request was rejected" in told
    assert "Verified: 1 task left" in told


def test_nothing_is_claimed_when_the_list_cannot_be_read_again():
    chat = Chat(TASK_TOOLS, tasks("a task"))
    run, listed = chat.box.run, []

    def once(name, args):
        listed.append(name)
        chat.box.broken = {"list_tasks": "unavailable"} if listed.count("list_tasks") > 1 else {}
        return run(name, args)

    chat.box.run = once
    assert "I could not verify it" in chat.say("delete all my tasks")


def test_a_missing_argument_is_asked_for_in_one_sentence():
    chat = Chat(ALL_TOOLS)
    assert chat.say("add a task").endswith("What should the task be called?")
    assert chat.say("get weather").endswith("Which city should I use for the weather?")
    assert "how many, and of what?" in chat.say("create an invoice for Adatum")


def test_several_that_fit_are_asked_about():
    chat = Chat(TASK_TOOLS, tasks("Call Bob", "Call Ann"))
    assert chat.say("complete the call task").endswith(
        "Which task do you mean: “Call Bob”, “Call Ann”?"
    )
    assert "“Call Ann”" in chat.say("Ann")
    assert chat.called()[-1] == ("complete_task", {"task_id": 12})


def test_a_verb_without_a_tool_is_said_to_be_missing():
    told = Chat(ERP_TOOLS).say("delete all customers")
    assert "I have no tool to delete customers, so I did nothing." in told


# --- the conversation itself ---


def test_it_remembers_what_is_in_the_history():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    assert "have not told me" in chat.say("what is my name?")
    chat.say("my name is Ada Lovelace")
    chat.say("show me my tasks")
    assert chat.say("what did I just ask?") == "You asked: “show me my tasks”"
    assert "Ada Lovelace" in chat.say("what is my name?")
    assert chat.say("which tools did you use?") == "I have made 1 tool call: list_tasks (1)."
    assert "6 things" in chat.say("summarize our conversation")


def test_a_story_is_long_enough_to_be_interrupted():
    assert len(Chat([]).say("Tell me a story")) > 5000


def test_an_answer_ends_where_the_request_says():
    chat = Chat([], body={"max_tokens": 10})
    chat.messages = [{"role": "user", "content": "Tell me a story"}]
    cut = chat.next()
    chat.body = {"stop_sequences": ["day 3 "]}
    stopped = chat.next()
    assert (cut.stop_reason, len(cut.blocks[0].text)) == ("max_tokens", 40)
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "day 3 ")
    assert stopped.blocks[0].text.endswith("On ")


@pytest.mark.parametrize("piece", ["delete all ", "and, ", "1+", "a", "\n", "“", "5 of "])
def test_an_endless_question_is_answered_all_the_same(piece):
    assert Chat(ALL_TOOLS).say("add a task " + piece * 100_000)


# --- thinking ---

# fmt: off
THINKING = [
    ("claude-haiku-4-5", None,                                          None),
    ("claude-haiku-4-5", {"type": "disabled"},                          None),
    ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 1024},    "shown"),
    ("claude-opus-5-5",  {"type": "adaptive"},                          "omitted"),
    ("claude-opus-5-5",  {"type": "adaptive", "display": "summarized"}, "shown"),
    ("claude-opus-4-6",  {"type": "adaptive", "display": "omitted"},    "omitted"),
]
# fmt: on


@pytest.mark.parametrize(("model", "thinking", "expected"), THINKING)
def test_thinking_comes_first_when_it_is_on(model, thinking, expected):
    chat = Chat([], body={"model": model, "thinking": thinking})
    chat.messages = [{"role": "user", "content": "Hi"}]
    reply = chat.next()
    first = reply.blocks[0]
    shown = {None: type(first) is Text, "shown": first.text != "", "omitted": first.text == ""}
    assert shown[expected]
    assert isinstance(first, Thinking) == (expected is not None)
    assert (reply.usage.thinking_tokens or 0) > 3 or expected is None


# fmt: off
BETWEEN_TOOLS = [
    ({"type": "adaptive", "display": "summarized"},  "", 3),
    ({"type": "enabled", "budget_tokens": 1024},     "", 1),
    ({"type": "enabled", "budget_tokens": 1024},     "interleaved-thinking-2025-05-14", 3),
    ({"type": "between_tools", "display": "summarized"}, "", 2),
]
# fmt: on


@pytest.mark.parametrize(("thinking", "betas", "thoughts"), BETWEEN_TOOLS)
def test_it_thinks_between_tools_where_the_request_allows_it(thinking, betas, thoughts):
    chat = Chat(TASK_TOOLS, tasks("Buy milk"), {"thinking": thinking}, betas=betas)
    chat.say("complete buy milk")
    assert len(chat.thoughts) == thoughts
    assert "complete_task" in " ".join(chat.thoughts) or thoughts == 1


# --- structured output ---


def test_structured_output_is_json_of_the_schema():
    properties = {"kind": {"enum": ["bug", "wish"]}, "count": {"type": "integer"}}
    schema = {"type": "object", "properties": properties | {"tags": {"type": "array"}}}
    chat = Chat([], body={"output_config": {"format": {"type": "json_schema", "schema": schema}}})
    assert json.loads(chat.say("3 users have a wish")) == {"kind": "wish", "count": 3, "tags": []}
