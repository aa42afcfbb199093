"""One call of a model: what it is told, and what comes of it."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from turnlog.events.base import Event
from turnlog.events.chunks import Chunk
from turnlog.events.content import Sampling
from turnlog.events.numbers import NO_OBJECT
from turnlog.ports.tools import ToolSpec

# Shows chunks at once, and wakes nobody for them. False: they have to be yielded. It is used while
# the one who asked waits for the next batch, never while a batch is being taken.
Straight = Callable[[Sequence[Chunk]], bool]


def not_straight(chunks: object) -> bool:
    """Everything has to be yielded."""
    return False


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a model is told in one call.

    Nothing in it may be changed: its messages are told again in later calls, also of later turns.
    To change some, copy them.
    """

    model: str
    system: str
    messages: list[dict[str, Any]]  # Messages API form, valid for the model
    max_tokens: int
    tools: Sequence[ToolSpec] = ()
    thinking_budget: int | None = None  # None: don't think
    sampling: Sampling | None = None  # its `max_tokens` is in `max_tokens` already
    searches: int | None = None  # web searches that are left; None: the model may not search
    output_schema: Mapping[str, Any] | None = None  # what the answer must be, as JSON
    container: str | None = None  # of the provider's own tools, to go back to
    compaction: str | None = None  # how to summarize the messages; instead of an answer
    straight: Straight = not_straight


class CallStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The model began to answer. Not an event: it says what an unfinished answer would be."""

    message_id: str
    model: str
    reported: dict[str, Any]  # usage so far


class UnreadableCall(msgspec.Struct, frozen=True, kw_only=True):
    """The model asked for a tool with arguments that cannot be read. Not an event."""

    block: int  # of the message that comes with it
    why: str = NO_OBJECT  # for the model


CallOutput = Event | CallStarted | UnreadableCall


class Model(Protocol):
    """One call. It translates a provider's stream into our events and decides nothing.

    Promises: a call yields CallStarted first, then its pieces; its last batch has an
    UnreadableCall for each such call, then `thinking`*, `message`. Ids are the provider's. The
    call goes on only when the next batch is asked for. While that is waited for, chunks may also
    come by `prompt.straight`. It raises EngineFailed, and nothing else, for what the provider did.
    """

    def call(self, prompt: Prompt) -> AsyncGenerator[Sequence[CallOutput], None]: ...

    async def count(self, prompt: Prompt) -> int:
        """How many tokens the model would be told. Raises EngineFailed."""
        ...

    async def open(self) -> None:
        """Get ready in the background; returns at once."""
        ...

    async def close(self) -> None: ...


# Where a model call's bytes go, with its id if it got one. None: they are not kept.
KeepRaw = Callable[[str, list[bytes]], None] | None
