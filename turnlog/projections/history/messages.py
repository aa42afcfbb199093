"""What the model is told: the log as a Messages API history.

The window is anchored. It starts at a turn's first event and grows until it is too large; then
the anchor moves once, to a turn boundary, and stays (`window/`). Between moves the prefix never
changes, which is what the prompt cache and the signatures of thinking blocks depend on. What came
before the anchor is told in short. Thoughts from before a move, or from before the prompt, the
tools or the model changed, are left out. Everything else goes back as it came, unless it breaks
a rule.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.content import Block
from turnlog.events.search_results import blocks_of
from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.clean import ENDS_WITHOUT_SPACE, Checked, CleanHistory
from turnlog.projections.history.lint import Finding
from turnlog.projections.history.points_of_view import Tasks, heard_by
from turnlog.projections.history.window.memory import OF_A_MESSAGE, bytes_kept, bytes_told
from turnlog.projections.history.window.opening import NO_OPENING, Opening, opening_of

LEFT_OUT = "(A question that was refused is left out. What was done for it follows.)"
MOST_OF_A_RESULT = 100_000  # characters of one tool's result that the model is told
# What the model sent goes back with whatever the API has put into it, known to us or not.
NOT_OURS_TO_JUDGE = frozenset(("blocks-are-known", "fields-are-known"))
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
    ended: bool = False,
) -> Checked:
    """The messages that these events amount to, valid for the API whatever the log holds.

    `log` begins at a turn boundary. `thoughts`: whether those of earlier turns are told at all.
    `opening`: None: that of the log. `fully` follows from the log. See `History` for the rest,
    and `mended` for `ended`.
    """
    history = History(
        speaker,
        prefix=prefix,
        opening=opening_of(log) if opening is None else opening,
        forgotten=_last_move(log) if thoughts else math.inf,
    )
    history.add(log, files)
    fully = was_mended_in_full(log)
    return history.telling(files, to_be_answered=to_be_answered, fully=fully, ended=ended)


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
        self._turn = _Turn()  # the last one
        self._tasks: Tasks = {}
        self._refused: dict[str, bool] = {}
        self._files: dict[str, Sequence[Block]] = {}  # as they are told in `_messages`
        self._has_thoughts = False
        self.clean = CleanHistory()
        if opening.text:
            add(self._messages, "user", [{"type": "text", "text": opening.text}])
            self._settled_bytes = bytes_told(self._messages)

    @property
    def bytes(self) -> int:
        """Of memory, with the files in it; see `memory`."""
        total = self._settled_bytes + bytes_kept(self._turn.entries)
        if self.clean.mended:  # of blocks that are mostly the same
            total += OF_A_MESSAGE * len(self.clean.mended)
        return total

    def stays_with(self, prefix: str, files: Files) -> bool:
        """Whether what is told of all turns but the last is the same with these."""
        if self._has_thoughts and prefix != self.prefix:
            return False
        if not self._files:
            return True
        told = self._files.items()
        return all(_are_same(blocks, files.get(message_id, ())) for message_id, blocks in told)

    def add(self, log: Iterable[Stamped], files: Files) -> None:
        """What came next. `files` are the blocks of all that was attached, by the message's id."""
        for entry in log:
            event = entry.envelope.event
            if type(event) is k.UserMessageSent:
                self._settle(files)
            self._turn.add(entry, event)

    def telling(
        self,
        files: Files,
        *,
        to_be_answered: Set[str] = frozenset(),
        fully: bool = False,
        ended: bool = False,
    ) -> Checked:
        """All of it. The calls `to_be_answered` are told although they have no result yet: the
        caller adds it. `fully`, `ended`: see `mended`.
        """
        messages, tasks = [*self._messages], dict(self._tasks)
        self._tell_turn(messages, tasks, files, running=self._turn.id)
        return mended(
            messages, to_be_answered=to_be_answered, fully=fully, ended=ended, clean=self.clean
        )

    def _settle(self, files: Files) -> None:
        turn, messages = self._turn, self._messages
        known, last = len(messages), messages[-1] if messages else None
        self._tell_turn(messages, self._tasks, files)
        if last is not None and messages[known - 1] is not last:  # what came was joined to it
            self._settled_bytes -= bytes_told([last])
            known -= 1
        self._settled_bytes += bytes_told(messages[known:])
        if turn.is_refused:
            self._refused = self._refused | refused_turns(turn.entries)
        self._has_thoughts = self._has_thoughts or turn.has_thoughts
        if turn.question in files:
            self._files[turn.question] = files[turn.question]
        self._turn = _Turn()

    def _tell_turn(
        self, messages: list[ApiMessage], tasks: Tasks, files: Files, running: str | None = None
    ) -> None:
        turn, known = self._turn, self._refused
        refused = known | refused_turns(turn.entries) if turn.is_refused else known
        for entry, heard in heard_by(self._speaker, turn.entries, tasks):
            if entry.turn_id in refused:
                if not refused[entry.turn_id] or is_refusal(entry):
                    continue
                if isinstance(entry.event, k.UserMessageSent):
                    add(messages, "user", [{"type": "text", "text": LEFT_OUT}])
                    continue
            if heard is not None:
                add(messages, "user", [{"type": "text", "text": heard}])
                continue
            match entry.envelope.event:
                case k.UserMessageSent(content=content, message_id=message_id):
                    text = {"type": "text", "text": content}
                    add(messages, "user", [*files.get(message_id, ()), text])
                case k.Message() as message:
                    add(messages, "assistant", self._blocks_of(message, entry, running))
                case k.ToolResult() as result:
                    add(messages, "user", [result_block(result)])
                case k.ToolSettled() as settled:
                    add(messages, "user", [{"type": "text", "text": finding(settled)}])

    def _blocks_of(self, message: k.Message, entry: Stamped, running: str | None) -> list[Block]:
        is_known = entry.position > self._forgotten and self.prefix in (None, message.prefix)
        return _replayed(message.blocks, self._turn.call_ids, is_known or entry.turn_id == running)


