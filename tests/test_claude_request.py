"""What Claude is sent: marks for the prompt cache, tools in order, the searches that are left."""

import msgspec
import pytest

from turnlog.engines.claude.request import NO_MORE_SEARCHES, body_of, counted, without_thoughts
from turnlog.ports import Prompt, ToolSpec
from turnlog.projections.history.lint import RULES
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request
from turnlog.simulator import rules

KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
MARK = {"type": "ephemeral"}


def user(*texts):
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def tool(name):
    return ToolSpec(name=name, description=name, input_schema={"type": "object"})


def call(id):
    return {"type": "tool_use", "id": id, "name": "a", "input": {}}


def result(id):
    return {"type": "tool_result", "tool_use_id": id, "content": "ok"}


def prompt_of(messages, names=("b", "a"), model="claude-sonnet-5-5", **more):
    tools = [tool(name) for name in names]
    given = {"model": model, "system": "Be kind.", "max_tokens": 1000, "tools": tools}
    return Prompt(messages=messages, **given, **more)


def body(*messages, cache="5m", **more):
    """The body of the request for these messages."""
    return body_of(prompt_of(list(messages), **more), cache)


def marked(request):
    """Where the marks are: names of tools, `system`, or (message, block)."""
    places = [tool["name"] for tool in request.get("tools", ()) if "cache_control" in tool]
    if isinstance(request.get("system"), list):
        places += ["system" for block in request["system"] if "cache_control" in block]
    return places + [
        (at, place)
        for at, message in enumerate(request["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def taken(request):
    """The API would take it."""
    rules.check(KEY, msgspec.json.encode(request | {"stream": True}))
    return request


# the prompt cache


def test_the_end_of_everything_that_stays_is_marked():
    request = taken(body(user("One", "Two")))
    assert marked(request) == ["b", "system", (0, 1)]


def test_the_call_before_is_marked_too_so_that_it_is_found_across_many_blocks():
    calls = [call(f"t{n}") for n in range(30)]
    results = {"role": "user", "content": [result(f"t{n}") for n in range(30)]}
    request = taken(body(user("Go"), assistant(*calls), results))
    assert marked(request) == ["b", "system", (0, 0), (2, 29)]


def test_marks_move_on_and_never_become_too_many():
    messages = [user("Go")]
    for n in range(10):
        messages += [assistant(call(f"t{n}")), {"role": "user", "content": [result(f"t{n}")]}]
        places = marked(taken(body(*messages)))
        assert places == ["b", "system", (2 * n, 0), (2 * n + 2, 0)]


def test_a_prompt_without_its_marks_only_grows():
    messages = [user("Go"), assistant(call("t")), {"role": "user", "content": [result("t")]}]
    first, second = (unmarked(body(*messages[:n])) for n in (1, 3))
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    assert second["messages"][:1] == first["messages"]


def unmarked(request):
    text = msgspec.json.encode(request).replace(b',"cache_control":{"type":"ephemeral"}', b"")
    return msgspec.json.decode(text)


def test_marking_changes_no_message_of_the_conversation():
    messages = [user("Go")]
    assert marked(body_of(prompt_of(messages), "5m")) == ["b", "system", (0, 0)]
    assert messages == [user("Go")]


def test_a_paused_answer_is_sent_back_without_a_mark():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    request = taken(body(user("Go"), assistant(search), searches=3))
    assert marked(request) == ["b", "system", (0, 0)]
    assert request["messages"][1] == assistant(search)


def test_a_blank_block_is_not_marked():
    assert marked(body(user("Hi", " "))) == ["b", "system"]


@pytest.mark.parametrize(("cache", "mark"), [("5m", MARK), ("1h", MARK | {"ttl": "1h"})])
def test_a_mark_says_how_long(cache, mark):
    assert body(user("Hi"), cache=cache)["tools"][-1]["cache_control"] == mark


def test_without_the_cache_nothing_is_marked():
    request = body(user("Hi"), cache="off")
    assert (marked(request), request["system"]) == ([], "Be kind.")


def test_tools_come_in_one_order_whoever_lists_them():
    names = [
        [tool["name"] for tool in body(user("Hi"), names=order)["tools"]]
        for order in ("cab", "abc")
    ]
    assert names == [["a", "b", "c"]] * 2


# searches


def search_of(request):
    return [tool for tool in request.get("tools", ()) if "type" in tool]


def test_without_permission_there_is_no_search():
    assert search_of(body(user("Hi"))) == []


def test_a_search_may_be_used_as_often_as_is_left():
    (tool,) = search_of(taken(body(user("Hi"), searches=7)))
    assert tool == {"type": "web_search_20250305", "name": "web_search", "max_uses": 7}


def test_when_none_is_left_the_tool_is_gone_and_the_model_is_told():
    request = taken(body(user("Hi"), searches=0))
    assert search_of(request) == []
    assert [block["text"] for block in request["system"]] == ["Be kind.", NO_MORE_SEARCHES]
    assert marked(request) == ["b", "system", (0, 0)]


def test_a_search_that_was_paused_can_still_be_made():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    request = taken(body(user("Go"), assistant(search), searches=0))
    assert search_of(request)[0]["max_uses"] == 1


def test_the_place_of_the_search_changes_nothing_before_it():
    with_search, without = (body(user("Hi"), searches=n) for n in (3, 0))
    assert with_search["tools"][:-1] == without["tools"]


# the rest


def test_a_container_is_gone_back_to():
    assert taken(body(user("Hi"), container="c1"))["container"] == "c1"
    assert "container" not in body(user("Hi"))


def test_only_what_can_be_counted_is_counted():
    request = counted(body(user("Hi"), container="c1"))
    assert request.keys() == {"model", "messages", "system", "tools", "thinking"}


def test_thoughts_are_left_out_and_what_remains_is_valid():
    thought = {"type": "thinking", "thinking": "Hm", "signature": "s"}
    messages = [user("One"), assistant(thought), user("Two"), assistant(thought, call("t"))]
    messages += [{"role": "user", "content": [result("t")]}]
    thinking = body(*messages, model="claude-haiku-4-5", thinking_budget=2_000)
    request = taken(without_thoughts(thinking))
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert "thinking" not in request


# what a history must be like because of the model and of how it thinks

RESULT = {"role": "user", "content": [result("t")]}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
ENDS = {
    "a question": [],
    "a result": [assistant(call("t")), RESULT],
    "a result after a thought": [assistant(THOUGHT, call("t")), RESULT],
    "a call": [assistant(call("t"))],
    "a word": [assistant({"type": "text", "text": "So "})],
}


@pytest.mark.parametrize("budget", [None, 2_000])
@pytest.mark.parametrize("model", ["haiku-4-5", "sonnet-5", "sonnet-5-5", "opus-5", "opus-5-5"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_the_rules_about_the_model_hold_whether_they_are_asked_or_not(model, budget, end):
    told = [user("Hi"), assistant(THOUGHT, call("s")), {"role": "user", "content": [result("s")]}]
    messages = [*told, assistant({"type": "text", "text": "Ho"}), user("Go"), *end]
    made = body(*messages, model=f"claude-{model}", thinking_budget=budget, cache="off")
    asked = Request(made | {"messages": messages})
    of_the_model = {"thoughts-open-the-tool-loop", "thoughts-need-thinking", "prefill-is-taken",
                    "prefill-ends-without-space"}  # fmt: skip
    assert made["messages"] == repair(asked, RULES.keys() - of_the_model).body["messages"]


@pytest.mark.parametrize("budget", [None, 2000])
def test_no_messages_are_sent_as_none(budget):
    """The API says in its own words what is wrong with that."""
    assert body(model="claude-haiku-4-5", thinking_budget=budget)["messages"] == []
