"""The sandbox as a server on loopback: tokens, API v2.0, `$batch`, and failures on demand.

POST /{tenant}/oauth2/v2.0/token               a token for client credentials
*    /v2.0/{tenant}/{environment}/api/v2.0/... API v2.0; the tenant may be left out
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from turnlog.contrib.business_central.client.endpoint import Endpoint
from turnlog.contrib.business_central.sandbox import batch
from turnlog.contrib.business_central.sandbox.demo.companies import BUSY, companies
from turnlog.contrib.business_central.sandbox.ledger import Kept, Ledger, headers_of
from turnlog.contrib.business_central.sandbox.refusal import body
from turnlog.contrib.business_central.sandbox.service import Answer, Call, Service
from turnlog.contrib.business_central.sandbox.tokens import Tokens
from turnlog.simulator.listener import HungUp, listen

_API = re.compile(r"/v2\.0/(?:(?P<tenant>[^/]+)/)?(?P<environment>[^/]+)/api/v2\.0(?P<path>/.*)?")
_JSON = "application/json; odata.metadata=minimal; odata.streaming=true"
_NO_ENVIRONMENT = (
    '<?xml version="1.0" encoding="utf-8"?><error><code>NoEnvironment</code>'
    "<message>Environment does not exist.</message></error>"
)
_METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


@dataclass(frozen=True)
class Failure:
    """How the next request fails."""

    status: int = 503
    retry_after: float | None = None
    done: bool = False  # the request is carried out; only its answer is lost
    hang_up: bool = False  # the connection breaks instead
    silent: bool = False  # no answer ever comes
    method: str = ""  # fails only a request of this method
    path: str = ""  # fails only a request with this in its path


class Sandbox:
    """A Business Central for tests and demos: one environment with the demo companies.

    `calls` holds the requests, newest last; `fail` queues failures for the next ones.
    """

    def __init__(
        self,
        *,
        tenant: str = "sandbox",
        environment: str = "Production",
        client_id: str = "turnlog",
        client_secret: str = "sandbox-secret",
        token_seconds: int = 3600,
        page_size: int = 20_000,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        folder: Path | None = None,  # where its data stays; None: in memory
    ) -> None:
        self.tenant, self.environment = tenant, environment
        self.client_id, self.client_secret = client_id, client_secret
        self.tokens = Tokens(tenant, client_id, client_secret, token_seconds, clock)
        self._ledger = None if folder is None else Ledger(folder, clock)
        self._page_size = page_size
        if self._ledger is None:
            self.service = Service(companies(clock), page_size)
        else:
            self._ledger.replay(self._make, self._again)
        self.calls: deque[tuple[str, str]] = deque(maxlen=200)
        self.failed = asyncio.Event()  # set when a queued failure has happened
        self._failures: deque[Failure] = deque()
        token = Route("/{tenant}/oauth2/v2.0/token", self._token, methods=["POST"])
        api = Route("/{path:path}", self._api, methods=_METHODS)
        self.app = Starlette(routes=[token, api])

    def fail(self, *failures: Failure) -> None:
        """Make the next requests fail like this, one after the other."""
        self._failures.extend(failures)

    @asynccontextmanager
    async def serve(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
        """`async with sandbox.serve() as url:` listens until the block is left; port 0 is any."""
        async with listen(self.app, host, port) as url:
            self.service.base = f"{url}/v2.0/{self.tenant}/{self.environment}/api/v2.0"
            yield url

    def endpoint(self, url: str, **changes: Any) -> Endpoint:
        """How to connect to this sandbox, which is served at `url`, and its busy company."""
        values = {"tenant": self.tenant, "environment": self.environment, "company": BUSY}
        values |= {"client_id": self.client_id, "client_secret": self.client_secret}
        return Endpoint(**{**values, "base_url": url, "auth_url": url, **changes})

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("ascii", "replace")))
        status, reply = self.tokens.issue(request.path_params["tenant"], form)
        return Response(msgspec.json.encode(reply), status, media_type="application/json")

    async def _api(self, request: Request) -> Response:
        self.calls.append((request.method, request.url.path))
        raw = await request.body()
        failure = self._next_failure(request.method, request.url.path)
        if failure is None:
            return _response(self._answer(request, raw))
        if failure.done:
            self._answer(request, raw)
        self.failed.set()
        if failure.silent:
            await asyncio.Event().wait()  # until the sandbox is closed
        return _broken() if failure.hang_up else _failed(failure)

    def _next_failure(self, method: str, path: str) -> Failure | None:
        first = self._failures[0] if self._failures else None
        if first and first.method in ("", method) and first.path in path:
            return self._failures.popleft()
        return None

    def _answer(self, request: Request, raw: bytes) -> Answer:
        address = _API.fullmatch(request.url.path)
        if address is None:
            return Answer(404)
        tenant = address["tenant"] or self.tenant
        if address["environment"] != self.environment or tenant != self.tenant:
            return Answer(404, _NO_ENVIRONMENT, {"content-type": "application/xml"})
        if not self.tokens.accepts(request.headers.get("authorization", "")):
            return _unauthorized()
        path = (address["path"] or "").strip("/")
        query = request.query_params.multi_items()
        call = Call(request.method, path, query, request.headers, raw)
        return self._carry_out(call) if call.method == "GET" else self._kept(call)

    def _carry_out(self, call: Call) -> Answer:
        if call.path == batch.PATH and call.method == "POST":
            return batch.run(self.service, call.body, call.headers)
        return self.service.answer(call)

    def _kept(self, call: Call) -> Answer:
        """A request that may write: in the ledger before it is answered."""
        if self._ledger is None:
            return self._carry_out(call)
        at = self._ledger.begin()
        answer = self._carry_out(call)
        headers = headers_of(dict(call.headers))
        entry = Kept(at, call.method, call.path, call.query, headers, call.body)
        self._ledger.keep(entry)
        return answer

    def _make(self) -> None:
        assert self._ledger is not None
        self.service = Service(companies(self._ledger.now), self._page_size)

    def _again(self, kept: Kept) -> None:
        self._carry_out(Call(kept.method, kept.path, kept.query, kept.headers, kept.body))


def _unauthorized() -> Answer:
    error = body(
        "Authentication_InvalidCredentials",
        "The server has rejected the client credentials.",
        "00000000-0000-0000-0000-000000000000",
    )
    return Answer(401, error, {"www-authenticate": "Bearer"})


def _response(answer: Answer) -> Response:
    headers = {"odata-version": "4.0", "cache-control": "no-cache, no-store", **answer.headers}
    if answer.body is None:
        return Response(b"", answer.status, headers)
    if isinstance(answer.body, str):
        headers.setdefault("content-type", "text/plain")
        return Response(answer.body, answer.status, headers)
    return Response(msgspec.json.encode(answer.body), answer.status, headers, _JSON)


def _failed(failure: Failure) -> Response:
    code = "Application_TooManyRequests" if failure.status == 429 else "Internal_ServiceUnavailable"
    error = {"error": {"code": code, "message": "The request could not be served now."}}
    headers = {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
    return Response(msgspec.json.encode(error), failure.status, headers, _JSON)


def _broken() -> Response:
    async def cut() -> AsyncIterator[Any]:
        yield b"{"
        raise HungUp

    return StreamingResponse(cut(), 200, {"content-length": "1000"}, _JSON)
