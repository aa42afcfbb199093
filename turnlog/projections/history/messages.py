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
from types import MappingProxyType
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import Block
from turnlog.events.search_results import blocks_of
from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.clean import Checked, CleanHistory
from turnlog.projections.history.lint import Finding
from turnlog.projections.history.points_of_view import Tasks, heard_by
from turnlog.projections.history.window.memory import bytes_of
from turnlog.projections.history.window.opening import NO_OPENING, Opening, opening_of

LEFT_OUT = "(A question that was refused is left out. What was done for it follows.)"
MOST_OF_A_RESULT = 100_000  # characters of one tool's result that the model is told
# What the model sent goes back with whatever the API has put into it, known to us or not.
NOT_OURS_TO_JUDGE = ("blocks-are-known", "fields-are-known")
ApiMessage = dict[str, Any]
Files = Mapping[str, Sequence[Block]]
NO_FILES: Files = MappingProxyType({})


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
) -> Checked:
    """The messages that these events amount to, valid for the API whatever the log holds.

    `log` begins at a turn boundary. `thoughts`: whether those of earlier turns are told at all.
    `opening`: None: that of the log. `fully` follows from the log. See `History` for the rest.
    """
    told = History(
        speaker,
        prefix=prefix,
        opening=opening_of(log) if opening is None else opening,
        forgotten=_last_move(log) if thoughts else math.inf,
    )
    told.add(log, files)
    return told.telling(files, to_be_answered=to_be_answered, fully=was_mended_in_full(log))


class History:
    """What one agent is told of the log, folded turn by turn.

    `speaker` is the agent: its own words are the assistant's, those of others it hears as notes
    (`points_of_view.py`); None: all are its own. `opening` is told first. Thoughts of the turn
    that runs are always told, because its tool results need them; those of earlier turns only if
    they come after the position `forgotten`, and if `prefix` is what they were thought after.
    What is told of a turn changes no more once the next one has begun.
    """

    def __init__(
        self,
        speaker: str | None,
        *,
        prefix: str | None = None,
        opening: Opening = NO_OPENING,
        forgotten: float = -1,
    ) -> None:
        self._speaker = speaker
        self.prefix = prefix
        self._forgotten = forgotten
        self._messages: list[ApiMessage] = []  # of all turns but the last
        self._settled_bytes = 0  # of memory, that they hold
        self._turn: list[Stamped] = []  # the last one
        self._tasks: Tasks = {}
        self._refused: dict[str, bool] = {}
        self._files: dict[str, Sequence[Block]] = {}  # as they are told in `_messages`
        self._has_thoughts = False
        self.clean = CleanHistory()
        if opening.text:
            add(self._messages, "user", [{"type": "text", "text": opening.text}])
            self._settled_bytes = bytes_of(self._messages)

    @property
    def bytes(self) -> int:
        """Of memory, with the files in it."""
        return self._settled_bytes + bytes_of(self._turn) + self.clean.bytes

    def stays_with(self, prefix: str, files: Files) -> bool:
        """Whether what is told of all turns but the last is the same with these."""
        if self._has_thoughts and prefix != self.prefix:
            return False
        told = self._files.items()
        return all(_are_same(blocks, files.get(message_id, ())) for message_id, blocks in told)

    def add(self, log: Iterable[Stamped], files: Files) -> None:
        """What came next. `files` are the blocks of all that was attached, by the message's id."""
        for entry in log:
            if isinstance(entry.event, k.UserMessageSent):
                self._settle(files)
            self._turn.append(entry)

    def telling(
        self, files: Files, *, to_be_answered: Set[str] = frozenset(), fully: bool = False
    ) -> Checked:
        """All of it. The calls `to_be_answered` are told although they have no result yet: the
        caller adds it. `fully`: see `mended`.
        """
        messages, tasks = [*self._messages], dict(self._tasks)
        questions = (e.turn_id for e in self._turn if isinstance(e.event, k.UserMessageSent))
        self._tell_turn(messages, tasks, files, running=next(questions, None))
        return mended(messages, to_be_answered=to_be_answered, fully=fully, clean=self.clean)

    def _settle(self, files: Files) -> None:
        last = max(len(self._messages) - 1, 0)  # what comes may be joined to it
        self._settled_bytes -= bytes_of(self._messages[last:])
        self._tell_turn(self._messages, self._tasks, files)
        self._settled_bytes += bytes_of(self._messages[last:])
        self._refused |= refused_turns(self._turn)
        for entry in self._turn:
            match entry.event:
                case k.UserMessageSent(message_id=message_id) if message_id in files:
                    self._files[message_id] = files[message_id]
                case k.Message(blocks=blocks):
                    thinks = any(block["type"] in THOUGHTS for block in blocks)
                    self._has_thoughts = self._has_thoughts or thinks
        self._turn = []

    def _tell_turn(
        self, messages: list[ApiMessage], tasks: Tasks, files: Files, running: str | None = None
    ) -> None:
        refused, call_ids = self._refused | refused_turns(self._turn), tool_ids(self._turn)
        for entry, heard in heard_by(self._speaker, self._turn, tasks):
            if entry.turn_id in refused:
                if not refused[entry.turn_id] or is_refusal(entry):
                    continue
                if isinstance(entry.event, k.UserMessageSent):
                    add(messages, "user", [{"type": "text", "text": LEFT_OUT}])
                    continue
            if heard is not None:
                add(messages, "user", [{"type": "text", "text": heard}])
                continue
            known = entry.position > self._forgotten and _is_after(entry, self.prefix)
            keep = known or entry.turn_id == running
            add(messages, *_role_and_blocks(entry, call_ids, keep, files))


