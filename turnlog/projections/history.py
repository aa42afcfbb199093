"""What the model is told: the log as a Messages API history.

The window is anchored. It starts at a turn's first event and grows until it is three times
what must be kept, or large; then the anchor moves once, to a turn boundary, and stays. Between
moves the prefix never changes, which is what the prompt cache and the signatures of thinking
blocks depend on. When the anchor has moved, thoughts from before the move are left out.
"""

import logging
from collections.abc import Iterable, Sequence, Set
from datetime import datetime
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.codec import encode
from turnlog.events.content import Block
from turnlog.projections.lint import SERVER_CALLS, is_server_result, lint

_log = logging.getLogger(__name__)
KEPT_MESSAGES, MOST_MESSAGES = 20, 60
KEPT_BYTES, MOST_BYTES = 200_000, 600_000  # some 50,000 and 150,000 tokens
MOST_OF_A_RESULT = 100_000  # characters of one tool's result that the model is told
_THOUGHTS = ("thinking", "redacted_thinking")
ApiMessage = dict[str, Any]


def history(
    log: Sequence[Stamped], thoughts: bool = True, to_be_answered: Set[str] = frozenset()
) -> list[ApiMessage]:
    """The messages that these events amount to, valid for the API.

    `log` begins at a turn boundary. Without `thoughts` no thinking block is told. The calls
    `to_be_answered` are told although they have no result yet: the caller adds it. Whatever the
    log holds, the session can go on: a history that breaks a rule of the API all the same is
    told as plain text.
    """
    answered = {at.event.tool_use_id for at in log if isinstance(at.event, k.ToolResult)}
    answered |= to_be_answered
    forgotten = _last_move(log)
    refused = _refused_turns(log)
    messages: list[ApiMessage] = []
    for at in log:
        if at.turn_id not in refused:
            role, blocks = _told(at, answered, thoughts and at.position > forgotten)
            add(messages, role, blocks)
    whole: list[ApiMessage] = []
    for message in messages:
        add(whole, message["role"], _whole(message["content"]))
    if findings := lint(_with_answers(whole, to_be_answered)):
        _log.warning("the history breaks %s: telling it as plain text", findings)
        return as_plain_text([at for at in log if at.turn_id not in refused])
    return whole


def _with_answers(messages: list[ApiMessage], open_calls: Set[str]) -> list[ApiMessage]:
    """As they will be once the open calls have results."""
    whole = [{**message, "content": list(message["content"])} for message in messages]
    answers = [{"type": "tool_result", "tool_use_id": call} for call in sorted(open_calls)]
    add(whole, "user", answers)
    return whole


def as_plain_text(log: Iterable[Stamped]) -> list[ApiMessage]:
    """Only what was said, which breaks no rule."""
    messages: list[ApiMessage] = []
    for at in log:
        match at.event:
            case k.UserMessageSent(content=content):
                add(messages, "user", without_blanks([{"type": "text", "text": content}]))
            case k.Message(content=content) if messages:
                add(messages, "assistant", without_blanks([{"type": "text", "text": content}]))
    return messages


