"""Access tokens for client credentials: fetched when needed, kept until they expire."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from turnlog.contrib.business_central.client.endpoint import Endpoint
from turnlog.contrib.business_central.client.failures import UNREACHABLE
from turnlog.errors import ToolError
from turnlog.net import TooMuch, read_bounded

if TYPE_CHECKING:
    import aiohttp

MOST_BYTES = 100_000  # of an answer
SCOPE = "https://api.businesscentral.dynamics.com/.default"
TOO_MANY = 429
MARGIN = 60.0  # seconds before its expiry in which a token is not used any more
_log = logging.getLogger(__name__)


class _Grant(msgspec.Struct):
    access_token: str
    expires_in: float


class SignIn:
    """The access token of one endpoint."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.monotonic) -> None:
        self._endpoint, self._clock = endpoint, clock
        self._token, self._expires_at = "", float("-inf")
        self._fetching = asyncio.Lock()

    async def token(self, http: "aiohttp.ClientSession") -> str:
        async with self._fetching:
            if self._clock() >= self._expires_at:
                grant = await self._fetch(http)
                self._token = grant.access_token
                self._expires_at = self._clock() + grant.expires_in - MARGIN
            return self._token

    def forget(self, token: str) -> None:
        """The token was refused, so the next call fetches another one."""
        if token == self._token:
            self._expires_at = float("-inf")

    async def _fetch(self, http: "aiohttp.ClientSession") -> _Grant:
        import aiohttp

        form = {
            "grant_type": "client_credentials",
            "client_id": self._endpoint.client_id,
            "client_secret": self._endpoint.client_secret,
            "scope": SCOPE,
        }
        try:
            url = self._endpoint.token_url
            async with http.post(url, data=form, allow_redirects=False) as response:
                raw = await read_bounded(response.content.iter_any(), MOST_BYTES)
                return _read_grant(response.status, raw)
        except (aiohttp.ClientError, TimeoutError, OSError, TooMuch):
            raise ToolError(UNREACHABLE) from None


def _read_grant(status: int, raw: bytes) -> _Grant:
    if status == 200:  # its body may hold a token, so it is not logged
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(raw, type=_Grant, strict=False)  # some give "3599"
        raw = b"(no token that can be read)"
    # Entra's reason (AADSTS…) is for the administrator, who reads the log.
    _log.warning("sign-in to Business Central failed: %d %s", status, raw[:200])
    if status == TOO_MANY or status >= 500:
        raise ToolError(UNREACHABLE)
    raise ToolError(
        "This server could not sign in to Business Central. An administrator has to check"
        " TURNLOG_BC_TENANT, TURNLOG_BC_CLIENT_ID and TURNLOG_BC_CLIENT_SECRET."
    )
