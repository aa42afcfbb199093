"""Claude, directly: one call. The raw stream is read by us, for fidelity and speed.

The first piece of an answer is shown at once. After it, bytes pile up for a window, and are
decoded, folded, encoded and sent once for all of them. What ends an answer does not wait.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

from turnlog.engines.claude import errors
from turnlog.engines.claude.bounds import MOST_COUNT
from turnlog.engines.claude.connection import (
    Api,
    Connection,
    NoAnswer,
    Packed,
    Refused,
    Response,
    Unreachable,
)
from turnlog.engines.claude.http.pool import Silence
from turnlog.engines.claude.models import betas
from turnlog.engines.claude.platforms import Platform, Splitter
from turnlog.engines.claude.platforms.connection import Cloud
from turnlog.engines.claude.provider_files import ProviderFiles
from turnlog.engines.claude.request import body_of, counted, without_thoughts
from turnlog.engines.claude.search import paused, with_searches
from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.errors import EngineFailed
from turnlog.events.chunks import CHUNKS, are_chunks
from turnlog.net import back_off, spread
from turnlog.ports import CallOutput, KeepRaw, Prompt, Straight
from turnlog.telemetry.metrics import Metrics
from turnlog.ticks import BREATH, Ticks

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for the provider, and how often to ask again before the first byte."""

    tries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 15.0  # a longer retry-after is not waited for
    beginning: float = 600.0  # until an answer begins: a long prompt is read first
    silence: float = 90.0  # between two pieces of it; the API sends pings more often
    counting: float = 60.0  # of tokens, all tries together


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
        window: float = 0.0,
    ) -> None:
        """`platform`: where Claude runs, if not at Anthropic; then the key is the platform's.
        `files`: where files are left that would be sent again and again.
        `cache`: how long the provider keeps what it has read of a prompt; or "off".
        `window`: seconds in which the pieces of an answer pile up; 0: each is read at once."""
        self._keep_raw = keep_raw
        self._platform = platform
        self._files = files
        self._cache = cache
        self._ticks = Ticks(window) if window else None
        self._metrics = metrics or Metrics()
        self._patience = patience or Patience()
        silence = Silence(self._patience.beginning, self._patience.silence)
        self._connection: Connection = (
            Cloud(platform, base_url, silence) if platform else Api(api_key, base_url, silence)
        )

    async def open(self) -> None:
        await self._connection.open()

    async def close(self) -> None:
        await self._connection.close()

    async def call(self, prompt: Prompt) -> AsyncGenerator[Sequence[CallOutput], None]:
        before = paused(prompt.messages)
        response = await self._begin(await self._body(prompt) | {"stream": True})
        call = Call(prompt.max_tokens)
        splitter = self._platform.splitter() if self._platform else SseSplitter(joins=True)
        reading = _Reading(call, splitter, prompt.straight, keeps_raw=self._keep_raw is not None)
        try:
            async with aclosing(response):
                while outputs := await self._next(response, reading):
                    yield with_searches(outputs, before) if call.finished else outputs
                if call.finished:
                    await response.finish()
            if not call.finished:
                raise call.failure or errors.failed(errors.CUT)
        except EngineFailed as failure:
            self._metrics.provider_errors.add(1, failure.code)
            raise
        finally:
            if self._keep_raw is not None:  # however it ended, what there was of it is kept
                self._keep_raw(call.message_id, reading.raw)

    async def _next(self, response: Response, reading: "_Reading") -> Sequence[CallOutput]:
        """What comes of the next pieces of the body; nothing: the answer is over."""
        while not reading.is_over:
            if self._ticks and reading.may_wait():
                await response.pile_up(self._ticks, reading.feed)
            if not reading.outputs and not reading.is_over:
                await reading.rest()  # nothing may pile up, and nobody has waited
                reading.feed(await _read(response))
            if reading.outputs:
                return reading.taken()
        return ()

    async def count(self, prompt: Prompt) -> int:
        """How many tokens the model would be told. Asked for at most twice."""
        body = counted(await self._body(prompt))
        try:
            async with asyncio.timeout(self._patience.counting):
                whole = await self._whole_count(body)
        except TimeoutError as error:
            raise errors.failed(errors.TIMED_OUT) from error
        try:
            return int(msgspec.json.decode(whole)["input_tokens"])
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            raise errors.failed(errors.UNREADABLE) from error

    async def _whole_count(self, body: dict[str, Any]) -> bytes:
        response = await self._open(body, "/v1/messages/count_tokens", tries=2)
        whole = b""
        async with aclosing(response):
            while piece := await _read(response):
                whole += piece
                if len(whole) > MOST_COUNT:
                    raise errors.failed(errors.UNREADABLE)
        return whole

    async def _body(self, prompt: Prompt) -> dict[str, Any]:
        if prompt.output_schema is not None:  # the SDK makes it strict: loaded out of the way
            await asyncio.to_thread(import_module, "anthropic")
        return body_of(prompt, self._cache)

    async def _begin(self, request: dict[str, Any]) -> Response:
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

    async def _thought_through(self, request: dict[str, Any]) -> Response:
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
    ) -> Response:
        """The response, once its head is there; asked for again where that makes sense."""
        tries = tries or self._patience.tries
        for attempt in range(tries):
            try:
                return await self._try(request, path)
            except _Again as again:
                wait = self._wait(attempt, again.wait)
                if attempt + 1 == tries or wait > self._patience.longest_wait:
                    raise again.failure from again
                _log.info("asking again in %.1f s: %s", wait, again.failure.code)
                self._metrics.provider_retries.add(1, again.failure.code)
                await asyncio.sleep(wait)
        raise AssertionError("tries is at least one")

    async def _try(self, request: dict[str, Any], path: str) -> Response:
        headers = {"anthropic-beta": ",".join(names)} if (names := betas(request)) else {}
        try:
            return await self._connection.post(path, request, headers)
        except Refused as refused:
            _log.warning("the API answered %s", refused)
            again, wait = refused.advice
            failure = errors.status_error(refused.status, refused.body, wait)
            self._metrics.provider_errors.add(1, failure.code)
            if again is None:
                again = failure.retryable and refused.status != 400  # that would be refused again
            raise (_Again(failure, wait) if again else failure) from refused
        except Packed as packed:
            raise errors.failed(errors.PACKED) from packed
        except NoAnswer as silent:  # asked again, it may be paid twice: the user decides that
            _log.warning("the API does not answer: %s", silent)
            self._metrics.provider_errors.add(1, errors.TIMED_OUT.code)
            raise errors.failed(errors.TIMED_OUT) from silent
        except Unreachable as unreachable:
            _log.warning("the API cannot be reached: %s", unreachable)
            self._metrics.provider_errors.add(1, errors.UNREACHABLE.code)
            failure = errors.failed(errors.UNREACHABLE)
            raise (_Again(failure) if unreachable.passing else failure) from unreachable
        except ImportError as error:
            _log.exception("what asks the model cannot be loaded")
            raise errors.failed(errors.NO_SDK) from error

    def _wait(self, attempt: int, asked: float | None) -> float:
        """Seconds. To be asked for none at all, or for a moment of our past, says nothing."""
        if asked:
            return asked
        patience = self._patience
        return spread(back_off(attempt + 1, patience.first_wait, patience.longest_wait))


