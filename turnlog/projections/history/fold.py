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

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.content import Block
from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.clean import Checked, CleanHistory, mended, was_mended_in_full
from turnlog.projections.history.messages import (
    ApiMessage,
    add,
    finding,
    is_refusal,
    refused_turns,
    replayed,
    result_block,
)
from turnlog.projections.history.points_of_view import Tasks, heard_by
from turnlog.projections.history.window.memory import OF_A_MESSAGE, bytes_kept, bytes_told
from turnlog.projections.history.window.opening import NO_OPENING, Opening, opening_of

LEFT_OUT = "(A question that was refused is left out. What was done for it follows.)"
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
        return replayed(message.blocks, self._turn.call_ids, is_known or entry.turn_id == running)


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


def _last_move(log: Iterable[Stamped]) -> int:
    moves = [entry.position for entry in log if isinstance(entry.event, k.HistoryAnchored)]
    return moves[-1] if moves else -1
