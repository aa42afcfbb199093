"""A simulated prompt cache: prefixes up to each `cache_control` mark, per API key, for a while.

In:  a request, and when it comes.
Out: how many of its tokens are read from the cache, written to it (by lifetime), or neither.

As the API has it: tools before system before messages; the longest known prefix is read; a mark
looks back over 20 blocks; a prefix below the minimum is not cached; a read renews the lifetime.
Only the minimum is one number here, while it differs between real models.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from . import tokens
from .script import Json, Reply

MINIMUM_TOKENS = 1024
LOOK_BACK = 20
LIFETIME = {"5m": 300.0, "1h": 3600.0}
MOST_ENTRIES = 10_000


@dataclass(frozen=True)
class Prefix:
    """A request up to the end of one block."""

    hash: str
    tokens: int
    ttl: str | None  # of the mark on this block


@dataclass
class Entry:
    """A prefix that somebody has written."""

    lifetime: float
    until: float


class PromptCache:
    """What was sent before. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._entries: dict[tuple[str, str], Entry] = {}

    def charge(self, reply: Reply, body: Json, key: str) -> Reply:
        """The reply with what its request has read and written; a script's own numbers stay."""
        usage = reply.usage
        is_told = usage.input_tokens is not None or usage.cache_read
        if is_told or usage.cache_write_5m or usage.cache_write_1h:
            return reply
        read, written_1h, written_5m = self._amounts(body, key)
        cached = read + written_1h + written_5m
        final = usage.final_input_tokens
        return reply.but(
            usage=replace(
                usage,
                cache_read=read,
                cache_write_1h=written_1h,
                cache_write_5m=written_5m,
                final_input_tokens=None if final is None else max(1, final - cached),
            )
        )

    def _amounts(self, body: Json, key: str) -> tuple[int, int, int]:
        """Tokens read, written for an hour, written for five minutes: in that order in the text."""
        every = list(prefixes(body))
        marks = [at for at, p in enumerate(every) if p.ttl and p.tokens >= MINIMUM_TOKENS]
        if not marks:
            return 0, 0, 0
        read = self._longest_hit(every, marks, key)
        ends = {"1h": read, "5m": read}
        for at in marks:
            prefix = every[at]
            self._write(key, prefix)
            ends[prefix.ttl or "5m"] = max(read, prefix.tokens)
        hour = ends["1h"]
        return read, hour - read, max(0, ends["5m"] - hour)

    def _longest_hit(self, every: list[Prefix], marks: list[int], key: str) -> int:
        for mark in reversed(marks):
            for at in range(mark, max(-1, mark - LOOK_BACK), -1):
                entry = self._entries.get((key, every[at].hash))
                if entry and entry.until > self._now():
                    entry.until = self._now() + entry.lifetime
                    return every[at].tokens
        return 0

    def _write(self, key: str, prefix: Prefix) -> None:
        lifetime = LIFETIME[prefix.ttl or "5m"]
        self._entries.pop((key, prefix.hash), None)  # the newest stand at the end
        self._entries[key, prefix.hash] = Entry(lifetime, self._now() + lifetime)
        while len(self._entries) > MOST_ENTRIES:
            del self._entries[next(iter(self._entries))]


def prefixes(body: Json) -> Iterator[Prefix]:
    """Every block with all that comes before it, in the order of the prompt."""
    digest = hashlib.sha256(str(body.get("model")).encode())
    characters = 0
    blocks = list(_blocks(body))
    for at, (place, block) in enumerate(blocks):
        digest.update(msgspec.json.encode([place, _unmarked(block)]))
        characters += tokens.characters(block)
        ttl = _ttl(block) or (_ttl(body) if at == len(blocks) - 1 else None)
        yield Prefix(digest.hexdigest(), characters // tokens.CHARACTERS_PER_TOKEN, ttl)


def _blocks(body: Json) -> Iterator[tuple[Any, Json]]:
    """(what belongs to its place, the block). What changes how a conversation is read counts
    with the first message: other thinking or another choice of tools keeps tools and system."""
    for tool in body.get("tools") or ():
        yield "tool", tool
    system = body.get("system") or ()
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield "system", block
    how = [body.get("thinking"), body.get("tool_choice")]
    for at, message in enumerate(body["messages"]):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in parts:
            yield [message["role"], how if at == 0 else None], block


def _unmarked(value: Any) -> Any:
    match value:
        case dict():
            return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(part) for part in value]
    return value


def _ttl(block: Json) -> str | None:
    """The lifetime of the mark on a block, or on one inside of a tool's result."""
    mark = block.get("cache_control")
    if isinstance(mark, dict):
        ttl = mark.get("ttl", "5m")
        return ttl if ttl in LIFETIME else "5m"
    inside = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inside, list):
        return next(filter(None, map(_ttl, reversed(inside))), None)
    return None
