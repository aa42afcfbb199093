"""Tools: every call is answered once, at once, and by nothing else."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from turnlog.projections.history.blocks import SERVER_CALLS, is_server_result
from turnlog.projections.history.request import Found, Json, Placed, Request, is_block, short, word

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def calls_have_input(request: Request) -> Found:
    for placed in request.of("tool_use", *SERVER_CALLS):
        if not isinstance(placed.block.get("input"), dict):
            yield f"{placed.at}.input", "the input of a call is an object"


def names_are_plain(request: Request) -> Found:
    for at, tool in own_tools(request):
        if not NAME.fullmatch(word(tool, "name")):
            yield f"{at}.name", f"{short(tool.get('name'))} cannot be the name of a tool"
    for placed in request.of("tool_use"):
        if not NAME.fullmatch(word(placed.block, "name")):
            yield f"{placed.at}.name", f"{short(placed.block.get('name'))} cannot be a tool's name"


def names_are_unique(request: Request) -> Found:
    counted = Counter(word(tool, "name") for _, tool in own_tools(request))
    for at, tool in own_tools(request):
        if counted[word(tool, "name")] > 1:
            yield f"{at}.name", f"several tools are named {short(tool.get('name'))}"


def own_tools(request: Request) -> Iterator[tuple[str, Json]]:
    """The tools that the caller defines; the provider's own have another type."""
    tools = request.body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type", "custom") == "custom":
            yield f"tools.{index}", tool


def ids_are_plain(request: Request) -> Found:
    for placed in request.of("tool_use", *SERVER_CALLS):
        if not ID.fullmatch(word(placed.block, "id")):
            yield f"{placed.at}.id", f"{short(placed.block.get('id'))} cannot be the id of a call"


def ids_are_unique(request: Request) -> Found:
    seen: set[str] = set()
    for placed in request.of("tool_use"):
        call = word(placed.block, "id")
        if call in seen:
            yield f"{placed.at}.id", f"an earlier call has the id {short(call)} too"
        seen.add(call)


def calls_are_answered(request: Request) -> Found:
    for placed in unanswered(request):
        call = word(placed.block, "id")
        yield placed.at, f"the call {short(call)} has no result in the next message"


def results_answer_a_call(request: Request) -> Found:
    for placed in orphans(request):
        answered = short(word(placed.block, "tool_use_id"))
        yield placed.at, f"the message before has no call {answered} that this could answer"


def unanswered(request: Request) -> list[Placed]:
    """Calls without a result in the next message."""
    given = {(p.message - 1, word(p.block, "tool_use_id")) for p in request.of("tool_result")}
    calls = [(p, word(p.block, "id")) for p in request.of("tool_use")]
    open_calls = request.open_calls
    return [p for p, id in calls if (p.message, id) not in given and id not in open_calls]


def orphans(request: Request) -> list[Placed]:
    """Results without a call in the message before."""
    calls = {(p.message + 1, word(p.block, "id")) for p in request.of("tool_use")}
    results = request.of("tool_result")
    return [p for p in results if (p.message, word(p.block, "tool_use_id")) not in calls]


def results_are_single(request: Request) -> Found:
    seen: set[tuple[int, str]] = set()
    for placed in request.of("tool_result"):
        answered = placed.message, word(placed.block, "tool_use_id")
        if answered in seen:
            yield placed.at, f"the call {short(answered[1])} is answered a second time"
        seen.add(answered)


def results_come_first(request: Request) -> Found:
    other = -1
    for placed in request.blocks if request.of("tool_result") else ():
        if placed.block["type"] != "tool_result":
            other = placed.message
        elif other == placed.message:
            yield placed.at, "something stands before this result in its message"


def failed_results_are_text(request: Request) -> Found:
    for placed in request.of("tool_result"):
        if placed.block.get("is_error") and any(not is_text(p) for p in parts(placed.block)):
            yield f"{placed.at}.content", "a result that is an error holds something but text"


def is_text(part: Any) -> bool:
    return is_block(part) and part["type"] == "text"


def parts(result: Json) -> list[Any]:
    content = result.get("content")
    return content if isinstance(content, list) else []


def server_tools_are_whole(request: Request) -> Found:
    """The provider's own tools: a result comes after its call. Only a paused turn waits for it."""
    for placed in half_server_tools(request):
        if placed.block["type"] in SERVER_CALLS:
            yield (
                placed.at,
                f"the call {short(word(placed.block, 'id'))} was cut off: it has no result",
            )
        else:
            yield placed.at, "there is no call that this result belongs to"


def half_server_tools(request: Request) -> list[Placed]:
    """Calls without a result, and results without a call."""
    if not any(type in SERVER_CALLS or is_server_result(type) for type in request.by_type):
        return []
    half: list[Placed] = []
    waiting: dict[str, Placed] = {}
    for placed in request.blocks:
        if placed.block["type"] in SERVER_CALLS:
            half += [waiting[call]] if (call := word(placed.block, "id")) in waiting else []
            waiting[call] = placed
        elif is_server_result(placed.block["type"]):
            call = word(placed.block, "tool_use_id")
            half += [] if waiting.pop(call, None) else [placed]
    return half + [call for call in waiting.values() if not _goes_on(request, call)]


def _goes_on(request: Request, call: Placed) -> bool:
    """Whether its result may still come: the turn is paused, or waits for a tool of ours."""
    last = len(request.messages) - 1
    return call.message == last or (call.message == last - 1 and _calls_back(request, call))


def _calls_back(request: Request, call: Placed) -> bool:
    callers = [placed.block.get("caller") for placed in request.of("tool_use")]
    return any(isinstance(c, dict) and c.get("tool_id") == call.block.get("id") for c in callers)
