"""Events as parts of messages: which blocks go into them, and whose they are."""

from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import Block
from turnlog.events.search_results import blocks_of
from turnlog.projections.history.blocks import THOUGHTS, replayable

MOST_OF_A_RESULT = 100_000  # characters of one tool's result that the model is told
ApiMessage = dict[str, Any]


def add(messages: list[ApiMessage], role: str, blocks: list[Block]) -> None:
    """Append, joining neighbors of one role, because the API wants the roles to take turns;
    results come first, because a person's note may stand between a call and its result."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        blocks = [*messages.pop()["content"], *blocks]  # it may stand in other histories as well
        if role == "user":
            blocks.sort(key=_is_no_result)
    messages.append({"role": role, "content": blocks})


def _is_no_result(block: Block) -> bool:
    return bool(block["type"] != "tool_result")


def result_block(result: k.ToolResult) -> Block:
    """A tool's result as the model is told it."""
    block: Block = {"type": "tool_result", "tool_use_id": result.tool_use_id}
    sources = blocks_of(result.result, MOST_OF_A_RESULT) if result.success else None
    if sources is not None:
        notes = [{"type": "text", "text": f"[{result.note}]"}] if result.note else []
        return block | {"content": [*sources, *notes]}
    text = as_text(result.result if result.success else result.error or "")
    if len(text) > MOST_OF_A_RESULT:
        text = f"{text[:MOST_OF_A_RESULT]}\n[cut off here: {len(text)} characters in all]"
    if result.note:
        text = f"{text}\n[{result.note}]"
    block["content"] = text
    return block if result.success else block | {"is_error": True}


def as_text(value: Any) -> str:
    """A tool's value as text: strings as they are, anything else as JSON."""
    if isinstance(value, str):
        return value or "(empty)"
    return msgspec.json.encode(value).decode()


def answer_blocks(message: k.Message, calls: Iterable[k.ToolUse]) -> list[Block]:
    """What goes back to the model of an answer that it has just given, with these calls."""
    return replayed(message.blocks, {call.tool_use_id for call in calls}, keep_thoughts=True)


def replayed(blocks: Iterable[Block], call_ids: Container[str], keep_thoughts: bool) -> list[Block]:
    """Those that go back. A call that was cut short does not."""
    return [
        replayable(block)
        for block in blocks
        if (
            block["id"] in call_ids
            if block["type"] == "tool_use"
            else keep_thoughts or block["type"] not in THOUGHTS
        )
    ]


def container_of(message: k.Message) -> str | None:
    """Where the provider's own tools worked for this answer."""
    container = message.details.get("container")
    return container.get("id") if isinstance(container, dict) else None


def finding(settled: k.ToolSettled) -> str:
    """What a person found out later about a call that was in doubt."""
    effect = "took effect" if settled.happened else "took no effect"
    note = f" Their note: {settled.note}" if settled.note else ""
    call = f"{settled.tool_name} ({settled.tool_use_id})"
    return f"[A person checked the call {call} that was in doubt: it {effect}.{note}]"


def refused_turns(log: Sequence[Stamped]) -> dict[str, bool]:
    """By refused turn: whether anything was done in it.

    A refused turn is left out whole: told again, it would only be refused again. But what its
    tools did was done: the calls and their results stay, or the model might do it again.
    """
    refused = {entry.turn_id: False for entry in log if is_refusal(entry)}
    done = {entry.turn_id for entry in log if isinstance(entry.event, k.ToolResult)}
    return {turn_id: turn_id in done for turn_id in refused}


def is_refusal(entry: Stamped) -> bool:
    return isinstance(entry.event, k.Message) and entry.event.stop_reason == "refusal"
