"""Whether it is a conversation at all: messages with a role and content, blocks with a type."""

from typing import Any

from turnlog.projections.history import models
from turnlog.projections.history.blocks import CITATIONS, MESSAGE_FIELDS, kind_of
from turnlog.projections.history.request import (
    ROLES,
    Found,
    Json,
    Placed,
    Request,
    is_block,
    is_message,
    short,
    word,
)

# A block without these says nothing. Ids and inputs have rules of their own.
NEEDED = {"text": ("text", str), "image": ("source", dict), "document": ("source", dict),
          "tool_use": ("name", str), "server_tool_use": ("name", str)}  # fmt: skip


def messages_are_there(request: Request) -> Found:
    if not request.messages:
        yield "messages", "there is no message"


def messages_are_whole(request: Request) -> Found:
    for index, message in enumerate(request.messages):
        if not isinstance(message, dict):
            yield f"messages.{index}", f"a message is an object, not {short(message)}"
        elif not isinstance(message.get("role"), str):
            yield f"messages.{index}.role", "the message has no role"
        elif not isinstance(message.get("content"), str | list):
            yield f"messages.{index}.content", "the content is neither text nor a list of blocks"


def roles_are_known(request: Request) -> Found:
    before = None
    for index, message in enumerate(request.messages):
        role = message.get("role") if isinstance(message, dict) else None
        if isinstance(role, str) and not is_known_role(request, role, before):
            yield f"messages.{index}.role", f"nobody has the role {short(role)}"
        before = role


def is_known_role(request: Request, role: str, before: Any) -> bool:
    if role == "system":  # the newest models take one, right after a message of the user
        return before == "user" and bool(models.has(request.model, "system"))
    return role in ROLES


def blocks_are_whole(request: Request) -> Found:
    for index, message in request.said:
        yield from _broken_blocks(f"messages.{index}", message["content"])
    for placed in request.of("tool_result"):
        content = placed.block.get("content")
        yield from _broken_blocks(placed.at, content)
        if content is not None and not isinstance(content, str | list):
            problem = f"the result is neither text nor a list of blocks, but {short(content)}"
            yield f"{placed.at}.content", problem


def _broken_blocks(at: str, content: Any) -> Found:
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if problem := what_is_broken(block):
            yield f"{at}.content.{index}", problem


def what_is_broken(block: Any) -> str | None:
    if not is_block(block):
        return "the block has no type" if isinstance(block, dict) else "a block is an object"
    name, type = NEEDED.get(block["type"], ("type", str))
    if not isinstance(block.get(name), type) or (name == "name" and not block[name]):
        return f"the {block['type']} block has no {name}"
    return None


def blocks_are_known(request: Request) -> Found:
    for type in request.nested_by_type:
        for placed in request.nested_of(type) if kind_of(type) is None else ():
            yield placed.at, f"there is no block of type {short(type)}"


def blocks_fit_their_role(request: Request) -> Found:
    for type, blocks in request.by_type.items():
        for placed in blocks:
            if role := owner(placed):
                yield placed.at, f"a {type} block is the {role}'s, not the {placed.role}'s"


def owner(placed: Placed) -> str | None:
    """Whose block it is, when it stands in somebody else's message."""
    kind = kind_of(placed.block["type"])
    if kind is None or kind.role in (None, placed.role):
        return None
    return kind.role


def fields_are_known(request: Request) -> Found:
    for index, message in request.said:
        for name in sorted(message.keys() - MESSAGE_FIELDS):
            yield f"messages.{index}.{short(name)[1:-1]}", "a message has no such field"
    for placed in request.nested:
        for name in sorted(unknown_fields(placed.block)):
            yield f"{placed.at}.{short(name)[1:-1]}", f"{placed.block['type']} has no such field"
        for index, names in unknown_in_citations(placed.block).items():
            for name in sorted(names):
                at = f"{placed.at}.citations.{index}.{short(name)[1:-1]}"
                yield at, "a citation has no such field in a request"


def unknown_fields(block: Json) -> set[str]:
    """Cache marks are not counted: a rule of their own says where they may be."""
    kind = kind_of(block["type"])
    return block.keys() - kind.fields - {"type", "cache_control"} if kind else set()


def unknown_in_citations(block: Json) -> dict[int, set[str]]:
    """By the place of a citation: its fields that the API does not take."""
    cited = block.get("citations") if block["type"] == "text" else None
    unknown = {
        index: citation.keys() - CITATIONS.get(citation["type"], citation)
        for index, citation in enumerate(cited if isinstance(cited, list) else ())
        if is_block(citation)
    }
    return {index: names for index, names in unknown.items() if names}


def system_says_something(request: Request) -> Found:
    system = request.body.get("system")
    if isinstance(system, list):
        for index, block in enumerate(system):
            if not says_something(block):
                yield f"system.{index}", "the block of the system prompt is blank, or no text"
    elif system is not None and not isinstance(system, str):
        yield "system", "the system prompt is neither text nor a list of text blocks"


def says_something(block: Any) -> bool:
    return is_block(block) and block["type"] == "text" and bool(word(block, "text").strip())


def text_is_not_blank(request: Request) -> Found:
    for placed in request.nested_of("text"):
        if is_blank(placed.block) and not is_empty_content(request, placed):
            yield placed.at, "the text is blank"


def is_blank(block: Json) -> bool:
    return block["type"] == "text" and not word(block, "text").strip()


def is_empty_content(request: Request, placed: Placed) -> bool:
    """`"content": ""` has no block: `content-is-there` names it."""
    return bool(request.messages[placed.message]["content"] == "")


def content_is_there(request: Request) -> Found:
    last = len(request.messages) - 1
    for index, message in request.said:
        if not message["content"] and (index != last or message["role"] != "assistant"):
            yield f"messages.{index}", "the message is empty"


def roles_take_turns(request: Request) -> Found:
    before = None
    for index, message in request.said:
        if message["role"] == before:
            yield f"messages.{index}", f"the {before} speaks twice in a row"
        before = message["role"]


def first_is_user(request: Request) -> Found:
    first = request.messages[0] if request.messages else None
    if is_message(first) and first["role"] == "assistant":
        yield "messages.0", "the conversation does not begin with the user"
