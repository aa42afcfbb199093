"""Claude, directly: one call. Anthropic's SDK makes the request; the raw stream is read by us."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.engines.claude import errors
from turnlog.engines.claude.bounds import MOST_COUNT
from turnlog.engines.claude.connection import Packed, connect, http_client
from turnlog.engines.claude.models import betas
from turnlog.engines.claude.platforms import Platform
from turnlog.engines.claude.provider_files import ProviderFiles
from turnlog.engines.claude.request import body_of, counted, without_thoughts
from turnlog.engines.claude.search import paused, with_searches
from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.errors import EngineFailed
from turnlog.net import TooMuch, back_off, read_bounded, seconds_asked, spread
from turnlog.ports import CallOutput, KeepRaw, Prompt
from turnlog.telemetry.metrics import Metrics

if TYPE_CHECKING:  # importing the SDK takes seconds: only the first turn needs it
    from anthropic import AsyncAnthropic
    from httpx2 import Response

_log = logging.getLogger(__name__)
BREATH = 0.01  # seconds that the pieces of one answer are read on end


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for the provider, and how often to ask again before the first byte."""

    tries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 15.0  # a longer retry-after is not waited for
    silence: float = 90.0  # between two pieces; the API sends pings more often


class ClaudeModel:
    """A Model that speaks the Messages API."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        patience: Patience | None = None,
        cache: str = "5m",
        metrics: Metrics | None = None,
        keep_raw: KeepRaw = None,
        platform: Platform | None = None,
        files: ProviderFiles | None = None,
    ) -> None:
        """`platform`: where Claude runs, if not at Anthropic; then the key is the platform's.
        `files`: where files are left that would be sent again and again.
        `cache`: how long the provider keeps what it has read of a prompt; or "off"."""
        self._keep_raw = keep_raw
        self._api_key = api_key
        self._base_url = base_url
        self._platform = platform
        self._files = files
        self._cache = cache
        self._metrics = metrics or Metrics()
        self._patience = patience or Patience()
        self._sdk: asyncio.Task[Any] | None = None
        self._made: AsyncAnthropic | None = None

    async def open(self) -> None:
        self._sdk = asyncio.create_task(asyncio.to_thread(import_module, "anthropic"))

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
        if self._sdk is not None:
            await asyncio.wait([self._sdk])

    async def call(self, prompt: Prompt) -> AsyncGenerator[Sequence[CallOutput], None]:
        splitter = self._platform.splitter() if self._platform else SseSplitter()
        call = Call(prompt.max_tokens)
        before = paused(prompt.messages)
        response = await self._begin(body_of(prompt, self._cache) | {"stream": True})
        try:
            async with aclosing(response), aclosing(self._pieces(response, call)) as pieces:
                async for piece in pieces:
                    call.meter.read(len(piece))
                    if outputs := call.feed(splitter.feed(piece)):
                        yield with_searches(outputs, before) if call.finished else outputs
                    if call.finished or call.failure:
                        break
                else:
                    if outputs := call.feed(splitter.close()):
                        yield with_searches(outputs, before) if call.finished else outputs
                if call.finished:
                    await _drain(pieces)
            if not call.finished:
                raise call.failure or errors.failed(errors.CUT)
        except EngineFailed as failure:
            self._metrics.provider_errors.add(1, failure.code)
            raise

    async def count(self, prompt: Prompt) -> int:
        """How many tokens the model would be told. Asked for at most twice."""
        body = counted(body_of(prompt, self._cache))
        response = await self._open(body, "/v1/messages/count_tokens", tries=2)
        try:
            async with aclosing(response), aclosing(_pieces(response)) as pieces:
                whole = await read_bounded(pieces, MOST_COUNT)
            return int(msgspec.json.decode(whole)["input_tokens"])
        except (LookupError, TooMuch, TypeError, ValueError) as error:
            raise errors.failed(errors.UNREADABLE) from error

    def _pieces(self, response: "Response", call: Call) -> AsyncGenerator[bytes, None]:
        pieces = _pieces(response)
        return pieces if self._keep_raw is None else _kept_raw(pieces, call, self._keep_raw)

    async def _begin(self, request: dict[str, Any]) -> "Response":
        """The response. Files that the provider has are named; where it lost one, they are sent."""
        if self._files is None:
            return await self._thought_through(request)
        named, deposits = await self._files.named(request)
        try:
            return await self._thought_through(named)
        except EngineFailed as failure:
            if failure.code != errors.FILE_GONE.code or not deposits:
                raise
            self._metrics.provider_retries.add(1, failure.code)
            await self._files.forget(deposits)
            return await self._thought_through(request)

    async def _thought_through(self, request: dict[str, Any]) -> "Response":
        """The response. A model that refuses its earlier thoughts is asked without them.

        Thoughts are tied to the key, the tools and the prompt that they came with: when one of
        these has changed, the session goes on all the same.
        """
        try:
            return await self._open(request)
        except EngineFailed as failure:
            if failure.code != errors.THOUGHTS.code:
                raise
            self._metrics.provider_retries.add(1, failure.code)
            return await self._open(without_thoughts(request))

    async def _open(
        self, request: dict[str, Any], path: str = "/v1/messages", tries: int | None = None
    ) -> "Response":
        """The response, once its head is there; asked for again where that makes sense."""
        tries = tries or self._patience.tries
        for attempt in range(tries):
            try:
                return await self._try(request, path)
            except _Again as again:
                wait = self._wait(attempt, again.retry_after)
                if attempt + 1 == tries or wait > self._patience.longest_wait:
                    raise again.failure from again
                _log.info("asking again in %.1f s: %s", wait, again.failure.code)
                self._metrics.provider_retries.add(1, again.failure.code)
                await asyncio.sleep(wait)
        raise AssertionError("tries is at least one")

    async def _try(self, request: dict[str, Any], path: str) -> "Response":
        client = await self._client()
        import anthropic
        from httpx2 import Response

        # Not `messages.create`: it would copy the whole history before it encodes it.
        # The platforms' clients move parts of the body into the address, so they get it whole.
        body: Any = (
            {"body": request} if self._platform else {"content": msgspec.json.encode(request)}
        )
        headers = {"anthropic-beta": ",".join(names)} if (names := betas(request)) else {}
        try:
            response: Response = await client.post(
                path, cast_to=Response, stream=True, options={"headers": headers}, **body
            )
            return response
        except anthropic.APIStatusError as error:
            _log.warning("the API answered %s: %s", error.status_code, error.message)
            retry_after = seconds_asked(error.response.headers.get("retry-after"))
            failure = errors.status_error(error.status_code, error.body, retry_after)
            self._metrics.provider_errors.add(1, failure.code)
            if failure.retryable and error.status_code != 400:  # that would be refused again
                raise _Again(failure, retry_after) from error
            raise failure from error
        except anthropic.APIError as error:
            if isinstance(error.__cause__, Packed):
                raise errors.failed(errors.PACKED) from error
            _log.warning("the API cannot be reached: %r", error)
            self._metrics.provider_errors.add(1, errors.UNREACHABLE.code)
            raise _Again(errors.failed(errors.UNREACHABLE)) from error
        except Exception as error:
            if self._platform is None:
                raise
            # Nobody to sign in as, no region, no project; or what this platform does not have.
            _log.warning("the platform's request cannot be made: %r", error)
            raise errors.failed(errors.UNREACHABLE) from error

    def _wait(self, attempt: int, retry_after: float | None) -> float:
        if retry_after is not None:
            return retry_after
        patience = self._patience
        return spread(back_off(attempt + 1, patience.first_wait, patience.longest_wait))

    async def _client(self) -> "AsyncAnthropic":
        if self._made is None:
            await self._loaded()
            self._made = self._connect()
        return self._made

    def _connect(self) -> Any:
        if self._platform is None:
            return connect(self._api_key, self._base_url, self._patience.silence)
        http = http_client(self._base_url, self._patience.silence)
        try:
            return self._platform.connect(self._base_url, http)
        except Exception as error:
            _log.warning("the platform's client cannot be made: %s", error)
            raise errors.failed(errors.UNREACHABLE) from error

    async def _loaded(self) -> None:
        """The SDK is there. One that could not be loaded is tried again with the next turn."""
        if self._sdk is None or (self._sdk.done() and self._sdk.exception()):
            await self.open()
        assert self._sdk is not None
        try:
            await asyncio.shield(self._sdk)  # in a thread: the first turn holds nobody up
        except Exception as error:
            _log.exception("Anthropic's SDK cannot be loaded")
            raise errors.failed(errors.NO_SDK) from error


class _Again(Exception):
    """The request failed before the first byte and may be sent again."""

    def __init__(self, failure: EngineFailed, retry_after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.retry_after = retry_after


async def _pieces(response: "Response") -> AsyncGenerator[bytes, None]:
    """The body as it arrives. Whatever breaks here, the answer was cut.

    Where more is there already, reading waits for nothing: so the others get their turn, and so
    does whoever wants to stop this.
    """
    began = time.monotonic()
    try:
        async for piece in response.aiter_raw():
            yield piece
            if time.monotonic() - began > BREATH:
                await asyncio.sleep(0)
                began = time.monotonic()
    except Exception as error:
        _log.warning("the stream broke: %r", error)
        stalled = "Timeout" in type(error).__name__
        raise errors.failed(errors.STALLED if stalled else errors.CUT) from error


async def _kept_raw(
    pieces: AsyncGenerator[bytes, None], call: Call, keep: Callable[[str, list[bytes]], None]
) -> AsyncGenerator[bytes, None]:
    """The same pieces. However they end, what there was of them is kept."""
    raw: list[bytes] = []
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                raw.append(piece)
                yield piece
    finally:
        keep(call.message_id, raw)


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read to the end of the response, so that its connection can be used again.

    The answer is whole already: whatever happens now does not matter, and does not take long.
    """
    with contextlib.suppress(EngineFailed, TimeoutError):
        async with asyncio.timeout(0.5):
            async for _ in pieces:
                pass
