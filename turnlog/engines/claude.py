"""Claude, directly. Anthropic's SDK makes the request; the raw stream is read by us.

The loop of a turn: ask the model, keep what it said, run the tools it asked for, ask again.
Each batch is yielded and on disk before the next step, so no tool runs before its `tool_use`
is kept.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from turnlog.engines import claude_errors as errors
from turnlog.engines.claude_models import thinking_parameters
from turnlog.engines.claude_stream import Call, SseSplitter
from turnlog.errors import EngineFailed
from turnlog.events.kinds import ToolResult
from turnlog.ports import Ask, Said, ToolBox, ToolSpec
from turnlog.projections.history import add, result_block, without_blanks

if TYPE_CHECKING:  # importing the SDK takes seconds: only the first turn needs it
    from anthropic import AsyncAnthropic
    from httpx2 import Response

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for the provider, and how often to ask again before the first byte."""

    tries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 15.0  # a longer retry-after is not waited for
    silence: float = 90.0  # between two pieces; the API sends pings more often


class ClaudeEngine:
    """An Engine that speaks the Messages API."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._patience = patience or Patience()
        self._sdk: asyncio.Task[Any] | None = None
        self._made: AsyncAnthropic | None = None

    async def open(self) -> None:
        self._sdk = asyncio.create_task(asyncio.to_thread(import_module, "anthropic"))

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
        if self._sdk is not None:
            await self._sdk

    async def answer(self, ask: Ask, tools: ToolBox) -> AsyncGenerator[Said, None]:
        messages = list(ask.messages)
        taken = _tool_ids(messages)
        calls = ask.open_calls
        for _ in range(ask.max_calls):
            if calls:
                results: list[ToolResult] = []
                async with aclosing(tools.run(calls)) as running:
                    async for events in running:
                        yield Said(events)
                        results += [event for event in events if isinstance(event, ToolResult)]
                add(messages, "user", [result_block(result) for result in results])
                if len(results) < len(calls):
                    return  # a person must decide first
            call = Call(taken)
            request = _request(ask, messages, tools.specs)
            async with aclosing(self._stream(call, request)) as batches:
                async for said in batches:
                    yield said
            add(messages, "assistant", without_blanks(call.blocks))
            add(messages, "user", [result_block(result) for result in _unreadable(call)])
            calls = [c for c in call.calls if c.tool_use_id not in call.unreadable]
            if not call.calls and call.stop_reason != "pause_turn":
                return  # a pause is gone on from: "send the assistant content back unchanged"
        raise errors.failed(errors.LOOPING)

    async def _stream(self, call: Call, request: dict[str, Any]) -> AsyncGenerator[Said, None]:
        splitter = SseSplitter()
        response = await self._open(request)
        async with aclosing(response), aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                if outputs := call.feed(splitter.feed(piece)):
                    yield Said([*outputs, *_unreadable(call)])
                if call.finished or call.failure:
                    break
            else:
                if outputs := call.feed(splitter.close()):
                    yield Said([*outputs, *_unreadable(call)])
            if call.finished:
                await _drain(pieces)
        if not call.finished:
            raise call.failure or errors.failed(errors.CUT)

    async def _open(self, request: dict[str, Any]) -> "Response":
        """The response, once its head is there; asked for again where that makes sense."""
        for attempt in range(self._patience.tries):
            try:
                return await self._try(request)
            except _Again as again:
                wait = self._wait(attempt, again.retry_after)
                if attempt + 1 == self._patience.tries or wait > self._patience.longest_wait:
                    raise again.failure from again
                _log.info("asking again in %.1f s: %s", wait, again.failure.code)
                await asyncio.sleep(wait)
        raise AssertionError("tries is at least one")

    async def _try(self, request: dict[str, Any]) -> "Response":
        client = await self._client()
        import anthropic
        from httpx2 import Response

        # Not `messages.create`: it would copy the whole history before it encodes it.
        body = msgspec.json.encode(request | {"stream": True})
        try:
            return await client.post("/v1/messages", content=body, cast_to=Response, stream=True)
        except anthropic.APIStatusError as error:
            _log.warning("the API answered %s: %s", error.status_code, error.message)
            failure = errors.status_error(error.status_code, error.body)
            if failure.retryable:
                retry_after = error.response.headers.get("retry-after")
                raise _Again(failure, retry_after) from error
            raise failure from error
        except anthropic.APIError as error:
            _log.warning("the API cannot be reached: %r", error)
            raise _Again(errors.failed(errors.UNREACHABLE)) from error

    def _wait(self, attempt: int, retry_after: str | None) -> float:
        try:
            return max(0.0, float(retry_after or ""))
        except ValueError:
            doubled = self._patience.first_wait * 2.0**attempt
            return min(doubled, self._patience.longest_wait) * random.uniform(0.75, 1.0)

    async def _client(self) -> "AsyncAnthropic":
        if self._sdk is not None:
            await asyncio.shield(self._sdk)  # in a thread: the first turn holds nobody up
        if self._made is None:
            import anthropic

            self._made = anthropic.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                http_client=anthropic.DefaultAioHttpClient(
                    timeout=anthropic.Timeout(self._patience.silence, connect=10.0),
                    trust_env=not _is_here(self._base_url),  # no proxy leads to this machine
                ),
            )
        return self._made


def _is_here(url: str | None) -> bool:
    return url is not None and urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


class _Again(Exception):
    """The request failed before the first byte and may be sent again."""

    def __init__(self, failure: EngineFailed, retry_after: str | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.retry_after = retry_after


def _request(ask: Ask, messages: list[dict[str, Any]], specs: Sequence[ToolSpec]) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": ask.model,
        "messages": messages,
        **thinking_parameters(ask.model, ask.thinking_budget, ask.max_tokens),
    }
    if ask.system:
        request["system"] = ask.system
    if specs:
        request["tools"] = [
            {"name": s.name, "description": s.description, "input_schema": s.input_schema}
            for s in specs
        ]
    return request


async def _pieces(response: "Response") -> AsyncGenerator[bytes, None]:
    """The body as it arrives. Whatever breaks here, the answer was cut."""
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except Exception as error:
        _log.warning("the stream broke: %r", error)
        stalled = "Timeout" in type(error).__name__
        raise errors.failed(errors.STALLED if stalled else errors.CUT) from error


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read to the end of the response, so that its connection can be used again.

    The answer is whole already: whatever happens now does not matter, and does not take long.
    """
    with contextlib.suppress(EngineFailed, TimeoutError):
        async with asyncio.timeout(0.5):
            async for _ in pieces:
                pass


def _tool_ids(messages: Sequence[dict[str, Any]]) -> set[str]:
    return {
        block["id"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_use"
    }


def _unreadable(call: Call) -> list[ToolResult]:
    """A call whose arguments are not JSON is answered in the step that keeps it, and never run."""
    return [
        ToolResult(
            tool_use_id=c.tool_use_id,
            tool_name=c.tool_name,
            result=None,
            success=False,
            duration=0,
            error="The arguments were not a JSON object. Nothing was run.",
        )
        for c in (call.calls if call.finished and call.unreadable else ())
        if c.tool_use_id in call.unreadable
    ]
