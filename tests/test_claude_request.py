"""What Claude is sent: marks for the prompt cache, tools in order, the searches that are left."""

import msgspec
import pytest

from turnlog.engines.claude.request import (
    NO_MORE_SEARCHES,
    Requests,
    counted,
    without_thoughts,
)
from turnlog.events import kinds as k
from turnlog.events.content import usage_of
from turnlog.ports import Ask, Said, ToolSpec
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


def requests(names=("b", "a"), cache="5m", model="claude-sonnet-5-5", **more):
    ask = Ask(model=model, system="Be kind.", messages=[], max_tokens=1000, **more)
    return Requests(ask, [tool(name) for name in names], cache)


def answered(searches=0, **more):
    reported = {"server_tool_use": {"web_search_requests": searches}}
    message = k.Message(
        message_id="m",
        blocks=[],
        stop_reason="end_turn",
        model="c",
        token_usage=usage_of(reported),
        reported=reported,
        **more,
    )
    return Said([message])


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
    request = taken(requests().next([user("One", "Two")]))
    assert marked(request) == ["b", "system", (0, 1)]


def test_the_call_before_is_marked_too_so_that_it_is_found_across_many_blocks():
    calls = [call(f"t{n}") for n in range(30)]
    results = {"role": "user", "content": [result(f"t{n}") for n in range(30)]}
    request = taken(requests().next([user("Go"), assistant(*calls), results]))
    assert marked(request) == ["b", "system", (0, 0), (2, 29)]


def test_marks_move_on_and_never_become_too_many():
    messages = [user("Go")]
    for n in range(10):
        messages += [assistant(call(f"t{n}")), {"role": "user", "content": [result(f"t{n}")]}]
        places = marked(taken(requests().next(messages)))
        assert places == ["b", "system", (2 * n, 0), (2 * n + 2, 0)]


def test_a_prompt_without_its_marks_only_grows():
    messages = [user("Go"), assistant(call("t")), {"role": "user", "content": [result("t")]}]
    first, second = (unmarked(requests().next(messages[:n])) for n in (1, 3))
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    assert second["messages"][:1] == first["messages"]


def unmarked(request):
    text = msgspec.json.encode(request).replace(b',"cache_control":{"type":"ephemeral"}', b"")
    return msgspec.json.decode(text)


def test_marking_changes_no_message_of_the_conversation():
    messages = [user("Go")]
    requests().next(messages)
    assert messages == [user("Go")]


def test_a_paused_answer_is_sent_back_without_a_mark():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    request = taken(requests(searches=3).next([user("Go"), assistant(search)]))
    assert marked(request) == ["b", "system", (0, 0)]
    assert request["messages"][1] == assistant(search)


def test_a_blank_block_is_not_marked():
    assert marked(requests().next([user("Hi", " ")])) == ["b", "system"]


@pytest.mark.parametrize(("cache", "mark"), [("5m", MARK), ("1h", MARK | {"ttl": "1h"})])
def test_a_mark_says_how_long(cache, mark):
    assert requests(cache=cache).next([user("Hi")])["tools"][-1]["cache_control"] == mark


def test_without_the_cache_nothing_is_marked():
    request = requests(cache="off").next([user("Hi")])
    assert (marked(request), request["system"]) == ([], "Be kind.")


def test_tools_come_in_one_order_whoever_lists_them():
    names = [
        [tool["name"] for tool in requests(order).next([user("Hi")])["tools"]]
        for order in ("cab", "abc")
    ]
    assert names == [["a", "b", "c"]] * 2


# searches


def search_of(request):
    return [tool for tool in request.get("tools", ()) if "type" in tool]


def test_without_permission_there_is_no_search():
    assert search_of(requests().next([user("Hi")])) == []


def test_a_search_may_be_used_as_often_as_is_left():
    (tool,) = search_of(taken(requests(searches=7).next([user("Hi")])))
    assert tool == {"type": "web_search_20250305", "name": "web_search", "max_uses": 7}


def test_what_a_call_has_searched_is_left_to_the_next_no_more():
    asked = requests(searches=7)
    asked.heard(answered(searches=3))
    assert search_of(asked.next([user("Hi")]))[0]["max_uses"] == 4


def test_when_none_is_left_the_tool_is_gone_and_the_model_is_told():
    asked = requests(searches=2)
    asked.heard(answered(searches=3))
    request = taken(asked.next([user("Hi")]))
    assert search_of(request) == []
    assert [block["text"] for block in request["system"]] == ["Be kind.", NO_MORE_SEARCHES]
    assert marked(request) == ["b", "system", (0, 0)]


def test_a_search_that_was_paused_can_still_be_made():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    request = taken(requests(searches=0).next([user("Go"), assistant(search)]))
    assert search_of(request)[0]["max_uses"] == 1


def test_the_place_of_the_search_changes_nothing_before_it():
    with_search, without = (requests(searches=n).next([user("Hi")]) for n in (3, 0))
    assert with_search["tools"][:-1] == without["tools"]


# the rest


def test_a_container_is_gone_back_to_until_there_is_a_newer_one():
    asked = requests(container="c1")
    assert asked.next([user("Hi")])["container"] == "c1"
    asked.heard(answered(details={"container": {"id": "c2"}}))
    asked.heard(answered())
    assert taken(asked.next([user("Hi")]))["container"] == "c2"


def test_only_what_can_be_counted_is_counted():
    request = counted(requests(container="c1").next([user("Hi")]))
    assert request.keys() == {"model", "messages", "system", "tools", "thinking"}


def test_thoughts_are_left_out_and_what_remains_is_valid():
    thought = {"type": "thinking", "thinking": "Hm", "signature": "s"}
    messages = [user("One"), assistant(thought), user("Two"), assistant(thought, call("t"))]
    messages += [{"role": "user", "content": [result("t")]}]
    asked = requests(model="claude-haiku-4-5", thinking_budget=2_000)
    request = taken(without_thoughts(asked.next(messages)))
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert "thinking" not in request