def moved_anchor(log: Sequence[Stamped], too_long: bool = False) -> int | None:
    """Where the window should start from now on, when it has grown too long.

    It has, too, when the model said so (`too_long`, or in the log): then less of it is kept.
    """
    too_long = too_long or _was_too_long(log)
    messages, size = _amount(log)
    if messages <= MOST_MESSAGES and size <= MOST_BYTES and not too_long:
        return None
    most = min(KEPT_BYTES, size // 2) if too_long else KEPT_BYTES
    anchor: int | None = None
    messages = size = 0
    for at in reversed(log):
        more_messages, more_bytes = _amount([at])
        messages, size = messages + more_messages, size + more_bytes
        if size > most and anchor is not None:
            break
        if isinstance(at.event, k.UserMessageSent):
            anchor = at.position
            if messages >= KEPT_MESSAGES:
                break
    return anchor if anchor is not None and anchor > log[0].position else None


def container_of(message: k.Message) -> str | None:
    """Where the provider's own tools worked for this answer."""
    container = message.details.get("container")
    return container.get("id") if isinstance(container, dict) else None


def open_container(log: Sequence[Stamped], now: datetime) -> str | None:
    """The newest one of the window, unless it has expired: the API would refuse that."""
    messages = (at.event for at in reversed(log) if isinstance(at.event, k.Message))
    newest = next((message for message in messages if container_of(message)), None)
    if newest is None:
        return None
    try:
        expires = datetime.fromisoformat(newest.details["container"]["expires_at"])
        return container_of(newest) if expires > now else None
    except (LookupError, TypeError, ValueError):  # nobody can tell when: not worth the risk
        return None


def _was_too_long(log: Sequence[Stamped]) -> bool:
    """Whether the model could not take in what it was last told."""
    for at in reversed(log):
        match at.event:
            case k.Error(code=code):
                return code == "context_exceeded"
            case k.Message(stop_reason=reason):
                return reason == "model_context_window_exceeded"
            case k.HistoryAnchored():
                return False
    return False


def _amount(log: Iterable[Stamped]) -> tuple[int, int]:
    """How many messages these events are, and how many bytes."""
    events = [at.event for at in log]
    messages = sum(isinstance(event, k.UserMessageSent | k.Message) for event in events)
    return messages, sum(len(encode(event)) for event in events)


def _told(at: Stamped, answered: set[str], keep_thoughts: bool) -> tuple[str, list[Block]]:
    match at.event:
        case k.UserMessageSent(content=content):
            return "user", without_blanks([{"type": "text", "text": content}])
        case k.Message(blocks=blocks):
            told = without_blanks(blocks)
            return "assistant", [b for b in told if _replayed(b, answered, keep_thoughts)]
        case k.ToolResult() as result:
            return "user", [result_block(result)]
        case k.ToolSettled() as settled:
            return "user", [{"type": "text", "text": _finding(settled)}]
    return "", []


def _finding(settled: k.ToolSettled) -> str:
    """What a person found out later about a call that was in doubt."""
    said = "took effect" if settled.happened else "took no effect"
    note = f" Their note: {settled.note}" if settled.note else ""
    call = f"{settled.tool_name} ({settled.tool_use_id})"
    return f"[A person checked the call {call} that was in doubt: it {said}.{note}]"


def _replayed(block: Block, answered: set[str], keep_thoughts: bool) -> bool:
    match block["type"]:
        case "tool_use":
            return block["id"] in answered
        case kind if kind in _THOUGHTS:
            # One that was cut before its signature came would be refused, now and ever after.
            return keep_thoughts and bool(block.get("signature") or block.get("data"))
    return True


def _whole(blocks: list[Block]) -> list[Block]:
    """Without the provider's own tools that were cut off: a call and its result, or neither."""
    called = {block["id"] for block in blocks if block["type"] in SERVER_CALLS}
    answered = {block["tool_use_id"] for block in blocks if is_server_result(block)}
    return [
        block
        for block in blocks
        if (block["type"] not in SERVER_CALLS or block["id"] in answered)
        and (not is_server_result(block) or block["tool_use_id"] in called)
    ]


def without_blanks(blocks: Iterable[Block]) -> list[Block]:
    """The API refuses blank text, also when the model itself wrote it."""
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def result_block(result: k.ToolResult) -> Block:
    """A tool's result as the model is told it."""
    block: Block = {"type": "tool_result", "tool_use_id": result.tool_use_id}
    told = as_text(result.result if result.success else result.error or "")
    if len(told) > MOST_OF_A_RESULT:
        told = f"{told[:MOST_OF_A_RESULT]}\n[cut off here: {len(told)} characters in all]"
    if result.note:
        told = f"{told}\n[{result.note}]"
    block["content"] = told
    return block if result.success else block | {"is_error": True}


def as_text(value: Any) -> str:
    """A tool's value as text: strings as they are, anything else as JSON."""
    if isinstance(value, str):
        return value or "(empty)"
    return msgspec.json.encode(value).decode()


def add(messages: list[ApiMessage], role: str, blocks: list[Block]) -> None:
    """Append, joining neighbors of one role: the API wants the roles to take turns."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _last_move(log: Iterable[Stamped]) -> int:
    moves = [at.position for at in log if isinstance(at.event, k.HistoryAnchored)]
    return moves[-1] if moves else -1


def _refused_turns(log: Iterable[Stamped]) -> set[str]:
    """A refused turn is left out whole: told again, it would only be refused again."""
    return {
        at.turn_id
        for at in log
        if isinstance(at.event, k.Message) and at.event.stop_reason == "refusal"
    }
