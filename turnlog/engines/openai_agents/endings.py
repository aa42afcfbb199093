"""How an answer of the Chat Completions API ended, which the SDK does not pass on.

It takes a stream that broke off for a whole answer, and would have a call run whose arguments
never came; and it fails for an answer that was cut before its first visible word.
"""

from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass
class Ending:
    """Of one model call."""

    is_watched: bool = False  # whether anybody notes the reason
    reason: str | None = None  # stop, length, tool_calls, content_filter


_ending: ContextVar[Ending | None] = ContextVar("_ending", default=None)


def awaited() -> Ending:
    """The ending of the call that this task makes next."""
    ending = Ending()
    _ending.set(ending)
    return ending


def watched(client: Any) -> Any:
    """The client, whose streams of chunks note how they end."""
    create = client.chat.completions.create

    async def noting(**asked: Any) -> Any:
        answer, ending = await create(**asked), _ending.get()
        return _Noted(answer, ending) if ending and asked.get("stream") is True else answer

    client.chat.completions.create = noting
    return client


class _Noted:
    """A stream that notes why it ended. Of `length` the SDK hears nothing: it would fail."""

    def __init__(self, chunks: Any, ending: Ending) -> None:
        self._chunks = chunks
        self._ending = ending
        ending.is_watched = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._chunks:
            for choice in chunk.choices or ():
                self._ending.reason = choice.finish_reason or self._ending.reason
                if choice.finish_reason == "length":
                    choice.finish_reason = "stop"
            yield chunk
