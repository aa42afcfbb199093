"""One model call: the bytes of Claude's stream in, our events out. Pure, no I/O.

The raw stream is read instead of the SDK's accumulator, which drops fields and takes a
stream that was cut for a whole one. Blocks are kept as they came, also those that did not
exist when this was written, because they go back to the model unchanged.
"""

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from turnlog.engines.claude_errors import UNREADABLE, failed, stream_error
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.content import Block, usage_of
from turnlog.ports import CallStarted

Raw = dict[str, Any]
Output = Event | CallStarted
_decode: Callable[[bytes], Raw] = msgspec.json.Decoder().decode
_log = logging.getLogger(__name__)
_OUR_OWN = ("id", "type", "role", "content", "model", "stop_reason", "usage")


class SseSplitter:
    """Bytes, cut anywhere, to the JSON objects of a server-sent event stream."""

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, piece: bytes) -> Iterator[Raw]:
        """The events that this piece completes, decoded as they are taken."""
        if b"\r" in piece or b"\r" in self._tail:
            # A piece may end between the two characters of a line end: wait for the other.
            piece = (self._tail + piece).replace(b"\r\n", b"\n")
            self._tail = b""
        *frames, self._tail = (self._tail + piece).split(b"\n\n")
        return (_decode(data) for data in map(_data_of, frames) if data)

    def close(self) -> list[Raw]:
        """What was left without a blank line after it, when it is whole."""
        data = _data_of(self._tail)
        try:
            return [_decode(data)] if data else []
        except (RecursionError, ValueError):
            return []


def _data_of(frame: bytes) -> bytes:
    # Only at the start of a line: a comment may hold the word too.
    start = 0 if frame.startswith(b"data:") else frame.find(b"\ndata:") + 1
    if not frame.startswith(b"data:", start) or frame.startswith(b"event: ping"):
        return b""
    data = frame[start + 5 :].strip()
    if b"\n" in data:  # several lines: the format allows it, Claude does not do it
        lines = frame[start:].split(b"\n")
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    return b"" if data == b"[DONE]" else data


