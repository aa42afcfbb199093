"""What the model is told: the log as a Messages API history.

The window is anchored. It starts at a turn's first event and grows until it is too large; then
the anchor moves once, to a turn boundary, and stays (`window/`). Between moves the prefix never
changes, which is what the prompt cache and the signatures of thinking blocks depend on. What came
before the anchor is told in short. Thoughts from before a move, or from before the prompt, the
tools or the model changed, are left out. Everything else goes back as it came, unless it breaks
a rule.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import Block
from turnlog.events.search_results import blocks_of
from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.clean import CleanHistory, is_plain_talk
from turnlog.projections.history.lint import Finding
from turnlog.projections.history.points_of_view import heard_by
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request
from turnlog.projections.history.window.opening import Opening, opening_of

LEFT_OUT = "(A question that was refused is left out. What was done for it follows.)"
MOST_OF_A_RESULT = 100_000  # characters of one tool's result that the model is told
# What the model sent goes back with whatever the API has put into it, known to us or not.
NOT_OURS_TO_JUDGE = ("blocks-are-known", "fields-are-known")
ApiMessage = dict[str, Any]
Files = Mapping[str, Sequence[Block]]
NO_FILES: Files = MappingProxyType({})


class Telling(NamedTuple):
    """A history that the API takes, and what had to be repaired for it."""

    messages: list[ApiMessage]
    repaired: list[Finding]


def history(log: Sequence[Stamped], speaker: str | None = None, **how: Any) -> list[ApiMessage]:
    """The messages that these events amount to; see `tell`."""
    return tell(log, speaker, **how).messages


def tell(
    log: Sequence[Stamped],
    speaker: str | None = None,
    *,
    thoughts: bool = True,
    prefix: str | None = None,
    to_be_answered: Set[str] = frozenset(),
    files: Files = NO_FILES,
    opening: Opening | None = None,
    clean: CleanHistory | None = None,
) -> Telling:
    """The messages that these events amount to, valid for the API whatever the log holds.

    `log` begins at a turn boundary. `speaker` is the agent that is told: its own words are the
    assistant's, those of others it hears as notes (`points_of_view.py`); None: all are its own.
    Thoughts of the turn that runs are always told, because its tool results need them; those of
    earlier turns only with `thoughts`, and if `prefix` is what they were thought after. The calls
    `to_be_answered` are told although they have no result yet: the caller adds it. `files` are
    the blocks of what was attached, by the id of the message. `opening` is told first; None: that
    of the log. `clean` is what the same agent was told before.
    """
    refused, call_ids = refused_turns(log), tool_ids(log)
    forgotten = _last_move(log) if thoughts else math.inf
    running = [entry.turn_id for entry in log if isinstance(entry.event, k.UserMessageSent)][-1:]
    messages: list[ApiMessage] = []
    if before := (opening_of(log) if opening is None else opening).text:
        add(messages, "user", [{"type": "text", "text": before}])
    for entry, heard in heard_by(speaker, log):
        if entry.turn_id in refused:
            if not refused[entry.turn_id] or is_refusal(entry):
                continue
            if isinstance(entry.event, k.UserMessageSent):
                add(messages, "user", [{"type": "text", "text": LEFT_OUT}])
                continue
        if heard is not None:
            add(messages, "user", [{"type": "text", "text": heard}])
            continue
        known = entry.position > forgotten and _is_after(entry, prefix)
        keep = known or entry.turn_id in running
        add(messages, *_role_and_blocks(entry, call_ids, keep, files))
    fully = was_mended_in_full(log)
    return mended(messages, to_be_answered=to_be_answered, fully=fully, clean=clean)


def mended(
    messages: list[ApiMessage],
    *,
    to_be_answered: Set[str] = frozenset(),
    fully: bool = False,
    clean: CleanHistory | None = None,
) -> Telling:
    """The messages with every broken rule repaired; unchanged if no rule is broken.

    `fully`: also repair blocks and fields that the model sent and we do not know. This is for a
    model that rejects its own blocks. `clean`: what was clean before is not checked again.
    """
    without = () if fully else NOT_OURS_TO_JUDGE
    clean, open_calls = clean or CleanHistory(), frozenset(to_be_answered)
    telling = Telling(messages, [])
    if not is_plain_talk(messages) and not clean.grew_clean(messages, open_calls, without):
        repaired = repair(Request({"messages": messages}, open_calls), without=without)
        telling = Telling(repaired.body["messages"], repaired.found)
    if not telling.repaired:
        clean.remember(messages, without)
    return telling


def repair_record(repaired: Sequence[Finding]) -> k.HistoryRepaired | None:
    """What is kept of these repairs."""
    repairs = [{"rule": finding.rule, "place": finding.place} for finding in repaired]
    return k.HistoryRepaired(repairs=repairs) if repairs else None


def newly_repaired(log: Sequence[Stamped], repaired: Sequence[Finding]) -> k.HistoryRepaired | None:
    """The record of these repairs, unless the last one in the log says the same."""
    record = repair_record(repaired)
    before = [entry.event for entry in log if isinstance(entry.event, k.HistoryRepaired)]
    return record if record not in before[-1:] else None


def was_mended_in_full(log: Iterable[Stamped]) -> bool:
    """Whether the model has rejected blocks that it had sent itself."""
    records = (entry.event for entry in log if isinstance(entry.event, k.HistoryRepaired))
    return any(each["rule"] in NOT_OURS_TO_JUDGE for record in records for each in record.repairs)


def container_of(message: k.Message) -> str | None:
    """Where the provider's own tools worked for this answer."""
    container = message.details.get("container")
    return container.get("id") if isinstance(container, dict) else None


