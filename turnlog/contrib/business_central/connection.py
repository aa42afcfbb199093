"""The connection to Business Central's API v2.0, or to the embedded sandbox of it.

Everything that goes wrong is raised as a ToolError with a sentence for the model. A write is
sent once; only 429, which does nothing, sends it again.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from turnlog.errors import ToolError
from turnlog.net import TooMuch, is_on_loopback, read_bounded

from .failures import UNREACHABLE, failure, lost
from .place import Place
from .retry import pause
from .sign_in import SignIn
from .where import SCHEMA, Where

ANSWERS_WITHIN = 25.0  # seconds
CONNECTS_WITHIN = 10.0
AT_ONCE = 5  # requests of one user that Business Central serves at the same time
MOST_BYTES = 20_000_000  # of one answer
SANDBOX_COMPANY = "CRONUS USA, Inc."
NO_CONTENT = 204
Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """Rows of a query, whether there were more, and how many there are in all, where known."""

    rows: list[Row]
    has_more: bool
    total: int | None = None


@dataclass(frozen=True)
class _Reply:
    status: int
    body: Any
    retry_after: str | None


class BusinessCentral:
    """One company of one environment. Use it as `async with`; without a place it is a sandbox."""

    def __init__(self, place: Place | None = None) -> None:
        self._given = place
        self._open: AsyncExitStack | None = None

    async def __aenter__(self) -> "BusinessCentral":
        async with AsyncExitStack() as stack:
            self._place = self._given or await _sandbox(stack)
            self._sign_in = SignIn(self._place)
            self._company_id, self._finding = "", asyncio.Lock()
            self._at_once = asyncio.Semaphore(AT_ONCE)
            timeout = aiohttp.ClientTimeout(total=ANSWERS_WITHIN, connect=CONNECTS_WITHIN)
            outside = not is_on_loopback(self._place.base_url)
            http = aiohttp.ClientSession(timeout=timeout, trust_env=outside)
            self._http = await stack.enter_async_context(http)
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._open is not None:
            await self._open.aclose()
            self._open = None

    def __str__(self) -> str:
        where = f"environment {self._given.environment}" if self._given else "sandbox, in memory"
        return f"Business Central ({where})"

    # --- reading ---

    async def entity_sets(self) -> list[str]:
        """The names of everything that the API offers."""
        told = await self._ask("GET", self._api)
        return [one["name"] for one in told["value"]]

    async def companies(self) -> list[Row]:
        return (await self._rows(f"{self._api}/companies", {}, 1000)).rows

    async def find(
        self,
        entity_set: str,
        where: Where | None = None,
        *,
        select: Sequence[str],
        limit: int,
        order: str = "",
        expand: str = "",
        counted: bool = False,
    ) -> Found:
        """Up to `limit` rows, over as many pages as it takes; `counted`: and how many in all."""
        params = {"$select": ",".join(select), "$top": str(limit + 1)} | SCHEMA
        if counted:
            params["$count"] = "true"
        if where is not None:
            params["$filter"] = where.text
        if order:
            params["$orderby"] = order
        if expand:
            params["$expand"] = expand
        return await self._rows(await self._url(entity_set), params, limit)

    async def get(self, path: str, *, select: Sequence[str] = (), expand: str = "") -> Row:
        """One record, by its id: `customers(ID)`."""
        params = {"$select": ",".join(select)} if select else {}
        if expand:
            params["$expand"] = expand
        row: Row = await self._ask("GET", await self._url(path), params=params)
        return row

    async def _rows(self, url: str, params: dict[str, str], limit: int) -> Found:
        told = await self._ask("GET", url, params=params)
        rows: list[Row] = told["value"]
        total = told.get("@odata.count")
        while len(rows) <= limit and (link := told.get("@odata.nextLink")):
            if not self._place.owns(link):
                raise ToolError("Business Central's next page is at another server: not followed.")
            told = await self._ask("GET", URL(link, encoded=True))
            rows = [*rows, *told["value"]]
        return Found(rows[:limit], len(rows) > limit, total)

    # --- writing ---

    async def create(self, path: str, body: Row) -> Row:
        row: Row = await self._ask("POST", await self._url(path), body=body)
        return row

    async def change(self, path: str, etag: str, body: Row) -> Row:
        """Raises Conflict where the record is not the one with this etag any more."""
        row: Row = await self._ask("PATCH", await self._url(path), body=body, etag=etag)
        return row

    async def delete(self, path: str, etag: str) -> None:
        await self._ask("DELETE", await self._url(path), etag=etag)

    async def act(self, path: str, action: str) -> None:
        await self._ask("POST", await self._url(f"{path}/Microsoft.NAV.{action}"))

    async def create_all(self, path: str, bodies: Sequence[Row]) -> list[ToolError | None]:
        """All of them or none; for each one why not. One failure means that none was made."""
        place = (await self._url(path)).removeprefix(f"{self._api}/")
        headers = {"Content-Type": "application/json"}
        requests = [
            {"id": str(at), "method": "POST", "url": place, "headers": headers, "body": body}
            for at, body in enumerate(bodies)
        ]
        url = f"{self._api}/$batch"
        told = await self._ask("POST", url, body={"requests": requests}, isolated=True)
        said = {one.get("id"): one for one in told["responses"]}
        return [_refusal(said.get(str(at)), body) for at, body in enumerate(bodies)]

    # --- asking ---

    @property
    def _api(self) -> str:
        if self._open is None:
            raise ToolError("Business Central is not connected: the server is not running.")
        return self._place.api

    async def _url(self, path: str) -> str:
        return f"{self._api}/companies({await self._company()})/{path}"

    async def _company(self) -> str:
        async with self._finding:
            if not self._company_id:
                self._company_id = _chosen(self._place.company, await self.companies())
            return self._company_id

    async def _ask(
        self,
        method: str,
        url: str | URL,
        *,
        params: dict[str, str] | None = None,
        body: Any = None,
        etag: str | None = None,
        isolated: bool = False,
    ) -> Any:
        wrote = method != "GET"
        headers = {} if etag is None else {"If-Match": etag}
        if isolated:
            headers["Isolation"] = "snapshot"
        reply = await self._tried(method, url, params, headers, body)
        if reply.status >= 300:
            raise failure(reply.status, reply.body, wrote=wrote, sent=body)
        if reply.status != NO_CONTENT and not isinstance(reply.body, dict):
            raise lost(wrote=wrote)  # cut off, or not Business Central at all
        return reply.body

    async def _tried(
        self, method: str, url: str | URL, params: Any, headers: dict[str, str], body: Any
    ) -> _Reply:
        tried, renewed = 0, False
        while True:
            tried += 1
            token = await self._sign_in.token(self._http)
            signed = {"Authorization": f"Bearer {token}", "Accept": "application/json", **headers}
            async with self._at_once:
                reply = await self._once(method, url, params, signed, body)
            if reply.status == 401 and not renewed:
                renewed = True  # a token may end before its time
                self._sign_in.forget(token)
                continue
            wait = pause(method, reply.status, reply.retry_after, tried)
            if wait is None:
                return reply
            await asyncio.sleep(wait)

    async def _once(
        self, method: str, url: str | URL, params: Any, headers: dict[str, str], body: Any
    ) -> _Reply:
        try:
            async with self._http.request(
                method, url, params=params, headers=headers, json=body, allow_redirects=False
            ) as response:
                raw = await _bounded(response)
                return _Reply(response.status, raw, response.headers.get("Retry-After"))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise ToolError(UNREACHABLE) from None
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise lost(wrote=method != "GET") from None


async def _sandbox(stack: AsyncExitStack) -> Place:
    """Start a sandbox that only this connection can talk to."""
    from turnlog.contrib.business_central.sandbox import Sandbox

    sandbox = Sandbox(client_secret=secrets.token_hex(16))
    url = await stack.enter_async_context(sandbox.serve())
    return Place(
        tenant=sandbox.tenant,
        client_id=sandbox.client_id,
        client_secret=sandbox.client_secret,
        environment=sandbox.environment,
        company=SANDBOX_COMPANY,
        base_url=url,
        auth_url=url,
    )


def _chosen(wanted: str | None, companies: list[Row]) -> str:
    names = ", ".join(repr(company["name"]) for company in companies)
    if wanted is None:
        if len(companies) != 1:
            raise ToolError(f"An administrator has to set TURNLOG_BC_COMPANY to one of: {names}.")
        return str(companies[0]["id"])
    for company in companies:
        called = {company["id"], company["name"], company.get("displayName", "")}
        if wanted.casefold() in {name.casefold() for name in called}:
            return str(company["id"])
    raise ToolError(
        f"Business Central has no company {wanted!r}. There are: {names}."
        " An administrator has to change TURNLOG_BC_COMPANY."
    )


async def _bounded(response: aiohttp.ClientResponse) -> Any:
    """The body as JSON; None where it is empty or something else, such as a gateway's page."""
    try:
        read = await read_bounded(response.content.iter_any(), MOST_BYTES)
    except TooMuch:
        raise ToolError("Business Central's answer is too large. Ask for less.") from None
    try:
        return msgspec.json.decode(read)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _refusal(response: Any, body: Row) -> ToolError | None:
    if response is None:
        return ToolError("Business Central did not answer for this one.")
    if response["status"] < 300:
        return None
    return failure(response["status"], response.get("body"), wrote=False, sent=body)
