"""The connection to Business Central's API v2.0, or to the embedded sandbox of it.

Every failure is raised as a ToolError with a sentence for the model. A write is sent once; only
after 429, which means that nothing was done, it is sent again.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.contrib.business_central.client.conditions import SCHEMA, Condition
from turnlog.contrib.business_central.client.endpoint import Endpoint
from turnlog.contrib.business_central.client.failures import UNREACHABLE, failure, lost
from turnlog.contrib.business_central.client.retry import pause
from turnlog.contrib.business_central.client.sign_in import SignIn
from turnlog.contrib.business_central.client.transaction import batch, errors, request
from turnlog.errors import ToolError
from turnlog.net import TooMuch, is_on_loopback, read_bounded

if TYPE_CHECKING:  # imported with the first request: it takes a tenth of a second
    import aiohttp
    from yarl import URL

TIMEOUT = 25.0  # seconds for one response
CONNECT_TIMEOUT = 10.0
CONCURRENT_REQUESTS = 5  # of one user, that Business Central serves at the same time
MOST_BYTES = 20_000_000  # of one response
NO_CONTENT = 204
Row = dict[str, Any]


@dataclass(frozen=True)
class QueryResult:
    """Rows of a query, whether there are more, and how many there are in all, where known."""

    rows: list[Row]
    has_more: bool
    total: int | None = None


@dataclass(frozen=True)
class _Response:
    status: int
    body: Any
    retry_after: str | None


class BusinessCentral:
    """One company of one environment, as a context manager. Without an endpoint, a sandbox, whose
    data stays in `folder`, or in memory."""

    def __init__(self, endpoint: Endpoint | None = None, folder: Path | None = None) -> None:
        self._configured = endpoint
        self._folder = folder
        self._open: AsyncExitStack | None = None
        self._answered = False

    async def __aenter__(self) -> "BusinessCentral":
        async with AsyncExitStack() as stack:
            self._endpoint = self._configured or await _start_sandbox(stack, self._folder)
            self._sign_in = SignIn(self._endpoint)
            self._company_id, self._finding_company = "", asyncio.Lock()
            self._slots = asyncio.Semaphore(CONCURRENT_REQUESTS)
            self._http: aiohttp.ClientSession | None = None
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._open is not None:
            await self._open.aclose()
            self._open = None

    def __str__(self) -> str:
        """What is known of it: a server that nobody has asked yet may not be there."""
        endpoint = self._configured
        if endpoint is None:
            where = f"data in {self._folder}" if self._folder else "in memory"
            return f"Business Central (sandbox, {where})"
        answered = "" if self._answered else ", not asked yet"
        return f"Business Central (environment {endpoint.environment}{answered})"

    async def examine(self) -> str:
        """Ask it for its companies, and say what is there. Raises ToolError.

        A sandbox is not opened: a server may be working with it.
        """
        if self._configured is None:
            return str(self)
        async with self:
            names = [row["name"] for row in await self.companies()]
            await self._company()
        return f"{self}: {len(names)} companies"

    # --- reading ---

    async def entity_sets(self) -> list[str]:
        """The names of all entity sets of the API."""
        response = await self._request("GET", self._api)
        return [each["name"] for each in response["value"]]

    async def companies(self) -> list[Row]:
        return (await self._rows(f"{self._api}/companies", {}, 1000)).rows

    async def find(
        self,
        entity_set: str,
        condition: Condition | None = None,
        *,
        select: Sequence[str],
        limit: int,
        order: str = "",
        expand: str = "",
        counted: bool = False,
    ) -> QueryResult:
        """Up to `limit` rows, over as many pages as it takes. `counted` asks for the total too."""
        params = {"$select": ",".join(select), "$top": str(limit + 1)} | SCHEMA
        if counted:
            params["$count"] = "true"
        if condition is not None:
            params["$filter"] = condition.text
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
        row: Row = await self._request("GET", await self._url(path), params=params)
        return row

    async def _rows(self, url: str, params: dict[str, str], limit: int) -> QueryResult:
        from yarl import URL

        page = await self._request("GET", url, params=params)
        rows: list[Row] = page["value"]
        total = page.get("@odata.count")
        while len(rows) <= limit and (link := page.get("@odata.nextLink")):
            if not self._endpoint.owns(link):
                raise ToolError("Business Central's next page is at another server: not followed.")
            page = await self._request("GET", URL(link, encoded=True))
            rows = [*rows, *page["value"]]
        return QueryResult(rows[:limit], len(rows) > limit, total)

    # --- writing ---

    async def create(self, path: str, body: Row) -> Row:
        row: Row = await self._request("POST", await self._url(path), body=body)
        return row

    async def change(self, path: str, etag: str, body: Row) -> Row:
        """Raises Conflict if somebody has changed the record since this etag was read."""
        row: Row = await self._request("PATCH", await self._url(path), body=body, etag=etag)
        return row

    async def delete(self, path: str, etag: str) -> None:
        await self._request("DELETE", await self._url(path), etag=etag)

    async def act(self, path: str, action: str, etag: str, unchanged: Row) -> None:
        """Raises Conflict if somebody has changed the record since this etag was read.

        Actions look at no etag. So the record is first changed to what it is, which does: a batch
        ends with the first request that is refused.
        """
        check = request("PATCH", await self._url(path), unchanged, etag)
        act = request("POST", await self._url(f"{path}/Microsoft.NAV.{action}"))
        for error in await self._transaction([check, act], wrote=True):
            if error is not None:
                raise error

    async def create_all(self, path: str, bodies: Sequence[Row]) -> list[ToolError | None]:
        """Create all or none. Returns the error of each; after one error none exists.

        Raises Uncertain where an answer is missing and none is an error.
        """
        url = await self._url(path)
        return await self._transaction([request("POST", url, body) for body in bodies], wrote=False)

    async def _transaction(self, requests: Sequence[Row], *, wrote: bool) -> list[ToolError | None]:
        body = batch(requests, self._api)
        reply = await self._request("POST", f"{self._api}/$batch", body=body, isolated=True)
        return errors(reply, requests, wrote=wrote)

    # --- requests ---

    @property
    def _api(self) -> str:
        if self._open is None:
            raise ToolError("Business Central is not connected: the server is not running.")
        return self._endpoint.api

    async def _url(self, path: str) -> str:
        return f"{self._api}/companies({await self._company()})/{path}"

    async def _company(self) -> str:
        async with self._finding_company:
            if not self._company_id:
                self._company_id = _choose_company(self._endpoint.company, await self.companies())
            return self._company_id

    async def _request(
        self,
        method: str,
        url: "str | URL",
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
        response = await self._send_with_retries(method, url, params, headers, body)
        if response.status >= 300:
            raise failure(response.status, response.body, wrote=wrote, sent=body)
        if response.status != NO_CONTENT and not isinstance(response.body, dict):
            raise lost(wrote=wrote)  # cut off, or not Business Central at all
        self._answered = True
        return response.body

    async def _send_with_retries(
        self, method: str, url: "str | URL", params: Any, headers: dict[str, str], body: Any
    ) -> _Response:
        tries, renewed = 0, False
        while True:
            tries += 1
            token = await self._sign_in.token(self._client())
            signed = {"Authorization": f"Bearer {token}", "Accept": "application/json", **headers}
            async with self._slots:
                response = await self._send(method, url, params, signed, body)
            if response.status == 401 and not renewed:
                renewed = True  # a token may be revoked before it expires
                self._sign_in.forget(token)
                continue
            wait = pause(method, response.status, response.retry_after, tries)
            if wait is None:
                return response
            await asyncio.sleep(wait)

    async def _send(
        self, method: str, url: "str | URL", params: Any, headers: dict[str, str], body: Any
    ) -> _Response:
        import aiohttp

        try:
            async with self._client().request(
                method, url, params=params, headers=headers, json=body, allow_redirects=False
            ) as response:
                value = await _read_json(response)
                return _Response(response.status, value, response.headers.get("Retry-After"))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise ToolError(UNREACHABLE) from None
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise lost(wrote=method != "GET") from None

    def _client(self) -> "aiohttp.ClientSession":
        if self._http is None:
            import aiohttp

            assert self._open is not None, "it is not connected"
            timeout = aiohttp.ClientTimeout(total=TIMEOUT, connect=CONNECT_TIMEOUT)
            through_proxy = not is_on_loopback(self._endpoint.base_url)
            self._http = aiohttp.ClientSession(timeout=timeout, trust_env=through_proxy)
            self._open.push_async_callback(self._http.close)
        return self._http


def sandbox_folder(store_url: str, folder: str) -> Path | None:
    """Beside the log, as it is kept: in memory beside a store in memory."""
    scheme, _, rest = store_url.partition(":")
    if scheme == "memory":
        return None
    return Path(rest if scheme == "sqlite" else folder)


async def _start_sandbox(stack: AsyncExitStack, folder: Path | None) -> Endpoint:
    """A sandbox that only this connection can talk to."""
    from turnlog.contrib.business_central.sandbox import Sandbox

    secret = secrets.token_hex(16)
    sandbox = await asyncio.to_thread(partial(Sandbox, client_secret=secret, folder=folder))
    url = await stack.enter_async_context(sandbox.serve())
    return sandbox.endpoint(url)


def _choose_company(wanted: str | None, companies: list[Row]) -> str:
    names = ", ".join(repr(company["name"]) for company in companies)
    if wanted is None:
        if len(companies) != 1:
            raise ToolError(f"An administrator has to set TURNLOG_BC_COMPANY to one of: {names}.")
        return str(companies[0]["id"])
    for company in companies:
        own_names = {company["id"], company["name"], company.get("displayName", "")}
        if wanted.casefold() in {name.casefold() for name in own_names}:
            return str(company["id"])
    raise ToolError(
        f"Business Central has no company {wanted!r}. There are: {names}."
        " An administrator has to change TURNLOG_BC_COMPANY."
    )


async def _read_json(response: "aiohttp.ClientResponse") -> Any:
    """The body, or None if it is empty or not JSON, such as a gateway's page."""
    try:
        body = await read_bounded(response.content.iter_any(), MOST_BYTES)
    except TooMuch:
        raise ToolError("Business Central's answer is too large. Ask for less.") from None
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
