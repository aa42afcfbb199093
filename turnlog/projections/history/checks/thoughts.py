"""Thoughts: signed, followed by what they led to, and there where the API wants them."""

from turnlog.projections.history import models
from turnlog.projections.history.blocks import SERVER_CALLS, THOUGHTS
from turnlog.projections.history.request import Found, Json, Placed, Request, is_message, word


def are_signed(request: Request) -> Found:
    for placed in request.of(*THOUGHTS):
        if not is_signed(placed.block):
            yield placed.at, "the thought was never signed"


def is_signed(block: Json) -> bool:
    if block["type"] == "thinking":
        return bool(word(block, "signature")) and isinstance(block.get("thinking"), str)
    return bool(word(block, "data"))


def are_followed(request: Request) -> Found:
    for placed in last_blocks(request):
        if placed.block["type"] in THOUGHTS:
            yield placed.at, "nothing follows the thought in its message"


def last_blocks(request: Request) -> list[Placed]:
    """The last block of every message of the assistant."""
    last = {placed.message: placed for placed in request.blocks if placed.role == "assistant"}
    return list(last.values())


def open_the_tool_loop(request: Request) -> Found:
    """With `enabled`, a turn that is still using tools begins with its thought."""
    first = first_of_tool_loop(request) if request.thinking == "enabled" else None
    if first is not None and first.block["type"] not in THOUGHTS:
        yield first.at, "the turn is still using tools and does not begin with its thought"


def first_of_tool_loop(request: Request) -> Placed | None:
    """Where the assistant began the turn whose tool results come last, if they do."""
    answered = {placed.message for placed in request.of("tool_result")}
    index = len(request.messages) - 1
    if index not in answered:
        return None
    while index in answered:
        index -= 2
    return next((placed for placed in request.blocks if placed.message == index + 1), None)


def need_thinking(request: Request) -> Found:
    """The turn that is being answered may hold no thoughts while thinking is switched off."""
    if request.thinking != "disabled":
        return
    for placed in unfinished(request):
        if placed.block["type"] in THOUGHTS:
            yield placed.at, "thinking is disabled, and this turn is still being answered"


def unfinished(request: Request) -> list[Placed]:
    """The blocks of the last message of the assistant, when only results come after it."""
    last = len(request.messages) - 1
    results = {placed.message for placed in request.of("tool_result")}
    index = last - 1 if last in results else last
    return [p for p in request.blocks if p.message == index and p.role == "assistant"]


def prefill_is_taken(request: Request) -> Found:
    if is_prefilled(request) and models.has(request.model, "refuses_prefill"):
        yield f"messages.{len(request.messages) - 1}", "the last message is the assistant's"


def prefill_ends_without_space(request: Request) -> Found:
    if not is_prefilled(request) or models.has(request.model, "refuses_prefill"):
        return
    last = len(request.messages) - 1
    for placed in last_blocks(request):
        if placed.message == last and ends_in_space(placed.block):
            yield placed.at, "what the assistant is to go on from ends in white space"


def is_prefilled(request: Request) -> bool:
    """Whether the assistant is to go on from words that are put into its mouth."""
    if request.body.get("compaction"):  # it is to summarize them
        return False
    last = len(request.messages) - 1
    if last < 0 or not is_message(request.messages[last]):
        return False
    paused = any(p.message == last for p in request.of("tool_use", *SERVER_CALLS))
    return request.messages[last]["role"] == "assistant" and not paused


def ends_in_space(block: Json) -> bool:
    text = word(block, "text")
    return block["type"] == "text" and text != text.rstrip()