def _are_same(told: Sequence[Block], now: Sequence[Block]) -> bool:
    """Whether they are told alike, of the same sources: citations are followed by these."""
    return len(told) == len(now) and all(
        a == b and a.get("source") is b.get("source") for a, b in zip(told, now, strict=True)
    )


def mended(
    messages: list[ApiMessage],
    *,
    to_be_answered: Set[str] = frozenset(),
    fully: bool = False,
    clean: CleanHistory | None = None,
) -> Checked:
    """The messages with every broken rule repaired; unchanged if no rule is broken.

    `fully`: also repair blocks and fields that the model sent and we do not know. This is for a
    model that rejects its own blocks. `clean`: what was clean before is not checked again.
    """
    without = () if fully else NOT_OURS_TO_JUDGE
    return (clean or CleanHistory()).check(messages, frozenset(to_be_answered), without)


def repair_record(repaired: Sequence[Finding]) -> k.HistoryRepaired | None:
    """What is kept of these repairs."""
    repairs = [{"rule": finding.rule, "place": finding.place} for finding in repaired]
    return k.HistoryRepaired(repairs=repairs) if repairs else None


def was_mended_in_full(log: Iterable[Stamped]) -> bool:
    """Whether the model has rejected blocks that it had sent itself."""
    events = (entry.event for entry in log)
    return any(is_in_full(event) for event in events if isinstance(event, k.HistoryRepaired))


def is_in_full(record: k.HistoryRepaired) -> bool:
    return any(each["rule"] in NOT_OURS_TO_JUDGE for each in record.repairs)


def container_of(message: k.Message) -> str | None:
    """Where the provider's own tools worked for this answer."""
    container = message.details.get("container")
    return container.get("id") if isinstance(container, dict) else None


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
        blocks = [*messages.pop()["content"], *blocks]  # it may stand in other histories as well
        if role == "user":
            blocks.sort(key=_is_no_result)
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
    if not refused:  # nearly always
        return {}
    done = {entry.turn_id for entry in log if isinstance(entry.event, k.ToolResult)}
    return {turn_id: turn_id in done for turn_id in refused}


def is_refusal(entry: Stamped) -> bool:
    return isinstance(entry.event, k.Message) and entry.event.stop_reason == "refusal"
