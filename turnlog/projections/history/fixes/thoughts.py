"""Leaves out thoughts that the API would not take, and turns a prefill into a request to go on."""

from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.checks import thoughts as check
from turnlog.projections.history.request import (
    Json,
    Placed,
    Request,
    each_block,
    is_block,
    is_message,
    text,
)

GO_ON = "Please go on."


def drop_unsigned(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        thought = placed.block["type"] in THOUGHTS
        return [] if thought and not check.is_signed(placed.block) else [placed.block]

    return each_block(request, change)


def drop_unfollowed(request: Request) -> Json:
    messages = []
    for message in request.messages:
        if is_message(message) and message["role"] == "assistant":
            content = message["content"]
            led = _without_last_thoughts(content) if isinstance(content, list) else content
            message = message if len(led) == len(content) else message | {"content": led}
        messages.append(message)
    return request.with_messages(messages)


def _without_last_thoughts(content: list[Json]) -> list[Json]:
    end = len(content)
    while end and is_block(content[end - 1]) and content[end - 1]["type"] in THOUGHTS:
        end -= 1
    return content[:end]


def lead_with_thought(request: Request) -> Json:
    """The message's own thought comes first; where it has none, thinking is switched off."""
    first = check.first_of_tool_loop(request)
    assert first is not None
    message = request.messages[first.message]
    thoughts = [p.block for p in request.blocks if p.message == first.message and _is_thought(p)]
    if not thoughts:
        return request.body | {"thinking": {"type": "disabled"}}
    rest = [block for block in message["content"] if block is not thoughts[0]]
    messages = list(request.messages)
    messages[first.message] = message | {"content": [thoughts[0], *rest]}
    return request.with_messages(messages)


def _is_thought(placed: Placed) -> bool:
    return placed.block["type"] in THOUGHTS


def drop_unwanted(request: Request) -> Json:
    unwanted = {at for at, _ in check.need_thinking(request)}
    return each_block(request, lambda p: [] if p.at in unwanted else [p.block])


def ask_to_go_on(request: Request) -> Json:
    """The words stay the assistant's, and the user asks for more."""
    messages = list(request.messages)
    if not messages[-1]["content"]:
        messages.pop()
    if messages and messages[-1].get("role") == "user":
        return request.with_messages(messages)
    return request.with_messages([*messages, {"role": "user", "content": [text(GO_ON)]}])


def cut_trailing_space(request: Request) -> Json:
    places = {at for at, _ in check.prefill_ends_without_space(request)}

    def change(placed: Placed) -> list[Json]:
        if placed.at not in places:
            return [placed.block]
        return [placed.block | {"text": placed.block["text"].rstrip()}]

    return each_block(request, change)
