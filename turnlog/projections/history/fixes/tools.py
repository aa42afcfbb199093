"""Gives every call its one result, and every result its call."""

import re
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import msgspec

from turnlog.projections.history.blocks import SERVER_CALLS
from turnlog.projections.history.checks import tools as check
from turnlog.projections.history.request import (
    Json,
    Placed,
    Request,
    as_blocks,
    each_block,
    is_block,
    is_message,
    word,
)

NO_RESULT = (
    "There is no result: this call was cut off, or its result was erased."
    " It may or may not have taken effect."
)


def give_input(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        block = placed.block
        called = block["type"] in ("tool_use", *SERVER_CALLS)
        wrong = called and not isinstance(block.get("input"), dict)
        return [block | {"input": _as_object(block.get("input"))} if wrong else block]

    return each_block(request, change)


def _as_object(value: Any) -> Json:
    """Some keep the arguments as JSON text."""
    try:
        found = msgspec.json.decode(value) if isinstance(value, str) else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# --- names and ids ---


def make_names_plain(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        return [
            _plainly_named(placed.block) if placed.block["type"] == "tool_use" else placed.block
        ]

    body = each_block(request, change)
    own = {at for at, _ in check.own_tools(request)}
    if own:
        tools = enumerate(body["tools"])
        body |= {"tools": [_plainly_named(t) if f"tools.{i}" in own else t for i, t in tools]}
    if isinstance(choice := body.get("tool_choice"), dict) and "name" in choice:
        body |= {"tool_choice": _plainly_named(choice)}
    return body


def _plainly_named(named: Json) -> Json:
    return _with(named, "name", plain_name(word(named, "name")))


def make_names_unique(request: Request) -> Json:
    """The first keeps its name. A second of the same definition goes, another gets a number."""
    taken = {word(tool, "name"): 1 for _, tool in check.own_tools(request)}
    first: dict[str, Json] = {}
    again: dict[str, list[Json]] = {}
    for at, tool in check.own_tools(request):
        name = word(tool, "name")
        if name not in first:
            first[name] = tool
        else:
            same = tool == first[name]
            again[at] = [] if same else [tool | {"name": _unused(name[:120], taken)}]
    tools = enumerate(request.body["tools"])
    return request.body | {
        "tools": [own for index, tool in tools for own in again.get(f"tools.{index}", [tool])]
    }


def plain_name(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128] or "unnamed"


def make_ids_plain(request: Request) -> Json:
    """The same id stays the same: its result is renamed with it."""

    def change(placed: Placed) -> list[Json]:
        block = placed.block
        if block["type"] in ("tool_use", *SERVER_CALLS):
            return [_with(block, "id", _plain_id(word(block, "id")))]
        if block["type"].endswith("tool_result"):
            return [_with(block, "tool_use_id", _plain_id(word(block, "tool_use_id")))]
        return [block]

    return each_block(request, change)


def _plain_id(id: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id) or "toolu_unnamed"


def _with(block: Json, name: str, value: str) -> Json:
    return block if block.get(name) == value else block | {name: value}


def make_ids_unique(request: Request) -> Json:
    """A second call gets an id of its own, and so does its result in the next message."""
    taken = {word(placed.block, "id"): 1 for placed in request.of("tool_use")}
    seen: set[str] = set()
    given: dict[tuple[int, str], deque[str]] = defaultdict(deque)

    def change(placed: Placed) -> list[Json]:
        block = placed.block
        if block["type"] == "tool_use":
            id = word(block, "id")
            own = id if id not in seen else _unused(id, taken)
            seen.add(id)
            given[placed.message + 1, id].append(own)
            return [_with(block, "id", own)]
        waiting = given.get((placed.message, word(block, "tool_use_id")))
        answers = block["type"] == "tool_result" and waiting
        return [_with(block, "tool_use_id", waiting.popleft()) if answers and waiting else block]

    return each_block(request, change)


def _unused(name: str, taken: dict[str, int]) -> str:
    """The name with the next number that nobody has. `taken` remembers how far that is."""
    number = taken.get(name, 1) + 1
    while f"{name}_{number}" in taken:
        number += 1
    taken[name] = number
    taken[f"{name}_{number}"] = 1
    return f"{name}_{number}"


# --- pairs ---


def answer_calls(request: Request) -> Json:
    """By its result, where that stands in a later message; or by one that says there is none."""
    astray = _astray(request)
    moved: set[str] = set()
    results: dict[int, list[Json]] = defaultdict(list)
    for call in check.unanswered(request):
        found = next(
            (r for r in astray.get(word(call.block, "id"), ()) if _fits(r, call, moved)), None
        )
        results[call.message].append(found.block if found else no_result(word(call.block, "id")))
        moved |= {found.at} if found else set()
    left = Request(each_block(request, lambda p: [] if p.at in moved else [p.block]))
    return left.with_messages(_inserted(left.messages, results))


def _astray(request: Request) -> dict[str, list[Placed]]:
    found: dict[str, list[Placed]] = defaultdict(list)
    for placed in check.orphans(request):
        found[word(placed.block, "tool_use_id")].append(placed)
    return found


def _fits(result: Placed, call: Placed, moved: set[str]) -> bool:
    return result.message > call.message and result.at not in moved


def _inserted(messages: Iterable[Any], results: dict[int, list[Json]]) -> list[Any]:
    """The results at the head of the user's next message; in a new one where that is missing."""
    told: list[Any] = []
    waiting: list[Json] = []
    for index, message in enumerate(messages):
        if waiting and is_message(message) and message["role"] == "user":
            message = message | {"content": waiting + as_blocks(message["content"] or [])}
        elif waiting:
            told.append({"role": "user", "content": waiting})
        told.append(message)
        waiting = results.get(index, [])
    return [*told, {"role": "user", "content": waiting}] if waiting else told


def no_result(call: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": True}


def drop_orphans(request: Request) -> Json:
    return _without(request, check.orphans(request))


def drop_repeated_results(request: Request) -> Json:
    """The first one stays: it is what the model went on from."""
    again = {at for at, _ in check.results_are_single(request)}
    return each_block(request, lambda p: [] if p.at in again else [p.block])


def put_results_first(request: Request) -> Json:
    messages = list(request.messages)
    for index in {int(at.split(".")[1]) for at, _ in check.results_come_first(request)}:
        content = messages[index]["content"]
        messages[index] = messages[index] | {"content": sorted(content, key=_is_no_result)}
    return request.with_messages(messages)


def _is_no_result(block: Any) -> bool:
    return not (is_block(block) and block["type"] == "tool_result")


def keep_text_of_failures(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        block = placed.block
        if block["type"] != "tool_result" or not block.get("is_error") or not check.parts(block):
            return [block]
        return [block | {"content": [part for part in check.parts(block) if check.is_text(part)]}]

    return each_block(request, change)


def drop_half_server_tools(request: Request) -> Json:
    return _without(request, check.half_server_tools(request))


def _without(request: Request, dropped: Iterable[Placed]) -> Json:
    places = {placed.at for placed in dropped}
    return each_block(request, lambda p: [] if p.at in places else [p.block])
