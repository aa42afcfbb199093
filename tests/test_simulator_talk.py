"""What the conversational simulator says: greetings, true counts, failures told as failures."""

import re
from datetime import date
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta
from sim_tools import ALL_TOOLS, ERP_TOOLS, OTHER_TOOLS, TASK_TOOLS, Chat, spec, tasks

from turnlog import Agent, create_app
from turnlog.config import Settings
from turnlog.events import kinds as k
from turnlog.projections.history.messages import finding
from turnlog.simulator import Failure, Text, Thinking


def test_the_first_answer_and_every_greeting_say_that_it_is_a_simulation():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.say("show me my tasks")
    assert "simulated" in chat.messages[1]["content"][0]["text"]
    assert "simul" not in chat.say("how many tasks do I have?")
    assert "simulated" in chat.say("hello again")
    assert "simulated" in chat.say("are you a real model?")


# fmt: off
GREETINGS = [
    ("Hi there!", "Hello!"), ("hola", "Hello!"), ("How are you today?", "I'm doing well"),
    ("Thank you very much", "You're welcome!"), ("bye", "Goodbye!"), ("stop", "I do nothing"),
]
# fmt: on


@pytest.mark.parametrize(("question", "answer"), GREETINGS)
def test_a_greeting_is_answered_without_tools(question, answer):
    chat = Chat(ALL_TOOLS)
    assert answer in chat.say(question)
    assert chat.called() == []


def test_what_a_person_found_out_about_a_call_is_no_part_of_the_question():
    chat = Chat(ALL_TOOLS)
    chat.say("hello")
    settled = k.ToolSettled(
        tool_use_id="toolu_1", tool_name="t" * 64, happened=True, decided_by="alice", note="Seen."
    )
    blocks = [{"type": "text", "text": text} for text in (finding(settled), "Thank you very much")]
    assert "You're welcome!" in chat.say(blocks)


def test_who_it_is_comes_from_the_system_prompt_and_the_tools():
    chat = Chat(TASK_TOOLS, body={"system": "You are the Todo AI Assistant. Be brief."})
    text = chat.say("what is your name?")
    assert "simulated Claude" in text
    assert "Here I stand in for the Todo AI Assistant." in text
    assert "- show me my tasks" in text


@pytest.mark.parametrize("tools", [TASK_TOOLS, ERP_TOOLS, OTHER_TOOLS, ALL_TOOLS])
def test_every_example_that_it_gives_works(tools):
    chat = Chat(tools, tasks("Buy milk"))
    lines = [line[2:] for line in chat.say("Hello! What can you do?").splitlines()]
    examples = [line for line in lines if line and "simulated" not in line]
    assert len(examples) >= 3
    for example in examples[-3:]:
        chat.say(example)
        assert chat.called() != [], example


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


def test_only_the_tasks_of_a_status_are_told_and_counted():
    box = tasks("Buy milk", "Call Bob", "Pay rent")
    box.tasks[1]["completed"] = True
    chat = Chat(TASK_TOOLS, box)
    assert chat.say("how many tasks are there?").endswith("You have 3 tasks.")
    assert chat.say("show my open tasks").startswith("You have 2 open tasks:\n\n- Buy milk (open")
    assert chat.say("delete all completed tasks").startswith("I deleted 1 completed task.")
    assert len(box.tasks) == 2


def test_a_record_is_told_with_what_people_ask_for():
    text = Chat(ERP_TOOLS).say("show me the customers")
    assert "There are 3 customers:" in text
    assert "- Trey Research (number 20000, city Chicago, balance due 0)" in text


def test_a_field_that_is_asked_for_is_all_that_is_told():
    chat = Chat(ERP_TOOLS)
    assert chat.say("what is the balance of Adatum?") == (
        "The balance due of Adatum Corporation is 1,200.50."
    )
    assert "has no email" in chat.say("what is the email of Adatum?")


def test_a_plain_text_is_told_as_it_is():
    chat = Chat(ALL_TOOLS)
    assert chat.say('use get_weather "Bern"') == "Sunny in Bern, 21 °C."
    assert "- refunded: 1.125" in chat.say('use refund_payment "120"')


# fmt: off
PAGES = [
    ({"hasMore": True, "total": 57}, "There are 57 items; these are the first 1:"),
    ({"hasMore": True},              "There are more than 1 item; these are the first 1:"),
    ({"hasMore": False},             "There is 1 item:"),
]
# fmt: on