class Call:
    """Collects one answer. `finished` once the stream said that it is over."""

    def __init__(
        self, taken: set[str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`taken`: tool ids of the conversation, which must not come again."""
        self._taken = set() if taken is None else taken
        self._clock = clock
        self.finished = False
        self.failure: EngineFailed | None = None  # what the stream broke on
        self.unreadable: set[str] = set()  # tool calls whose arguments are not JSON objects
        self._reset({})

    def feed(self, raws: Iterable[Raw]) -> list[Output]:
        """Our events for these raw ones, up to the end of the answer or to a `failure`."""
        out: list[Output] = []
        try:
            for raw in raws:
                rule = _RULES.get(raw["type"])
                if rule is not None:
                    rule(self, raw, out)
                if self.finished:
                    break
        except EngineFailed as failure:
            self.failure = failure
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            _log.warning("the stream cannot be read: %r", error)
            self.failure = failed(UNREADABLE)
        return out

    @property
    def stop_reason(self) -> str:
        return self._message.get("stop_reason") or "end_turn"

    @property
    def blocks(self) -> list[Block]:
        return [self._blocks[index] for index in sorted(self._blocks)]

    def _reset(self, message: Raw) -> None:
        self._message = message
        self._usage: Raw = dict(message.get("usage") or {})
        self._blocks: dict[int, Block] = {}
        self._pieces: list[str] = []  # of the block that is open: text, thought or JSON
        self._uncited: list[Raw] = []  # citations whose text has not come yet
        self._since = 0.0

    # one rule for each type of raw event

    def _message_start(self, raw: Raw, out: list[Output]) -> None:
        self._reset(dict(raw["message"]))
        started = CallStarted(
            message_id=self._message.get("id") or "",
            model=self._message.get("model") or "",
            reported=self._usage,
        )
        out.append(started)
        for index, block in enumerate(self._message.get("content") or ()):
            self._block_start({"index": index, "content_block": block}, out)
            self._block_stop({"index": index}, out)

    def _block_start(self, raw: Raw, out: list[Output]) -> None:
        index, block = raw["index"], dict(raw["content_block"])
        self._blocks[index] = block
        self._pieces = []
        self._since = self._clock()
        if block["type"] == "thinking":
            out.append(k.ThinkingStart(block_index=index))
            self._thought({"thinking": block.get("thinking", "")}, index, out)
        elif block["type"] == "tool_use":
            self._claim_id(block)
        elif block["type"] == "text":
            self._uncited = list(block.get("citations") or ())
            self._text({"text": block.get("text", "")}, index, out)

    def _block_delta(self, raw: Raw, out: list[Output]) -> None:
        delta = raw["delta"]
        rule = _DELTAS.get(delta["type"])
        if rule is not None:
            rule(self, delta, raw["index"], out)

    def _block_stop(self, raw: Raw, out: list[Output]) -> None:
        index = raw["index"]
        block = self._blocks[index]
        if block["type"] == "text":
            if self._uncited:
                self._emit_text("", index, out)
            block["text"] = "".join(self._pieces)
        elif block["type"] == "thinking":
            block["thinking"] = "".join(self._pieces)
            out.append(self._thought_whole(index, block))
        elif self._pieces:
            self._close_json(block)
        self._pieces = []

    def _message_delta(self, raw: Raw, out: list[Output]) -> None:
        self._message.update(raw["delta"])
        # The counts in message_delta are cumulative: replaced, never added up.
        self._usage |= {n: v for n, v in (raw.get("usage") or {}).items() if v is not None}

    def _message_stop(self, raw: Raw, out: list[Output]) -> None:
        self.finished = True
        out.extend(self._kept())

    def _error(self, raw: Raw, out: list[Output]) -> None:
        raise stream_error(raw.get("error") or {})

    # one rule for each type of delta

    def _text(self, delta: Raw, index: int, out: list[Output]) -> None:
        if delta["text"]:
            self._pieces.append(delta["text"])
            self._emit_text(delta["text"], index, out)

    def _thought(self, delta: Raw, index: int, out: list[Output]) -> None:
        if delta["thinking"]:
            self._pieces.append(delta["thinking"])
            out.append(k.ThinkingChunk(content=delta["thinking"], block_index=index))

    def _json(self, delta: Raw, index: int, out: list[Output]) -> None:
        self._pieces.append(delta["partial_json"])

    def _signature(self, delta: Raw, index: int, out: list[Output]) -> None:
        block = self._blocks[index]
        block["signature"] = block.get("signature", "") + delta["signature"]

    def _citation(self, delta: Raw, index: int, out: list[Output]) -> None:
        block = self._blocks[index]
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        self._uncited.append(delta["citation"])

    # inside

    def _claim_id(self, block: Block) -> None:
        """Some gateways number the calls of each answer anew: such an id gets one of ours."""
        if not block.get("id") or block["id"] in self._taken:
            block["id"] = f"toolu_turnlog_{secrets.token_hex(12)}"
        self._taken.add(block["id"])

    def _emit_text(self, text: str, index: int, out: list[Output]) -> None:
        if self._uncited:
            cited = [{"blockIndex": index, **citation} for citation in self._uncited]
            self._uncited = []
            out.append(k.MessageChunk(content=text, block_index=index, citations=cited))
        else:
            out.append(k.MessageChunk(content=text, block_index=index))

    def _thought_whole(self, index: int, block: Block) -> k.ThinkingComplete:
        duration = round((self._clock() - self._since) * 1000)
        return k.ThinkingComplete(content=block["thinking"], block_index=index, duration=duration)

    def _close_json(self, block: Block) -> None:
        """Put the arguments together. What is not a JSON object is never run."""
        text = "".join(self._pieces)
        if not text.strip():
            return
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = None
        if isinstance(value, dict):
            block["input"] = value
        else:
            block["input"] = {}
            self.unreadable.add(block.get("id", ""))

    def _kept(self) -> list[Event]:
        message_id = self._message.get("id") or ""
        message = k.Message(
            message_id=message_id,
            blocks=self.blocks,
            stop_reason=self.stop_reason,
            model=self._message.get("model") or "",
            token_usage=usage_of(self._usage),
            reported=self._usage,
            details={n: v for n, v in self._message.items() if n not in _OUR_OWN and v is not None},
        )
        events: list[Event] = []
        if cited := message.citations:
            events.append(
                k.CitationsFound(message_id=message_id, count=len(cited), citations=cited)
            )
        events += [_thought_kept(message_id, b) for b in self.blocks if "thinking" in b["type"]]
        events.append(message)
        return [*events, *self.calls]

    @property
    def calls(self) -> list[k.ToolUse]:
        """Only a call that the model ended on is run: `max_tokens` may have cut it short."""
        if self.stop_reason != "tool_use":
            return []
        return [
            k.ToolUse(tool_use_id=b["id"], tool_name=b["name"], args=b.get("input") or {})
            for b in self.blocks
            if b["type"] == "tool_use"
        ]


def _thought_kept(message_id: str, block: Block) -> k.Thinking:
    return k.Thinking(
        message_id=message_id,
        content=block.get("thinking", ""),
        signature=block.get("signature") or block.get("data") or "",
        redacted=block["type"] == "redacted_thinking",
    )


_RULES: dict[str, Callable[[Call, Raw, list[Output]], None]] = {
    "message_start": Call._message_start,
    "content_block_start": Call._block_start,
    "content_block_delta": Call._block_delta,
    "content_block_stop": Call._block_stop,
    "message_delta": Call._message_delta,
    "message_stop": Call._message_stop,
    "error": Call._error,
}
_DELTAS: dict[str, Callable[[Call, Raw, int, list[Output]], None]] = {
    "text_delta": Call._text,
    "thinking_delta": Call._thought,
    "input_json_delta": Call._json,
    "signature_delta": Call._signature,
    "citations_delta": Call._citation,
}
