"""One model call: the bytes of Claude's stream in, our events out. Pure, no I/O.

The raw stream is read instead of the SDK's accumulator, which drops fields and takes a
stream that was cut for a whole one. Blocks are kept as they came, also those that did not
exist when this was written, because they go back to the model unchanged. What is dropped
is named in `drops.py`, and nothing else is.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable

from msgspec import UNSET

from turnlog.engines.claude.blocks import OTHER_RULES, Open, Raw, merge
from turnlog.engines.claude.bounds import Meter
from turnlog.engines.claude.errors import UNREADABLE, failed, stream_error
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.content import Block, usage_of
from turnlog.ports import CallOutput, CallStarted

Output = CallOutput
_log = logging.getLogger(__name__)
_OUR_OWN = ("id", "type", "role", "content", "model", "stop_reason", "usage")
_PARTS = ("type", "index", "message", "content_block", "delta", "usage")  # of all events


class Call:
    """Collects one answer. `finished` once the stream said that it is over."""

    def __init__(
        self, max_tokens: int = 1_000_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self.meter = Meter(max_tokens)
        self.finished = False
        self.failure: EngineFailed | None = None  # what the stream broke on
        self._unknown: list[Raw] = []  # events of types that have no rule
        self._began = False
        self._reset({})

    def feed(self, raws: Iterable[Raw]) -> list[Output]:
        """Our events for these raw ones, up to the end of the answer or to a `failure`.

        Pieces of one block that are fed together come out as one chunk.
        """
        out: list[Output] = []
        try:
            try:
                for raw in raws:
                    rule, fields = _RULES.get(raw.get("type", "error"), _NO_RULE)
                    rule(self, raw, out)
                    if self.finished:
                        break
                    if len(raw) > fields:
                        self._keep_aside(raw)
            finally:
                if self._open is not None:
                    self._open.say(out)
        except EngineFailed as failure:
            self.failure = failure
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            _log.warning("the stream cannot be read: %r", error)
            self.failure = failed(UNREADABLE)
        return out

    @property
    def stop_reason(self) -> str:
        return _word(self._message.get("stop_reason")) or "end_turn"

    @property
    def blocks(self) -> list[Block]:
        return [opened.block for opened in self._blocks.values()]

    @property
    def is_silent(self) -> bool:
        """Whether the block that is being written is shown only when it is whole: a tool call."""
        return self._open is not None and self._open.rules is OTHER_RULES

    def _reset(self, message: Raw) -> None:
        self._message = message
        self.message_id = _word(message.get("id"))
        self._usage: Raw = dict(message.get("usage") or {})
        self._blocks: dict[int, Open] = {}  # by the API's index, in the order they came
        self._open: Open | None = None  # the one that is being written
        self._more: Raw = {}  # fields that events had beside the known ones

    # one rule for each type of raw event

    def _message_start(self, raw: Raw, out: list[Output]) -> None:
        self._turn_to(None, out)
        self._reset(dict(raw["message"]))
        self._began = True
        model = _word(self._message.get("model"))
        out.append(CallStarted(message_id=self.message_id, model=model, reported=self._usage))
        for index, block in enumerate(self._message.get("content") or ()):
            self._block_start({"index": index, "content_block": block}, out)
            self._block_stop({"index": index}, out)

    def _block_start(self, raw: Raw, out: list[Output]) -> None:
        index, block = raw["index"], dict(raw["content_block"])
        again = self._blocks.get(index)
        position = again.position if again else len(self._blocks)
        self.meter.began_block()
        opened = Open(block, self.message_id, position, self._clock(), self.meter)
        self._turn_to(opened, out)
        self._blocks[index] = opened
        if block["type"] == "fallback":
            # The SDK: "the final hop's fallback block names the model that served the response"
            self._message["model"] = (block.get("to") or {}).get("model")

    def _block_delta(self, raw: Raw, out: list[Output]) -> None:
        opened, delta = self._blocks[raw["index"]], raw["delta"]
        if opened is not self._open:
            self._turn_to(opened, out)
        opened.rules.get(delta["type"], Open.unknown)(opened, delta, out)
        if len(delta) > 2:
            opened.keep_aside(delta)

    def _block_stop(self, raw: Raw, out: list[Output]) -> None:
        opened = self._blocks[raw["index"]]
        self._turn_to(None, out)
        opened.close(self._clock(), out)

    def _message_delta(self, raw: Raw, out: list[Output]) -> None:
        self._message |= {n: v for n, v in raw["delta"].items() if v is not None}
        # The counts in message_delta are cumulative: replaced, never added up.
        self._usage |= {n: v for n, v in (raw.get("usage") or {}).items() if v is not None}

    def _message_stop(self, raw: Raw, out: list[Output]) -> None:
        if not self._began:
            raise LookupError("a message_stop without a message_start")
        for index in [index for index, opened in self._blocks.items() if not opened.closed]:
            self._block_stop({"index": index}, out)
        if len(raw) > 1:
            self._keep_aside(raw)
        out += self._kept()
        self.finished = True

    def _error(self, raw: Raw, out: list[Output]) -> None:
        """Gateways send some without a type."""
        error = raw.get("error") if "type" in raw else raw["error"]
        _log.warning("the API broke the stream off: %s", raw)
        raise stream_error(error)

    def _ping(self, raw: Raw, out: list[Output]) -> None:
        """A sign of life."""

    def _keep_unknown(self, raw: Raw, out: list[Output]) -> None:
        _log.debug("the API sent an event of a new type: %r", raw["type"])
        self._unknown.append(raw)

    # inside

    def _turn_to(self, opened: Open | None, out: list[Output]) -> None:
        """Another block is being written now: say what there is of the one before."""
        if self._open is not None:
            self._open.say(out)
        self._open = opened
        if opened is not None:
            opened.closed = False  # also one that had been closed: what comes now is a part of it

    def _keep_aside(self, raw: Raw) -> None:
        """Fields of an event that has more than it had when this was written."""
        more = {name: value for name, value in raw.items() if name not in _PARTS}
        if "index" in raw:
            merge(self._blocks[raw["index"]].aside, more)
        else:
            merge(self._more, more)

    def _kept(self) -> list[Output]:
        usage = usage_of(self._usage)
        message = k.Message(
            message_id=self.message_id,
            blocks=self.blocks,
            stop_reason=self.stop_reason,
            model=_word(self._message.get("model")),
            token_usage=usage,
            reported=self._usage,
            details=self._details(),
        )
        calls = [opened.unreadable for opened in self._blocks.values()]
        outputs: list[Output] = [call for call in calls if call is not None]
        if cited := message.citations:
            outputs.append(
                k.CitationsFound(message_id=self.message_id, count=len(cited), citations=cited)
            )
        thoughts = [opened for opened in self._blocks.values() if _is_a_thought(opened.block)]
        tokens = usage.thinking_tokens if len(thoughts) == 1 else None
        outputs += [self._thought(opened, tokens) for opened in thoughts]
        return [*outputs, message]

    def _thought(self, opened: Open, tokens: int | None) -> k.Thinking:
        block = opened.block
        return k.Thinking(
            message_id=self.message_id,
            content=_word(block.get("thinking")),
            block_index=opened.position,
            duration=opened.duration,
            thinking_tokens=UNSET if tokens is None else tokens,
            signature=_word(block.get("signature")) or _word(block.get("data")),
            redacted=block["type"] == "redacted_thinking",
        )

    def _details(self) -> Raw:
        """What else the API said: fields of the message, and under `aside` what has no place."""
        details = {n: v for n, v in self._message.items() if n not in _OUR_OWN and v is not None}
        details |= self._more
        aside: Raw = {
            f"block {opened.position}": opened.aside
            for opened in self._blocks.values()
            if opened.aside
        }
        if self._unknown:
            aside["events"] = self._unknown
        return details | ({"aside": aside} if aside else {})


def _word(value: object) -> str:
    """What should be text and is not cannot be kept as text, or read again."""
    return value if isinstance(value, str) else ""


def _is_a_thought(block: Block) -> bool:
    """One that is there to be shown; an empty one, with its signature, is in the message alone."""
    return block["type"] == "redacted_thinking" or (
        block["type"] == "thinking" and bool(block.get("thinking"))
    )


# With the number of fields that it has today; an event with more has them kept aside.
_RULES: dict[str, tuple[Callable[[Call, Raw, list[Output]], None], int]] = {
    "message_start": (Call._message_start, 2),
    "content_block_start": (Call._block_start, 3),
    "content_block_delta": (Call._block_delta, 3),
    "content_block_stop": (Call._block_stop, 2),
    "message_delta": (Call._message_delta, 3),
    "message_stop": (Call._message_stop, 1),
    "error": (Call._error, 2),
    "ping": (Call._ping, 1),
}
_NO_RULE = (Call._keep_unknown, sys.maxsize)
