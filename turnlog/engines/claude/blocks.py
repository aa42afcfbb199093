"""One content block while it is written: its pieces in, chunks for the screen out.

Text, thoughts and arguments are put together here. A block or a delta that has no rule is
kept by `merge`, so that what the API learns later is stored and goes back to it unchanged.
"""

from collections.abc import Callable
from typing import Any

from turnlog.engines.claude.bounds import Meter
from turnlog.engines.claude.drops import DELTA_FIELDS
from turnlog.engines.claude.sse import decode
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.content import Block
from turnlog.events.numbers import arguments
from turnlog.ports import UnreadableCall

Raw = dict[str, Any]
Outputs = list[Any]  # where what is to be shown goes, in order
PIECES = ("text", "thinking", "partial_json", "signature", "citation")  # one a known delta


class Open:
    """A block that has begun. `block` is whole once it is closed."""

    __slots__ = (
        "_cited", "_message_id", "_meter", "_since", "_uncited", "_unsaid",
        "aside", "block", "closed", "duration", "pieces", "position", "rules", "unreadable",
    )  # fmt: skip

    def __init__(
        self, block: Block, message_id: str, position: int, now: float, meter: Meter
    ) -> None:
        self._meter = meter
        self.block = block
        self._message_id = message_id
        self.duration: int | None = None  # milliseconds, of a thought that is whole
        self.position = position  # among the blocks of the message
        self.closed = False
        self.pieces: list[str] = []  # of the text or the thought, as chunks said it; or arguments
        self.rules = RULES.get(block["type"], OTHER_RULES)
        self.aside: Raw = {}  # what came with it, and is no part of it
        self.unreadable: UnreadableCall | None = None  # where its arguments cannot be
        self._unsaid: list[str] = []  # pieces that no chunk has
        self._cited: list[Raw] = []
        self._uncited: list[Raw] = [dict(each) for each in block.get("citations") or ()]
        self._since = now
        if block["type"] in ("text", "thinking") and (text := block.get(block["type"])):
            self._unsaid.append(text)

    def say(self, out: Outputs) -> None:
        """What has come since the last time, as one chunk."""
        if not self._unsaid:
            return
        name, index = self._message_id, self.position
        thinks = self.block["type"] == "thinking"
        if thinks and not self.pieces:
            out.append(k.ThinkingStart(message_id=name, block_index=index))
        text = "".join(self._unsaid)
        self._meter.wrote(len(text))
        self.pieces.append(text)
        self._unsaid = []
        if thinks:
            out.append(k.ThinkingChunk(message_id=name, content=text, block_index=index))
        elif not self._uncited:
            out.append(k.MessageChunk(message_id=name, content=text, block_index=index))
        else:
            out.append(self._cited_chunk(text))

    def close(self, now: float, out: Outputs) -> None:
        """The block is whole: say the rest of it."""
        self.closed = True
        self.say(out)
        match self.block["type"]:
            case "text":
                if self._uncited:
                    out.append(self._cited_chunk(""))
                self.block["text"] = "".join(self.pieces)
            case "thinking":
                self.block["thinking"] = "".join(self.pieces)
                self.duration = round((now - self._since) * 1000)
                if self.pieces:  # one that the API does not show us is nothing to show
                    out.append(self._whole_thought(self.duration))
            case _ if self.pieces:
                self._close_json("".join(self.pieces))
        check(self.block)

    # one rule for each type of delta

    def text(self, delta: Raw, out: Outputs) -> None:
        if piece := delta["text"]:
            self._unsaid.append(piece)

    def thought(self, delta: Raw, out: Outputs) -> None:
        if piece := delta["thinking"]:
            self._unsaid.append(piece)

    def arguments(self, delta: Raw, out: Outputs) -> None:
        self.pieces.append(delta["partial_json"])

    def signature(self, delta: Raw, out: Outputs) -> None:
        self.block["signature"] = delta["signature"]

    def citation(self, delta: Raw, out: Outputs) -> None:
        self.say(out)  # it belongs to the text that comes after it
        citation = dict(delta["citation"])
        if not self._cited:  # a list of its own, that grows
            self.block["citations"] = self._cited = list(self.block.get("citations") or ())
        self._cited.append(citation)
        self._uncited.append(citation)

    def compaction(self, delta: Raw, out: Outputs) -> None:
        self.block |= {n: v for n, v in delta.items() if n != "type" and v is not None}

    def unknown(self, delta: Raw, out: Outputs) -> None:
        merge(self.block, delta)

    def keep_aside(self, delta: Raw) -> None:
        """Fields that a known delta did not have: kept, but not sent back with the block."""
        rule = self.rules.get(delta["type"])
        if rule is not None and rule is not Open.compaction:
            more = {name: delta[name] for name in delta if name not in PIECES}
            kind = delta["type"]
            merge(self.aside, {n: v for n, v in more.items() if (kind, n) not in DELTA_FIELDS})

    # inside

    def _cited_chunk(self, text: str) -> Event:
        index, cited, self._uncited = self.position, self._uncited, []
        return k.MessageChunk(
            message_id=self._message_id,
            content=text,
            block_index=index,
            citations=[{**citation, "blockIndex": index} for citation in cited],
        )

    def _whole_thought(self, duration: int) -> Event:
        return k.ThinkingComplete(
            message_id=self._message_id,
            content=self.block["thinking"],
            block_index=self.position,
            duration=duration,
            signature=self.block.get("signature", ""),
        )

    def _close_json(self, text: str) -> None:
        """Put the arguments together. What is not a JSON object is kept, but never run; nor is
        what has a number that would be rounded.
        """
        if not text.strip():
            return
        self._meter.wrote(len(text))
        self.block["input"], why = arguments(text, decode)
        if why is not None:
            self.unreadable = UnreadableCall(block=self.position, why=why)
            self.aside["partial_json"] = text


def merge(block: Raw, delta: Raw) -> None:
    """Put a delta's fields into a block: texts and lists grow, anything else is replaced.

    That is what the deltas we know do, all but two; a field that is null says nothing.
    """
    for name, value in delta.items():
        if name == "type" or value is None:
            continue
        before = block.get(name)
        grows = isinstance(value, str | list) and isinstance(before, type(value))
        block[name] = before + value if grows and before is not None else value


def check(block: Block) -> None:
    """Raises a TypeError for a block that could not go back to the model, or be read here."""
    kind: str = block["type"]
    if not kind.endswith(tuple(NEEDED)):
        return
    if kind.endswith("tool_use") and block.get("input") is None:
        block["input"] = {}  # a call without arguments
    for ending, needed in NEEDED.items():
        if kind.endswith(ending):
            for name, wanted in needed.items():
                if not isinstance(block.get(name), wanted):
                    raise TypeError(f"{kind} with the {name} {block.get(name)!r}")


NEEDED: dict[str, dict[str, type]] = {  # by how the type of the block ends
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
}
Rule = Callable[[Open, Raw, Outputs], None]
# By the type of the block. The same delta in another block is unknown, and merged into it.
RULES: dict[str, dict[str, Rule]] = {
    "text": {"text_delta": Open.text, "citations_delta": Open.citation},
    "thinking": {"thinking_delta": Open.thought, "signature_delta": Open.signature},
    "compaction": {"compaction_delta": Open.compaction},
}
OTHER_RULES: dict[str, Rule] = {"input_json_delta": Open.arguments}  # tools of every kind