class _Turn:
    """The last turn of a history, and what is noted of its events as they come."""

    __slots__ = ("call_ids", "entries", "has_thoughts", "id", "is_refused", "question")

    def __init__(self) -> None:
        self.entries: list[Stamped] = []
        self.id: str | None = None
        self.question = ""  # its message's id
        self.call_ids: dict[str, None] = {}  # see `Window.tool_ids`
        self.has_thoughts = False
        self.is_refused = False

    def add(self, entry: Stamped, event: Event) -> None:
        self.entries.append(entry)
        match event:
            case k.UserMessageSent(message_id=message_id):
                self.id, self.question = entry.turn_id, message_id
            case k.Message(blocks=blocks, stop_reason=reason):
                self.is_refused = self.is_refused or reason == "refusal"
                for block in blocks:
                    self.has_thoughts = self.has_thoughts or block["type"] in THOUGHTS
            case k.ToolUse(tool_use_id=call):
                self.call_ids[call] = None


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
    ended: bool = False,
    clean: CleanHistory | None = None,
) -> Checked:
    """The messages with every broken rule repaired; unchanged if no rule is broken.

    `fully`: also repair blocks and fields that the model sent and we do not know. This is for a
    model that rejects its own blocks. `ended`: the assistant does not go on from its last word.
    `clean`: what was clean before is not checked again.
    """
    without = frozenset[str]() if fully else NOT_OURS_TO_JUDGE
    without = without | {ENDS_WITHOUT_SPACE} if ended else without
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


def finding(settled: k.ToolSettled) -> str:
    """What a person found out later about a call that was in doubt."""
    effect = "took effect" if settled.happened else "took no effect"
    note = f" Their note: {settled.note}" if settled.note else ""
    call = f"{settled.tool_name} ({settled.tool_use_id})"
    return f"[A person checked the call {call} that was in doubt: it {effect}.{note}]"


def _replayed(
    blocks: Iterable[Block], call_ids: Container[str], keep_thoughts: bool
) -> list[Block]:
    """Those that go back. A call that was cut short does not."""
    return [
        block
        for block in blocks
        if (
            block["id"] in call_ids
            if block["type"] == "tool_use"
            else keep_thoughts or block["type"] not in THOUGHTS
        )
    ]


def answer_blocks(message: k.Message, calls: Iterable[k.ToolUse]) -> list[Block]:
    """What goes back to the model of an answer that it has just given, with these calls."""
    return _replayed(message.blocks, {call.tool_use_id for call in calls}, keep_thoughts=True)


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
