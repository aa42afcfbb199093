"""Business Central for tests: the ERP agent's tools, and a plain HTTP client, on a sandbox."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import aiohttp

from turnlog.contrib.business_central import BusinessCentral, business_central_tools
from turnlog.contrib.business_central.sandbox import Sandbox
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.events.kinds import ToolResult, ToolUse
from turnlog.tools.approval import Policy
from turnlog.tools.runner import ToolRunner
from turnlog.tools.tool import Tool, ToolContext

SCOPE = "https://api.businesscentral.dynamics.com/.default"
LINES = [{"item_number": "1896-S", "quantity": 2}, {"item_number": "1928-s", "quantity": 5}]
INVOICE = {"customer_number": "10000", "customer_name": "Adatum Corporation", "lines": LINES}
Row = dict[str, Any]


class ErpTools:
    """The agent's tools by name, run as the server runs them, over real HTTP."""

    def __init__(self, sandbox: Sandbox, bc: BusinessCentral) -> None:
        self.sandbox, self.bc = sandbox, bc

    @cached_property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in business_central_tools(self.bc)}

    @cached_property
    def _runner(self) -> ToolRunner:
        unasked = Policy(agent="never")  # approvals have tests of their own
        return ToolRunner(list(self.tools.values()), _context, policy=unasked)

    async def run(self, name: str, /, id: str = "toolu_1", **args: Any) -> ToolResult:
        call = ToolUse(tool_use_id=id, tool_name=name, args=args)
        batches = [batch async for batch in self._runner.run([call])]
        result = batches[-1][-1]
        assert isinstance(result, ToolResult)
        return result

    async def result(self, name: str, /, id: str = "toolu_1", **args: Any) -> Any:
        """The result of a tool that has to succeed."""
        result = await self.run(name, id, **args)
        assert result.success, result.error
        return result.result

    async def error(self, name: str, /, id: str = "toolu_1", **args: Any) -> str:
        """The sentence that the model is told by a tool that has to fail."""
        result = await self.run(name, id, **args)
        assert not result.success, result.result
        return str(result.error)

    async def reconcile(self, name: str, /, id: str = "toolu_1", **args: Any) -> Any:
        """What the tool finds out about an earlier call of itself."""
        look_up = self.tools[name].reconcile
        assert look_up is not None
        call = ToolUse(tool_use_id=id, tool_name=name, args=args)
        return await look_up(args, self._runner._context(call))

    async def draft(self, **changes: Any) -> Row:
        """A draft invoice."""
        invoice: Row = await self.result("create_sales_invoice", **INVOICE | changes)
        return invoice

    async def current(self, word: str, number: str) -> Row:
        """The arguments that name a record as it is now, for a change of it."""
        row = await self.result(f"get_{word}", number=number)
        return {"number": number, "current_name": row["displayName"], "etag": row["etag"]}

    def row(self, entity: str, **values: Any) -> Row | None:
        """A row of the sandbox's own tables."""
        return self.sandbox.service.companies[0].find(ENTITIES[entity], **values)

    def drafts(self) -> list[Row]:
        rows = self.sandbox.service.companies[0].rows(ENTITIES["salesInvoice"])
        return [row for row in rows if row["status"] == "Draft"]


def approval_of(invoice: Row) -> Row:
    """The arguments with which an invoice is posted, as a person approves them."""
    return {
        "invoice_id": invoice["id"],
        "number": invoice["number"],
        "customer_name": invoice["customerName"],
        "total_including_tax": invoice["totalAmountIncludingTax"],
        "currency_code": invoice["currencyCode"],
        "etag": invoice["etag"],
    }


@asynccontextmanager
async def erp_tools(
    changes: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> AsyncIterator[ErpTools]:
    """Tools on a sandbox with these options, through an endpoint with these changes."""
    sandbox = Sandbox(**options)
    async with (
        sandbox.serve() as url,
        BusinessCentral(sandbox.endpoint(url, **changes)) as bc,
    ):
        yield ErpTools(sandbox, bc)


def _context(tool_use_id: str) -> ToolContext:
    return ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id=tool_use_id)


@dataclass
class Reply:
    """One response of the sandbox."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> Any:
        return self.body["error"]["code"]

    @property
    def message(self) -> Any:
        return self.body["error"]["message"]


class ODataClient:
    """A plain HTTP client, as a stranger would write one. Paths are below the first company."""

    def __init__(self, http: aiohttp.ClientSession, url: str, sandbox: Sandbox) -> None:
        self._http, self.url, self.sandbox = http, url, sandbox
        self.token = ""
        self.api = f"{url}/v2.0/{sandbox.tenant}/{sandbox.environment}/api/v2.0"
        self.company = f"{self.api}/companies({sandbox.service.companies[0].id})"

    async def request_token(self, tenant: str | None = None, **changes: str) -> tuple[int, Any]:
        form = {"grant_type": "client_credentials", "scope": SCOPE}
        form |= {"client_id": self.sandbox.client_id, "client_secret": self.sandbox.client_secret}
        url = f"{self.url}/{tenant or self.sandbox.tenant}/oauth2/v2.0/token"
        async with self._http.post(url, data=form | changes) as response:
            return response.status, await response.json()

    async def sign_in(self) -> None:
        _, grant = await self.request_token()
        self.token = grant["access_token"]

    async def call(
        self,
        method: str,
        path: str,
        *,
        at: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> Reply:
        params = {f"${name}": str(value) for name, value in options.items()}
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        url = f"{at or self.company}/{path}".rstrip("/")
        async with self._http.request(
            method, url, params=params, headers=headers, json=body
        ) as response:
            is_json = "json" in response.headers.get("content-type", "")
            value = await (response.json() if is_json else response.text())
            return Reply(response.status, response.headers, value)

    async def get(self, path: str, **options: Any) -> Reply:
        return await self.call("GET", path, **options)

    async def rows(self, path: str, **options: Any) -> list[Row]:
        rows: list[Row] = (await self.get(path, **options)).body["value"]
        return rows

    async def post(self, path: str, **body: Any) -> Reply:
        return await self.call("POST", path, body=body)

    async def patch(self, path: str, etag: str | None, **body: Any) -> Reply:
        return await self.call("PATCH", path, body=body, headers=_if_match(etag))

    async def delete(self, path: str, etag: str | None = "*") -> Reply:
        return await self.call("DELETE", path, headers=_if_match(etag))

    async def one(self, path: str, **values: str) -> Row:
        """The only row with these values."""
        condition = " and ".join(f"{name} eq '{value}'" for name, value in values.items())
        (row,) = await self.rows(path, filter=condition)
        return row


def _if_match(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"If-Match": etag}


@asynccontextmanager
async def odata_client(**options: Any) -> AsyncIterator[ODataClient]:
    """A signed-in client of a sandbox with these options."""
    sandbox = Sandbox(**options)
    async with sandbox.serve() as url, aiohttp.ClientSession() as http:
        client = ODataClient(http, url, sandbox)
        await client.sign_in()
        yield client
