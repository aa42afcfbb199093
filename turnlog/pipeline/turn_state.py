"""All that changes during a turn. Made fresh for each, passed along, never shared."""

import secrets
import time
import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.content import Block, TokenUsage, usage_of
from turnlog.ports import CallStarted, Turn
from turnlog.projections.transcript import GOES_ON


class DraftBlock(msgspec.Struct):
    """A block that is being written: its pieces so far."""

    kind: str  # "text" or "thinking"
    index: int
    pieces: list[str]


class Draft(msgspec.Struct, kw_only=True):
    """What has been shown of an answer that is not kept yet."""

    message_id: str
    model: str
    reported: dict[str, Any]
    position: int  # the log ended here when the call began
    index: int  # the next place on screen, when this was saved
    agent: AgentRef
    blocks: list[DraftBlock] = []

    def add(self, kind: str, index: int, piece: str) -> None:
        if not self.blocks or (self.blocks[-1].kind, self.blocks[-1].index) != (kind, index):
            self.blocks.append(DraftBlock(kind, index, []))
        self.blocks[-1].pieces.append(piece)

    def kept(self, stop_reason: str) -> list[Event]:
        """The events that keep what was shown. It is billed by what was last reported."""
        thoughts: list[Event] = [
            k.Thinking(message_id=self.message_id, content="".join(block.pieces))
            for block in self.blocks
            if block.kind == "thinking"
        ]
        return [*thoughts, self._message(stop_reason)]

    def _message(self, stop_reason: str) -> k.Message:
        blocks: list[Block] = [
            {"type": "text", "text": "".join(block.pieces)}
            for block in self.blocks
            if block.kind == "text"
        ]
        return k.Message(
            message_id=self.message_id,
            blocks=blocks,
            stop_reason=stop_reason,
            model=self.model,
            token_usage=usage_of(self.reported),
            reported=self.reported,
        )


class TurnState:
    """Where a turn stands."""

    def __init__(self, turn: Turn, agent: AgentRef, *, index: int = 0) -> None:
        self.turn = turn
        self.agent = agent  # who speaks now
        self.index = index  # of the next event on screen
        self.position = -1  # number of the last kept event
        self.asked_tools: set[str] = set()
        self.open_tools: dict[str, k.ToolUse] = {}
        self.draft: Draft | None = None
        self.usage = TokenUsage()
        self.last_message: k.Message | None = None
        self.tools_used: list[str] = []
        self._stem = _stem()
        self._made = 0

    @property
    def answered(self) -> bool:
        """Whether the last thing said was meant as the end."""
        last = self.last_message
        return last is not None and last.stop_reason not in GOES_ON

    def new_event_id(self) -> str:
        """A UUID: random for the turn, counted within it, so that it costs nothing."""
        self._made += 1
        return f"{self._stem}-{self._made:012x}"

    def call_started(self, call: CallStarted) -> None:
        self.draft = Draft(
            message_id=call.message_id or new_message_id(),
            model=call.model,
            reported=call.reported,
            position=self.position,
            index=self.index,
            agent=self.agent,
        )

    def message_kept(self, message: k.Message) -> None:
        self.draft = None
        self.usage += message.token_usage
        self.last_message = message


def new_id() -> str:
    return str(uuid.uuid4())


def new_message_id() -> str:
    """For a message whose provider gave none, or one that is taken."""
    return f"msg_turnlog_{secrets.token_hex(12)}"


def now() -> str:
    """The time, as RFC 3339 in UTC."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=2)  # every chunk has a time, and many share a second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _stem() -> str:
    # RFC 9562, section 5.8: version 8 leaves the bits to us.
    bits = secrets.token_hex(8)
    return f"{bits[:8]}-{bits[8:12]}-8{bits[12:15]}-a{secrets.token_hex(2)[:3]}"