def open_container(log: Sequence[Stamped], now: datetime) -> str | None:
    """The newest one of the window, unless it has expired: the API would refuse that."""
    messages = (entry.event for entry in reversed(log) if isinstance(entry.event, k.Message))
    newest = next((message for message in messages if container_of(message)), None)
    if newest is None:
        return None
    try:
        expires = datetime.fromisoformat(newest.details["container"]["expires_at"])
        return container_of(newest) if expires > now else None
    except (LookupError, TypeError, ValueError):  # nobody can tell when: not worth the risk
        return None


def _is_after(entry: Stamped, prefix: str | None) -> bool:
    """Whether it was said after this prefix: the same prompt, tools and model."""
    return prefix is None or not isinstance(entry.event, k.Message) or entry.event.prefix == prefix


def _role_and_blocks(
    entry: Stamped, call_ids: set[str], keep_thoughts: bool, files: Files
) -> tuple[str, list[Block]]:
    match entry.event:
        case k.UserMessageSent(content=content, message_id=message_id):
            return "user", [*files.get(message_id, ()), {"type": "text", "text": content}]
        case k.Message(blocks=blocks):
            return "assistant", [b for b in blocks if _replayed(b, call_ids, keep_thoughts)]
        case k.ToolResult() as result:
            return "user", [result_block(result)]
        case k.ToolSettled() as settled:
            return "user", [{"type": "text", "text": finding(settled)}]
    return "", []


def finding(settled: k.ToolSettled) -> str:
    """What a person found out later about a call that was in doubt."""
    effect = "took effect" if settled.happened else "took no effect"
    note = f" Their note: {settled.note}" if settled.note else ""
    call = f"{settled.tool_name} ({settled.tool_use_id})"
    return f"[A person checked the call {call} that was in doubt: it {effect}.{note}]"


def _replayed(block: Block, call_ids: set[str], keep_thoughts: bool) -> bool:
    """Whether the block goes back. A call that was cut short does not."""
    if block["type"] == "tool_use":
        return block["id"] in call_ids
    return keep_thoughts or block["type"] not in THOUGHTS


def answer_blocks(message: k.Message, calls: Iterable[k.ToolUse]) -> list[Block]:
    """What goes back to the model of an answer that it has just given, with these calls."""
    ids = {call.tool_use_id for call in calls}
    return [block for block in message.blocks if _replayed(block, ids, keep_thoughts=True)]


def result_block(result: k.ToolResult) -> Block:
    """A tool's result as the model is told it."""
    block: Block = {"type": "tool_result", "tool_use_id": result.tool_use_id}
    found = blocks_of(result.result, MOST_OF_A_RESULT) if result.success else None
    if found is not None:
        notes = [{"type": "text", "text": f"[{result.note}]"}] if result.note else []
        return block | {"content": [*found, *notes]}
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


def add(messages: list[ApiMessage], role: str, blocks: list[Block]) -> None:
    """Append, joining neighbors of one role, because the API wants the roles to take turns;
    results come first, because a person's note may stand between a call and its result."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        joined = [*messages[-1]["content"], *blocks]
        messages[-1]["content"] = sorted(joined, key=_is_no_result) if role == "user" else joined
    else:
        messages.append({"role": role, "content": blocks})


def _is_no_result(block: Block) -> bool:
    return bool(block["type"] != "tool_result")


def _last_move(log: Iterable[Stamped]) -> int:
    moves = [entry.position for entry in log if isinstance(entry.event, k.HistoryAnchored)]
    return moves[-1] if moves else -1


def tool_ids(log: Iterable[Stamped]) -> set[str]:
    """Of every call in these events."""
    return {entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolUse)}


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
