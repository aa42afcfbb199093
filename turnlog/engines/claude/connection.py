"""The connection to Anthropic's API: one POST, and a body that is read at a pace.

No layers of the SDK lie between: they cost more than the rest of a short turn. What they promise
is kept here and in `model.py`: the key, time-outs, errors by name, and asking again.
Answers come unpacked: a few kB that unpack to a GB cannot be refused once they are being read.
Redirects are not followed: the conversation and the key go to the configured address only.
"""

import os
from typing import Any, Protocol

import msgspec

from turnlog.engines.claude.advice import Advice, advice
from turnlog.engines.claude.bounds import MOST_ERROR
from turnlog.engines.claude.http.exchange import Exchange, Take
from turnlog.engines.claude.http.framing import Broken
from turnlog.engines.claude.http.head import OURS, fields
from turnlog.engines.claude.http.pool import Closed, Pool, Silence, Silent
from turnlog.engines.claude.http.route import Route
from turnlog.errors import ConfigError
from turnlog.ticks import Ticks

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"  # of the API, as the SDK asks for it; a test compares them
HEAD = b"POST %b%b HTTP/1.1\r\n%b%bcontent-length: %d\r\n\r\n"


class Refused(Exception):
    """The API answered with an error. `body` is its JSON, if it is any."""

    def __init__(self, status: int, body: object, advice: Advice) -> None:
        super().__init__(f"{status}: {body}")
        self.status, self.body, self.advice = status, body, advice


class Unreachable(Exception):
    """No answer came. Asking again may help where it is `passing`."""

    def __init__(self, why: BaseException, *, passing: bool = True) -> None:
        super().__init__(f"{type(why).__name__}: {why}" if str(why) else type(why).__name__)
        self.passing = passing


class NoAnswer(Exception):
    """The API has the request and says nothing. It may be at work, and then it is to be paid."""


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
        """The answer is whole, and nobody wants the rest of the body. If it ends soon, its
        connection is used again. Whatever happens now does not matter, and does not take long.
        """
        ...

    async def aclose(self) -> None: ...


class Connection(Protocol):
    """Where requests go."""

    async def open(self) -> None:
        """Load what is needed, out of the way."""
        ...

    async def post(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Response:
        """The response, once its head is there. Raises Refused, Unreachable, NoAnswer, Packed."""
        ...

    async def close(self) -> None: ...


class Api:
    """Anthropic's own API, or what speaks like it at another address."""

    def __init__(self, api_key: str, base_url: str | None, silence: Silence) -> None:
        """Raises ConfigError."""
        route = Route(base_url or ANTHROPIC)
        headers = {
            "host": route.host,
            "authorization": f"Bearer {api_key}",
            "anthropic-version": VERSION,
            "content-type": "application/json",
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": "turnlog",
            **_custom_headers(),
            **route.headers,
        }
        try:
            self._lines = fields(headers)
        except ValueError as error:
            raise ConfigError(f"{error} Look at the key and ANTHROPIC_CUSTOM_HEADERS.") from error
        self._prefix = route.prefix.encode()
        self._pool = Pool(route.connect, silence)

    async def open(self) -> None:
        """A connection comes with the first request."""

    async def close(self) -> None:
        await self._pool.close()

    async def post(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Response:
        body = msgspec.json.encode(request)
        lines = HEAD % (self._prefix, path.encode(), self._lines, fields(headers), len(body))
        try:
            exchange = await self._pool.ask(lines, body)
            head = await exchange.head()
        except Silent as error:
            raise NoAnswer(str(error)) from error
        except (OSError, Broken) as error:
            raise Unreachable(error) from error
        except Closed as error:
            raise Unreachable(error, passing=False) from error
        if head.status < 300 and not head.is_packed:
            return exchange
        try:
            if head.is_packed:
                raise Packed
            raise Refused(head.status, await _beginning(exchange), advice(head.header))
        finally:
            await exchange.aclose()


async def _beginning(response: Exchange) -> object:
    """The body of an error: JSON, or the text that there is; no more of it than is bearable."""
    body = b""
    try:
        while len(body) < MOST_ERROR and (piece := await response.read()):
            body += piece
        return msgspec.json.decode(body[:MOST_ERROR])
    except (Broken, OSError, ValueError, RecursionError):
        return body[:MOST_ERROR].decode(errors="replace")


def _custom_headers() -> dict[str, str]:
    """ANTHROPIC_CUSTOM_HEADERS, as the SDK reads them: a line each, `Name: value`."""
    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if refused := [name for name in headers if name in OURS]:
        raise ConfigError(f"ANTHROPIC_CUSTOM_HEADERS has {refused[0]!r}, which this server sets.")
    return headers
