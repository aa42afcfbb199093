"""A plain HTTP client for the Business Central sandbox, as a stranger would write one."""

from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from turnlog.contrib.business_central.sandbox import Sandbox

SCOPE = "https://api.businesscentral.dynamics.com/.default"


@dataclass
class Reply:
    status: int
    headers: Mapping
    body: object

    @property
    def code(self):
        return self.body["error"]["code"]

    @property
    def message(self):
        return self.body["error"]["message"]


class Client:
    """Calls below the first company, or anywhere by `at`."""

    def __init__(self, http, url, sandbox):
        self._http, self.url, self.sandbox = http, url, sandbox
        self.token = ""
        self.api = f"{url}/v2.0/{sandbox.tenant}/{sandbox.environment}/api/v2.0"
        self.company = f"{self.api}/companies({sandbox.service.companies[0].id})"

    async def ask_for_token(self, tenant=None, **changed):
        form = {"grant_type": "client_credentials", "scope": SCOPE}
        form |= {"client_id": self.sandbox.client_id, "client_secret": self.sandbox.client_secret}
        at = f"{self.url}/{tenant or self.sandbox.tenant}/oauth2/v2.0/token"
        async with self._http.post(at, data=form | changed) as response:
            return response.status, await response.json()

    async def sign_in(self):
        _, told = await self.ask_for_token()
        self.token = told["access_token"]

    async def call(self, method, path, *, at=None, body=None, headers=None, **options):
        params = {f"${name}": str(value) for name, value in options.items()}
        headers = {"Authorization": f"Bearer {self.token}"} | (headers or {})
        url = f"{at or self.company}/{path}".rstrip("/")
        asked = self._http.request(method, url, params=params, headers=headers, json=body)
        async with asked as response:
            is_json = "json" in response.headers.get("content-type", "")
            read = await (response.json() if is_json else response.text())
            return Reply(response.status, response.headers, read)

    async def get(self, path, **options):
        return await self.call("GET", path, **options)

    async def rows(self, path, **options):
        return (await self.get(path, **options)).body["value"]

    async def post(self, path, **body):
        return await self.call("POST", path, body=body)

    async def patch(self, path, etag, **body):
        headers = {} if etag is None else {"If-Match": etag}
        return await self.call("PATCH", path, body=body, headers=headers)

    async def delete(self, path, etag="*"):
        headers = {} if etag is None else {"If-Match": etag}
        return await self.call("DELETE", path, headers=headers)

    async def one(self, path, **equal):
        """The row with these values."""
        wanted = " and ".join(f"{name} eq '{value}'" for name, value in equal.items())
        (row,) = await self.rows(path, filter=wanted)
        return row


@asynccontextmanager
async def signed_in(**how):
    sandbox = Sandbox(**how)
    async with sandbox.serve() as url, aiohttp.ClientSession() as http:
        client = Client(http, url, sandbox)
        await client.sign_in()
        yield client
