"""The rules for `system` and `messages`: their shape, then what the blocks say.

SHAPE makes sure that the later checks can read the messages; CONTENT holds the rules that
make a conversation: every call answered, every thought as it was signed, every file allowed.
"""

import re
from collections import Counter
from typing import Any

from .models import refuses
from .refusal import Placed, Request, children, refuse
from .script import SIGNATURE_PREFIX, sign

TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_IMAGE = 5 * 1024 * 1024
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

# fmt: off
BLOCK_TYPES = {
    "user":      {"text", "image", "document", "search_result", "tool_result", "container_upload"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use",
                  "mcp_tool_use", "mcp_tool_listing", "container_upload", "compaction", "fallback"},
}
# fmt: on
# web_search_tool_result, mcp_tool_result, ...: answered by the server, inside of the turn.
SERVER_RESULT = re.compile(r"\w+_tool_result")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


# --- shape ---


def messages_are_a_list(request: Request) -> None:
    messages = request.body.get("messages")
    if messages is None:
        refuse("messages: Field required")
    if not isinstance(messages, list):
        refuse("messages: Input should be a valid list")
    if not messages:
        refuse("messages: at least one message is required")


def messages_have_content(request: Request) -> None:
    for index, message in enumerate(request.messages):
        at = f"messages.{index}"
        if not isinstance(message, dict):
            refuse(f"{at}: Input should be a valid dictionary")
        for name in ("role", "content"):
            if message.get(name) is None:
                refuse(f"{at}.{name}: Field required")
        if not isinstance(message["content"], str | list):
            refuse(f"{at}.content: Input should be a valid list")


def roles_alternate(request: Request) -> None:
    """Stricter than the API, which joins neighbours of one role: turnlog never sends them."""
    for index, message in enumerate(request.messages):
        role = message["role"]
        if role not in BLOCK_TYPES:
            refuse(f"messages.{index}.role: Input should be 'user' or 'assistant', not '{role}'")
        if index == 0 and role != "user":
            refuse('messages: first message must use the "user" role')
        if index and role == request.messages[index - 1]["role"]:
            refuse(
                f'messages.{index}: roles must alternate between "user" and "assistant", '
                f'but found multiple "{role}" roles in a row'
            )


def no_message_is_empty(request: Request) -> None:
    last = len(request.messages) - 1
    for index, message in enumerate(request.messages):
        if not message["content"] and (index != last or message["role"] == "user"):
            refuse(
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )


def blocks_fit_their_role(request: Request) -> None:
    for at, _, role, block in request.blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind is None:
            refuse(f"{at}.type: Field required")
        if kind not in BLOCK_TYPES[role] and not _is_server_result(role, kind):
            refuse(
                f"{at}: Input tag '{kind}' found using 'type' does not match any of the "
                f"expected tags for the role '{role}'"
            )


def _is_server_result(role: str, kind: str) -> bool:
    return role == "assistant" and SERVER_RESULT.fullmatch(kind) is not None


def tool_results_have_content(request: Request) -> None:
    for at, _, _, block in request.of("tool_result"):
        content = block.get("content")
        if content is not None and not isinstance(content, str | list):
            refuse(f"{at}.tool_result.content: Input should be a valid list")


# --- text ---


def texts_say_something(request: Request) -> None:
    for placed in request.nested:
        if placed.block["type"] == "text":
            _check_text(placed.at, placed.block.get("text"))


def system_says_something(request: Request) -> None:
    system = request.body.get("system")
    if isinstance(system, list):
        for at, block in children("system", system):
            _check_text(at.replace(".content", ""), block.get("text"))
    elif system is not None and not isinstance(system, str):
        refuse("system: Input should be a valid list")


def _check_text(at: str, text: Any) -> None:
    if not isinstance(text, str):
        refuse(f"{at}.text.text: Field required")
    if not text:
        refuse(f"{at}: text content blocks must be non-empty")
    if text.isspace():
        refuse(f"{at}: text content blocks must contain non-whitespace text")


