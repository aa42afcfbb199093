"""The connection to Claude on another cloud: the SDK's client signs, and asks nobody again."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from turnlog.engines.claude.advice import advice
from turnlog.engines.claude.connection import NoAnswer, Packed, Refused, Response, Unreachable
from turnlog.engines.claude.http.exchange import Take
from turnlog.engines.claude.http.pool import Silence
from turnlog.engines.claude.platforms.clients import Platform
from turnlog.engines.claude.platforms.sdk import http_client
from turnlog.ticks import Ticks

_log = logging.getLogger(__name__)
ENDS_WITHIN = 0.5  # seconds between the end of an answer and the end of its response


class Library:
    """A package that takes a moment to import: in a thread, so that nobody is held up."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loading: asyncio.Task[Any] | None = None

    def load(self) -> None:
        self._loading = asyncio.create_task(asyncio.to_thread(import_module, self._name))

    async def loaded(self) -> None:
        """Raises ImportError. What could not be loaded is tried again with the next turn."""
        if self._loading is None or (self._loading.done() and self._loading.exception()):
            self.load()
        assert self._loading is not None
        await asyncio.shield(self._loading)

    async def rest(self) -> None:
        """Nothing is being loaded any more."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
            self._loading.exception()


class Cloud:
    """A platform by the SDK's client for it."""

    def __init__(self, platform: Platform, base_url: str | None, silence: Silence) -> None:
        self._platform = platform
        self._base_url = base_url
        self._silence = silence
        self._library = Library("anthropic")
        self._client: Any = None

    async def open(self) -> None:
        self._library.load()

    async def close(self) -> None:
        await self._library.rest()
        if self._client is not None:
            await self._client.close()

    async def post(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Response:
        """The platforms' clients move parts of the body into the address, so they get it whole."""
        client = self._client or await self._connect()
        import anthropic
        from httpx2 import ReadTimeout
        from httpx2 import Response as HttpResponse

        try:
            response: HttpResponse = await client.post(
                path, cast_to=HttpResponse, stream=True, options={"headers": headers}, body=request
            )
        except anthropic.APIStatusError as error:
            advised = advice(error.response.headers.get)
            raise Refused(error.status_code, error.body, advised) from error
        except anthropic.APIError as error:
            if isinstance(error.__cause__, Packed):
                raise Packed from error
            if isinstance(error.__cause__, ReadTimeout):
                raise NoAnswer(f"Nothing came for {self._silence.before:g} seconds.") from error
            raise Unreachable(error) from error
        except Exception as error:
            # Nobody to sign in as, no region, no project; or what this platform does not have.
            _log.warning("the platform's request cannot be made: %r", error)
            raise Unreachable(error, passing=False) from error
        return _Body(response, self._silence.within)

    async def _connect(self) -> Any:
        await self._library.loaded()
        try:
            http = http_client(self._base_url, self._silence.before)
            self._client = self._client or self._platform.connect(self._base_url, http)
        except Exception as error:
            _log.warning("the platform's client cannot be made: %s", error)
            raise Unreachable(error, passing=False) from error
        return self._client


class _Body:
    """The body of a response of the SDK."""

    def __init__(self, response: Any, silence: float) -> None:
        self._response = response
        self._silence = silence
        self._pieces: AsyncIterator[bytes] = response.aiter_raw()

    async def read(self) -> bytes:
        async with asyncio.timeout(self._silence):
            return await anext(self._pieces, b"")

    async def pile_up(self, ticks: Ticks, take: Take) -> None:
        """The SDK does not say how a body ends before it is read: chunks are joined later."""

    async def finish(self) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(ENDS_WITHIN):
                while await self.read():
                    pass

    async def aclose(self) -> None:
        await self._response.aclose()