class _Reading:
    """An answer that is being read: bytes in, outputs out."""

    def __init__(
        self, call: Call, splitter: Splitter, straight: Straight, *, keeps_raw: bool
    ) -> None:
        self.raw: list[bytes] = []  # of the body, if they are kept
        self.outputs: list[CallOutput] = []  # that nobody has taken
        self.speaks = False  # something of it was shown
        self.is_over = False
        self._call = call
        self._splitter = splitter
        self._straight = straight
        self._keeps_raw = keeps_raw
        self._rested = time.monotonic()

    def feed(self, piece: bytes) -> bool:
        """The next bytes; none: there are no more. If chunks are all that comes of them, these go
        straight to those who watch; else the outputs are for the one who asked the model, who has
        to see to it. So it is, too, where what comes next may not wait: False.
        """
        if self._keeps_raw:
            self.raw.append(piece)
        call, splitter = self._call, self._splitter
        call.meter.read(len(piece))
        self.outputs += call.feed(splitter.feed(piece) if piece else splitter.close())
        self.is_over = not piece or call.finished or call.failure is not None
        if self.is_over:
            return False
        if self.outputs and are_chunks(self.outputs) and self._straight(self.outputs):
            self.outputs, self.speaks = [], True
        return not self.outputs and self.may_wait()

    def taken(self) -> list[CallOutput]:
        outputs, self.outputs = self.outputs, []
        self.speaks = self.speaks or not CHUNKS.isdisjoint(map(type, outputs))
        return outputs

    async def rest(self) -> None:
        """Others want their turn, or to stop this."""
        if time.monotonic() - self._rested > BREATH:
            await asyncio.sleep(0)
            self._rested = time.monotonic()

    def may_wait(self) -> bool:
        """Whether what comes next may pile up: the beginning was shown, or this is not shown."""
        return self.speaks or self._call.is_silent


class _Again(Exception):
    """The request failed before the first byte and may be sent again."""

    def __init__(self, failure: EngineFailed, wait: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.wait = wait


async def _read(response: Response) -> bytes:
    """The next bytes. Whatever breaks here, the answer was cut."""
    try:
        return await response.read()
    except Exception as error:
        _log.warning("the stream broke: %r", error)
        stalled = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
        raise errors.failed(errors.STALLED if stalled else errors.CUT) from error
