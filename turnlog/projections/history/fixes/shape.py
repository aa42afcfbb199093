"""Makes a conversation of it: what is no message or no block goes, what stands wrong moves."""

from typing import Any

import msgspec

from turnlog.projections.history.blocks import MESSAGE_FIELDS, kind_of
from turnlog.projections.history.checks import shape as check
from turnlog.projections.history.request import (
    Json,
    Placed,
    Request,
    as_blocks,
    deep,
    each_block,
    is_message,
    text,
)

BEGINNING = "(The conversation begins here.)"
# Other people's names for the two who speak. Whoever else speaks, the user said it.
ASSISTANTS = ("model", "ai", "bot", "claude")


def add_beginning(request: Request) -> Json:
    first = {"role": "user", "content": [text(BEGINNING)]}
    return request.with_messages([first, *request.messages])


def drop_broken_messages(request: Request) -> Json:
    broken = {at.split(".")[1] for at, _ in check.messages_are_whole(request)}
    kept = [m for index, m in enumerate(request.messages) if str(index) not in broken]
    return request.with_messages(kept)


def rename_roles(request: Request) -> Json:
    """What a `system` message says belongs to the system prompt, where there is one to add to."""
    wrong = {int(at.split(".")[1]) for at, _ in check.roles_are_known(request)}
    messages, prompts = [], []
    for index, message in enumerate(request.messages):
        if index not in wrong:
            messages.append(message)
        elif message["role"] in ("system", "developer") and "model" in request.body:
            prompts += as_blocks(message.get("content") or "")
        else:
            role = "assistant" if message["role"].lower() in ASSISTANTS else "user"
            messages.append(message | {"role": role})
    body = request.with_messages(messages)
    return body | {"system": [*_prompt(request), *prompts]} if prompts else body


def _prompt(request: Request) -> list[Any]:
    system = request.body.get("system")
    return as_blocks(system) if isinstance(system, str | list) and system else []


def mend_blocks(request: Request) -> Json:
    messages = []
    for message in request.messages:
        if is_message(message) and isinstance(message["content"], list):
            message = message | {"content": _mended(message["content"])}
        messages.append(message)
    return request.with_messages(messages)


def _mended(content: list[Any]) -> list[Json]:
    """Plain strings become text; what cannot be read goes."""
    blocks = [text(block) if isinstance(block, str) else block for block in content]
    return [_readable(block) for block in blocks if check.what_is_broken(block) is None]


def _readable(block: Json) -> Json:
    content = block.get("content")
    if block["type"] != "tool_result" or content is None or isinstance(content, str):
        return block
    if isinstance(content, list):
        return block | {"content": _mended(content)}
    return block | {"content": msgspec.json.encode(content).decode()}


def drop_unknown_blocks(request: Request) -> Json:
    return each_block(request, deep(lambda p: [p.block] if kind_of(p.block["type"]) else []))


def split_by_role(request: Request) -> Json:
    """A block in somebody else's message gets a message of its own, where it stands."""
    messages: list[Any] = []
    for index, message in enumerate(request.messages):
        if is_message(message) and isinstance(message["content"], list):
            messages += _split(index, message)
        else:
            messages.append(message)
    return request.with_messages(messages)


def _split(index: int, message: Json) -> list[Json]:
    parts: list[Json] = []
    for block in message["content"]:
        role = check.owner(Placed("", index, message["role"], block)) or message["role"]
        if not parts or parts[-1]["role"] != role:
            parts.append(message | {"role": role, "content": []})
        parts[-1]["content"].append(block)
    return parts if len(parts) > 1 or (parts and parts[0]["role"] != message["role"]) else [message]


def drop_unknown_fields(request: Request) -> Json:
    body = each_block(request, deep(lambda placed: [_known(placed.block)]))
    messages = [
        {name: message[name] for name in MESSAGE_FIELDS if name in message}
        if is_message(message) and message.keys() - MESSAGE_FIELDS
        else message
        for message in body["messages"]
    ]
    return body | {"messages": messages}


def _known(block: Json) -> Json:
    if unknown := check.unknown_fields(block):
        block = {n: value for n, value in block.items() if n not in unknown}
    if cited := check.unknown_in_citations(block):
        citations = [
            {n: citation[n] for n in citation if n not in cited[index]}
            if index in cited
            else citation
            for index, citation in enumerate(block["citations"])
        ]
        block = block | {"citations": citations}
    return block


def drop_blank_prompts(request: Request) -> Json:
    system = request.body.get("system")
    listed = system if isinstance(system, list) else []
    blocks = [block for block in listed if check.says_something(block)]
    body = {name: value for name, value in request.body.items() if name != "system"}
    return body | {"system": blocks} if blocks else body


def drop_blank_text(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        empty = check.is_empty_content(request, placed)
        return [] if check.is_blank(placed.block) and not empty else [placed.block]

    return each_block(request, deep(change))


def drop_empty_messages(request: Request) -> Json:
    empty = {at for at, _ in check.content_is_there(request)}
    kept = [m for index, m in enumerate(request.messages) if f"messages.{index}" not in empty]
    return request.with_messages(kept)


def join_neighbors(request: Request) -> Json:
    messages: list[Any] = []
    joined: list[Any] = []  # the content of the last message, once it is ours to add to
    for message in request.messages:
        before = messages[-1] if messages else None
        if is_message(before) and is_message(message) and before["role"] == message["role"]:
            if before["content"] is not joined:
                joined = as_blocks(before["content"] or [])
                messages[-1] = before | {"content": joined}
            joined += as_blocks(message["content"] or [])
        else:
            messages.append(message)
    return request.with_messages(messages)