@pytest.mark.parametrize(("page", "head"), PAGES)
def test_a_list_that_goes_on_is_not_counted_as_whole(page, head):
    chat = Chat([spec("find_item")])
    chat.box._find_item = lambda: {"items": [{"number": "1"}], **page}
    assert head in chat.say("list the items")
    assert chat.say("how many items are there?") == re.split("[;:]", head)[0] + "."


@pytest.mark.parametrize("cut", [{"text": '{"tasks": [{"id": 1'}, [{"title": "no id"}], "[1, 2"])
def test_a_list_that_cannot_be_read_is_not_told_as_empty(cut):
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.box._list_tasks = lambda: cut
    assert "I cannot read the list of tasks, so I did nothing." in chat.say("delete all my tasks")


# --- failures ---

# fmt: off
FAILURES = [
    ("User rejected",                            "did not run delete_task", "Nothing was changed."),
    ("User rejected: too early",                 "(too early)", "Nothing was changed."),
    ("The approval expired.",                    "nobody approved it in time", "Ask me again"),
    ("In doubt: its process died while it ran.", "cannot say whether", "Please check"),
    ("There is no task 11.",                     "could not run delete_task", "no task 11"),
    ("This was not done: it was withdrawn.",     "did not run delete_task", "withdrawn"),
    ("",                                         "could not run delete_task", "gave no reason"),
]
# fmt: on


@pytest.mark.parametrize(("error", "what", "more"), FAILURES)
def test_a_failure_is_told_as_a_failure(error, what, more):
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    chat.box.broken["delete_task"] = error
    told = chat.say("delete task 11")
    assert what in told
    assert more in told
    assert "Done" not in told
    assert "deleted" not in told


def test_some_failures_among_many_are_counted():
    chat = Chat(TASK_TOOLS, tasks("a task", "another"))
    chat.say("show my tasks")
    run = chat.box.run
    chat.box.run = lambda name, args: run("add_task" if args == {"id": 12} else name, args)
    chat.box.broken["add_task"] = "User rejected"
    told = chat.say("delete all my tasks")
    assert "I deleted 1 of 2 tasks." in told
    assert "I did not delete 1 task: the request was rejected" in told
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


# --- the conversation itself ---


def test_it_knows_what_was_asked_before():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    assert chat.say("what did I just ask?").endswith("This is the first thing that you ask me.")
    chat.say("show me my tasks")
    assert chat.say("what did I just ask?") == "You asked: “show me my tasks”"


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


class Ticket(msgspec.Struct):
    title: Annotated[str, Meta(max_length=12)]
    urgency: Literal["low", "high"]
    number: Annotated[int, Meta(ge=7, le=9)]
    opened: date
    parts: list["Ticket"] | None
    done: bool = False


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("kind", [Ticket, list[Ticket], dict[str, int], str, int, Ticket | None])
async def test_structured_output_fits_the_schema(kind):
    async with create_app([Agent("a", output=kind)], settings=Settings(), store="memory:") as app:
        result = await app.run_turn("Ticket 12 is of high urgency")
    assert (result.success, result.error) == (True, None)
    if kind is Ticket:
        assert (result.output.urgency, result.output.number) == ("high", 9)


def test_structured_output_that_no_rule_can_make_is_refused():
    schema = {"type": "string", "pattern": "^A+$"}
    asked = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    refused = Chat([], body=asked, messages=[{"role": "user", "content": "Hi"}]).next()
    assert isinstance(refused, Failure)
    assert (refused.status, "must fit a pattern" in refused.message) == (400, True)


# --- sums without a tool ---

# fmt: off
SUMS = [
    ("0.1 + 0.2",             "0.1 + 0.2 = 0.3."),
    ("what is 15% of 240?",   "15% of 240 = 36."),
    ("1/3",                   "1/3 = about 0.3333333333333333333333333333."),
    ("9999999999999999 + 1",  "9999999999999999 + 1 = 10000000000000000."),
    ("(2 - 3.50) × 4",        "(2 - 3.50) × 4 = -6."),
]
# fmt: on


@pytest.mark.parametrize(("question", "answer"), SUMS)
def test_sums_are_exact(question, answer):
    assert Chat([]).say(question).endswith(answer)
