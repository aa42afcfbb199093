"""The connection to Anthropic's API: one POST, and a body that is read at a pace.

No layers of the SDK lie between: they cost more than the rest of a short turn. What they promise
is kept here and in `model.py`: the key, time-outs, errors by name, and asking again.
Answers come unpacked: a few kB that unpack to a GB cannot be refused once they are being read.
Redirects are not followed: the conversation and the key go to the configured address only.
"""

import asyncio
import os
import ssl
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from turnlog.engines.claude.body import Body, Take
from turnlog.engines.claude.bounds import MOST_ERROR
from turnlog.net import is_on_loopback
from turnlog.ticks import Ticks

if TYPE_CHECKING:  # imported in a thread when the server opens: it takes a moment
    from aiohttp import ClientResponse, ClientSession

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"  # of the API, as the SDK asks for it; a test compares them
CONNECTS_WITHIN = 10.0  # seconds
STAYS_OPEN = 60.0  # seconds that a connection waits for the next call
UNPACKED = ("", "identity")


class Refused(Exception):
    """The API answered with an error. `body` is its JSON, if it is any."""

    def __init__(self, status: int, body: object, retry_after: str | None) -> None:
        super().__init__(f"{status}: {body}")
        self.status, self.body, self.retry_after = status, body, retry_after


class Unreachable(Exception):
    """No answer came. Asking again may help where it is `passing`."""

    def __init__(self, why: BaseException, *, passing: bool = True) -> None:
        super().__init__(f"{type(why).__name__}: {why}" if str(why) else type(why).__name__)
        self.passing = passing


class Packed(Exception):
    """The provider packs its answers although it was asked not to."""


class Response(Protocol):
    """The body of an answer."""

    async def read(self) -> bytes:
        """What has come, or the next that comes; empty at the end. Raises what breaks it."""
        ...

    async def pile_up(self, ticks: Ticks, take: Take) -> None:
        """Let bytes come in, and give them to `take` at each tick, without waking anybody. Returns
        when `take` returns False, when the body has ended, or at once where it cannot be done."""
        ...

    async def finish(self) -> None:
        """The answer is whole: wait for the end of the body, so that its connection is used again.

        Whatever happens now does not matter, and does not take long.
        """
        ...

    async def aclose(self) -> None: ...


class Connection(Protocol):
    """Where requests go."""

    async def open(self) -> None:
        """Load what is needed, out of the way."""
        ...

    async def post(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Response:
        """The response, once its head is there. Raises Refused, Unreachable or Packed."""
        ...

    async def close(self) -> None: ...


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


class Api:
    """Anthropic's own API, or what speaks like it at another address."""

    def __init__(self, api_key: str, base_url: str | None, silence: float) -> None:
        """`silence`: how many seconds there may be between two pieces."""
        self._base_url = (base_url or ANTHROPIC).rstrip("/")
        self._silence = silence
        self._headers = {
            "authorization": f"Bearer {api_key}",
            "anthropic-version": VERSION,
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": "turnlog",
            **_custom_headers(),
        }
        self._proxy = _proxy(self._base_url)
        self._library = Library("aiohttp")
        self._session: ClientSession | None = None

    async def open(self) -> None:
        self._library.load()

    async def close(self) -> None:
        await self._library.rest()
        if self._session is not None:
            await self._session.close()

    async def post(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Response:
        session = self._session or await self._connect()
        from aiohttp import ClientError

        try:
            response = await session.post(
                self._base_url + path,
                data=msgspec.json.encode(request),
                headers=headers,
                proxy=self._proxy,
                allow_redirects=False,
            )
        except (ClientError, OSError, TimeoutError) as error:
            raise Unreachable(error) from error
        try:
            await _check(response)
        except BaseException:
            response.close()
            raise
        return Body(response)

    async def _connect(self) -> "ClientSession":
        await self._library.loaded()
        import aiohttp

        secure = self._base_url.startswith("https:")
        trust = await asyncio.to_thread(_certificates) if secure else True
        if self._session is None:  # another turn may have been faster
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=STAYS_OPEN, ssl=trust),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECTS_WITHIN, sock_read=self._silence
                ),
                auto_decompress=False,
            )
        return self._session


async def _check(response: "ClientResponse") -> None:
    if response.headers.get("content-encoding", "") not in UNPACKED:
        raise Packed
    if response.status >= 300:
        text = await _beginning(response)
        raise Refused(response.status, text, response.headers.get("retry-after"))


async def _beginning(response: "ClientResponse") -> object:
    """The body of an error: JSON, or the text that there is; no more of it than is bearable."""
    from aiohttp import ClientError

    body = b""
    try:
        while len(body) < MOST_ERROR and (piece := await response.content.readany()):
            body += piece
        return msgspec.json.decode(body[:MOST_ERROR])
    except (ClientError, OSError, TimeoutError, ValueError, RecursionError):
        return body[:MOST_ERROR].decode(errors="replace")


def _certificates() -> ssl.SSLContext:
    """Those of this machine, and those that Mozilla trusts: a small image has none of its own."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _proxy(base_url: str) -> str | None:
    """As the environment says (HTTPS_PROXY, NO_PROXY), but no proxy leads to this machine."""
    address = urlsplit(base_url)
    if is_on_loopback(base_url) or proxy_bypass(address.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(address.scheme) or proxies.get("all")


def _custom_headers() -> dict[str, str]:
    """ANTHROPIC_CUSTOM_HEADERS, as the SDK reads them: a line each, `Name: value`."""
    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}
