"""How the conversational simulator calls tools: other people's, other agents', forced ones."""

import pytest
from sim_tools import ERP_TOOLS, HAND_OFFS, TASK_TOOLS, Box, Chat, spec, tasks

LISTED = ("list_tasks", {})

# --- tools of other people ---


def test_a_tool_of_a_known_name_with_other_parameters_is_only_called_by_use():
    chat = Chat([spec("add_task", "title project")])
    assert 'Say: use add_task {"title": "…", "project": "…"}' in chat.say("remind me to call Bob")
    assert chat.called() == []


def test_the_tool_of_the_readme_is_read():
    chat = Chat([spec("get_customer", "name")])
    chat.box._get_customer = lambda name: {"name": name, "balance": 120}
    assert chat.say("What is the balance of customer Adatum?") == "The balance of Adatum is 120."
    assert "- balance: 120" in chat.say('Use get_customer "Adatum"')
    assert chat.called() == [("get_customer", {"name": "Adatum"})] * 2


# --- a team ---

# fmt: off
HANDED_OVER = [
    ("create an invoice for Adatum with 2 desks", "transfer_to_erp",       {}),
    ("which customers pay late?",                 "transfer_to_erp",       {}),
    ("show me my tasks",                          "transfer_to_tasks",     {}),
    ("remind me to call the customer Adatum",     "transfer_to_tasks",     {}),
    ("summarize the PDF",                         "transfer_to_knowledge",
     {"reason": "summarize the PDF"}),
    ("what does the handbook say on holidays?",   "transfer_to_knowledge",
     {"reason": "what does the handbook say on holidays?"}),
]
KEPT = ["hello", "what is 2 + 2?", "what is the meaning of life?", "tasks or invoices?"]
# fmt: on


@pytest.mark.parametrize(("question", "tool", "arguments"), HANDED_OVER)
def test_a_question_goes_to_the_one_agent_that_it_is_for(question, tool, arguments):
    chat = Chat(HAND_OFFS)
    chat.say(question)
    assert chat.called() == [(tool, arguments)]


@pytest.mark.parametrize("question", KEPT)
def test_small_talk_sums_and_what_is_not_clear_are_handed_to_nobody(question):
    chat = Chat(HAND_OFFS)
    chat.say(question)
    assert chat.called() == []


def test_who_has_the_tools_needs_no_other_agent():
    chat = Chat([*TASK_TOOLS, *HAND_OFFS], tasks("Buy milk"))
    chat.say("show me my tasks")
    chat.say("find the customer Adatum")
    assert chat.called() == [LISTED, ("transfer_to_erp", {})]


def test_the_agent_that_takes_over_does_what_was_asked():
    chat = Chat(TASK_TOOLS, tasks("Buy milk"))
    call = {"type": "tool_use", "id": "toolu_1", "name": "transfer_to_tasks", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Transferred"}
    chat.messages = [
        {"role": "user", "content": "show me my tasks"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert [block.name for block in chat.next().blocks[1:]] == ["list_tasks"]


# --- how tools may be called ---


def test_one_call_at_a_time_where_the_request_says_so():
    choice = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    chat = Chat(TASK_TOOLS, tasks("a task", "another", "a third"), choice)
    text = chat.say("delete all my tasks")
    counts = [sum(b["type"] == "tool_use" for b in m["content"]) for m in chat.messages[1::2]]
    assert counts == [1, 1, 1, 1, 1, 0]
    assert "Verified: your task list is now empty." in text


# fmt: off
FORCED = [
    ({"type": "tool", "name": "get_customer"}, [("get_customer", {})]),
    ({"type": "any"},                          [("list_all_entities", {})]),
    ({"type": "none"},                         []),
]
# fmt: on


@pytest.mark.parametrize(("choice", "calls"), FORCED)
def test_a_tool_that_must_be_called_is_called_without_invented_arguments(choice, calls):
    hi = [{"role": "user", "content": "Hi"}]
    blocks = Chat(ERP_TOOLS, Box(), {"tool_choice": choice}, hi).next().blocks
    assert [(b.name, b.input) for b in blocks if hasattr(b, "name")] == calls
