"""The parts that events are made of: tokens, and content blocks as the model sent them."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from turnlog.events.base import Value
from turnlog.events.usage import parts_of

Block = dict[str, Any]  # one content block of the Messages API, kept as it came
Citation = dict[str, Any]  # one citation of the Messages API, with the blockIndex it is from


def writable(text: str) -> str:
    """The text with a question mark for half a surrogate pair, which no store can write."""
    return text.encode(errors="replace").decode()


class Sampling(Value, frozen=True, kw_only=True):
    """How a model is to pick its words, as far as it can be told."""

    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] = []  # it stops where it would write one of these
    max_tokens: int | None = None  # of each of its answers


class TokenUsage(Value, frozen=True, kw_only=True):
    """What a model call used. `input_tokens` does not include what came from the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    thinking_tokens: int | None = None  # part of output_tokens; None where not reported
    total_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        thinking = [t for t in (self.thinking_tokens, other.thinking_tokens) if t is not None]
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            thinking_tokens=sum(thinking) if thinking else None,
            total_tokens=self.total_tokens + other.total_tokens,
        )

    def __sub__(self, part: "TokenUsage") -> "TokenUsage":
        """What is left without a part of it."""
        thinking = self.thinking_tokens
        return TokenUsage(
            input_tokens=self.input_tokens - part.input_tokens,
            output_tokens=self.output_tokens - part.output_tokens,
            cache_write_tokens=self.cache_write_tokens - part.cache_write_tokens,
            cache_read_tokens=self.cache_read_tokens - part.cache_read_tokens,
            thinking_tokens=None if thinking is None else thinking - (part.thinking_tokens or 0),
            total_tokens=self.total_tokens - part.total_tokens,
        )


def usage_of(reported: dict[str, Any]) -> TokenUsage:
    """Our numbers from the usage object of the API, over all of its parts.

    So an answer that was compacted or advised counts also what the compaction and the advisor
    used, which the API reports beside its own sums.
    """
    used = TokenUsage()
    for part in parts_of("", reported):
        used += TokenUsage(
            input_tokens=part.input_tokens,
            output_tokens=part.output_tokens,
            cache_write_tokens=part.write_5m_tokens + part.write_1h_tokens,
            cache_read_tokens=part.read_tokens,
            thinking_tokens=part.thinking_tokens,
            total_tokens=part.total_tokens,
        )
    return used


def hash_of(args: dict[str, Any]) -> str:
    """Of a call's arguments: the same for the same ones, in whatever order they were written."""
    return hashlib.sha256(msgspec.json.encode(args, order="deterministic")).hexdigest()


def text_of(blocks: Iterable[Block]) -> str:
    return "".join([block["text"] for block in blocks if block["type"] == "text"])


class Span(NamedTuple):
    """Where a text block stands in the text of its message. Names as on the wire."""

    blockIndex: int
    start: int
    end: int


def spans_of(blocks: Sequence[Block], indexes: Sequence[int] = ()) -> list[Span]:
    """One span for each text block; `indexes` names the blocks where they are not counted."""
    spans, start = [], 0
    for index, block in zip(indexes or range(len(blocks)), blocks, strict=True):
        if block["type"] == "text":
            end = start + len(block["text"])
            spans.append(Span(index, start, end))
            start = end
    return spans


def citations_of(
    blocks: Sequence[Block], spans: Iterable[Span], cited: Sequence[dict[str, Any]] = ()
) -> list[Citation]:
    """Every citation in order, each with its block and where the cited words stand.

    The API cites a block as a whole: the words of a citation are those of its block. `cited` is
    what was found out about each, as far as anything was.
    """
    texts = (block for block in blocks if block["type"] == "text")
    citations = [
        {**(place := span._asdict()), **citation, **place}  # no word of the API's takes its place
        for span, block in zip(spans, texts, strict=True)
        for citation in block.get("citations") or ()
    ]
    known: list[dict[str, Any]] = [*cited, *[{}] * (len(citations) - len(cited))]
    return [citation | found for citation, found in zip(citations, known, strict=True)]


def idempotency_key(session_id: str, tool_use_id: str, args_hash: str) -> str:
    """The same for the same call with the same arguments, whoever runs it and how often."""
    return hash_of({"call": [session_id, tool_use_id, args_hash]})[:32]