def prefill_is_supported(request: Request) -> None:
    """A last message from the assistant. A paused turn, with a server's tool, may always go on;
    and a conversation that is to be summarized goes on nowhere."""
    if request.body.get("compaction"):
        return
    last = request.messages[-1]
    blocks = [placed for placed in request.blocks if placed.message == len(request.messages) - 1]
    if last["role"] != "assistant" or any(p.block["type"] in SERVER_CALLS for p in blocks):
        return
    if refuses(request.body["model"], "prefill"):
        refuse(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
    if blocks and blocks[-1].block["type"] == "text" and _ends_in_space(blocks[-1].block["text"]):
        refuse("messages: final assistant content cannot end with trailing whitespace")


def _ends_in_space(text: str) -> bool:
    return text != text.rstrip()


# --- tools ---


def tool_uses_are_well_formed(request: Request) -> None:
    for at, _, _, block in request.of("tool_use", *SERVER_CALLS):
        kind = block["type"]
        if not isinstance(block.get("id"), str) or not TOOL_USE_ID.fullmatch(block["id"]):
            refuse(f"{at}.{kind}.id: String should match pattern '^{TOOL_USE_ID.pattern}$'")
        if not block.get("name"):
            refuse(f"{at}.{kind}.name: Field required")
        if not isinstance(block.get("input"), dict):
            refuse(f"{at}.{kind}.input: Input should be a valid dictionary")


def tool_use_ids_are_unique(request: Request) -> None:
    seen: set[str] = set()
    for at, _, _, block in request.of("tool_use"):
        if block["id"] in seen:
            refuse(f"{at}: `tool_use` ids must be unique")
        seen.add(block["id"])


def every_tool_use_is_answered_once(request: Request) -> None:
    """In the next message, by one result each, and by no result that was not asked for."""
    asked = _by_message(request, "tool_use")
    given = _by_message(request, "tool_result")
    for index in range(len(request.messages)):
        _check_missing(index, asked.get(index, []), given.get(index + 1, []))
        _check_given(asked.get(index - 1, []), given.get(index, []))


def _by_message(request: Request, kind: str) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = {}
    for placed in request.of(kind):
        found.setdefault(placed.message, []).append(placed)
    return found


def _check_missing(index: int, asked: list[Placed], given: list[Placed]) -> None:
    answered = {placed.block.get("tool_use_id") for placed in given}
    missing = [placed.block["id"] for placed in asked if placed.block["id"] not in answered]
    if missing:
        refuse(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )


def _check_given(asked: list[Placed], given: list[Placed]) -> None:
    open_ids = {placed.block["id"] for placed in asked}
    counted = Counter(placed.block.get("tool_use_id") for placed in given)
    for placed in given:
        answers = placed.block.get("tool_use_id")
        if answers not in open_ids:
            refuse(
                f"{placed.at}: unexpected `tool_use_id` found in `tool_result` blocks: {answers}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
        if counted[answers] > 1:
            refuse(
                f"{placed.at}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {answers}"
            )


# "In the user message containing tool results, the tool_result blocks must come FIRST in the
# content array. Any text must come AFTER all tool results." (docs, Handle tool calls)
def results_come_first(request: Request) -> None:
    other: int | None = None
    for at, message, role, block in request.blocks:
        if role == "user" and block["type"] != "tool_result":
            other = message
        elif other == message:
            refuse(f"{at}: `tool_result` blocks must come first in the content of a message")


def failed_results_are_text(request: Request) -> None:
    for at, _, _, block in request.of("tool_result"):
        content = block.get("content")
        parts = content if isinstance(content, list) else []
        if block.get("is_error") and any(part.get("type") != "text" for part in parts):
            refuse(f'{at}.tool_result: all content must be type "text" if `is_error` is true')


def server_tools_are_paired(request: Request) -> None:
    """A server's result follows its call; only a paused turn may end with an open call."""
    open_calls: dict[str, Placed] = {}
    for placed in request.blocks:
        if placed.block["type"] in SERVER_CALLS:
            open_calls[placed.block["id"]] = placed
        elif _is_server_result(placed.role, placed.block["type"]):
            _check_server_result(placed, open_calls)
    for placed in open_calls.values():
        if placed.message != len(request.messages) - 1:
            name, call = placed.block["name"], placed.block["id"]
            refuse(
                f"{placed.at}: `{name}` tool use with id `{call}` was found without a "
                f"corresponding `{name}_tool_result` block"
            )


def _check_server_result(placed: Placed, open_calls: dict[str, Placed]) -> None:
    kind, answers = placed.block["type"], placed.block.get("tool_use_id", "")
    if open_calls.pop(answers, None) is None:
        refuse(
            f"{placed.at}: unexpected `tool_use_id` found in `{kind}` blocks: {answers}. Each "
            f"`{kind}` block must have a corresponding `server_tool_use` block before it."
        )


# --- thinking ---


def thoughts_are_as_signed(request: Request) -> None:
    """A foreign signature cannot be checked here; one of our own must fit its text."""
    for at, _, _, block in request.of("thinking"):
        for name in ("thinking", "signature"):
            if not isinstance(block.get(name), str):
                refuse(f"{at}.thinking.{name}: Field required")
        ours = block["signature"].startswith(SIGNATURE_PREFIX)
        if not block["signature"] or (ours and block["signature"] != sign(block["thinking"])):
            refuse(f"{at}: Invalid `signature` in `thinking` block")
    for at, _, _, block in request.of("redacted_thinking"):
        if not block.get("data"):
            refuse(f"{at}: Invalid `data` in `redacted_thinking` block")


def first_block_of_open_tool_loop(request: Request) -> Placed | None:
    """Where the assistant began the turn whose tool results were just sent, if there is one."""
    answered = {placed.message for placed in request.of("tool_result")}
    index = len(request.messages) - 1
    if index not in answered:
        return None
    while index in answered:
        index -= 2
    return next(placed for placed in request.blocks if placed.message == index + 1)


# --- files ---


def images_are_small(request: Request) -> None:
    for placed in request.nested:
        source = placed.block.get("source") or {}
        if placed.block["type"] == "image" and source.get("type") == "base64":
            _check_image(f"{placed.at}.image.source.base64", source)


def _check_image(at: str, source: dict[str, Any]) -> None:
    if source.get("media_type") not in IMAGE_TYPES:
        expected = ", ".join(f"'{name}'" for name in IMAGE_TYPES)
        refuse(f"{at}.media_type: Input should be {expected}")
    size = len(source.get("data") or "")
    if not size:
        refuse(f"{at}.data: image cannot be empty")
    if size > MAX_IMAGE:
        refuse(f"{at}: image exceeds 5 MB maximum: {size} bytes > {MAX_IMAGE} bytes")


def all_documents_cite_or_none(request: Request) -> None:
    documents = [p for p in request.nested if p.block["type"] in ("document", "search_result")]
    citing = {bool((p.block.get("citations") or {}).get("enabled")) for p in documents}
    if len(citing) > 1:
        refuse("messages: citations must be enabled on all or none of the documents in a request")
    if citing == {True} and (request.body.get("output_config") or {}).get("format"):
        refuse("output_config.format: citations cannot be used with structured outputs")


SHAPE = (
    messages_are_a_list,
    messages_have_content,
    roles_alternate,
    no_message_is_empty,
    blocks_fit_their_role,
    tool_results_have_content,
)

CONTENT = (
    system_says_something,
    texts_say_something,
    tool_uses_are_well_formed,
    tool_use_ids_are_unique,
    every_tool_use_is_answered_once,
    results_come_first,
    failed_results_are_text,
    server_tools_are_paired,
    thoughts_are_as_signed,
    images_are_small,
    all_documents_cite_or_none,
)
