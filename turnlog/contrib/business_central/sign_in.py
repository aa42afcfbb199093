"""Tokens for client credentials: asked for when needed, kept while they hold."""

import asyncio
import logging
import time
from collections.abc import Callable

import aiohttp
import msgspec

from turnlog.errors import ToolError
from turnlog.net import TooMuch, read_bounded

from .failures import UNREACHABLE
from .place import Place

SCOPE = "https://api.businesscentral.dynamics.com/.default"
MOST_BYTES = 100_000  # of an answer
MARGIN = 60.0  # seconds before its end in which a token is not used any more
_log = logging.getLogger(__name__)


class _Granted(msgspec.Struct):
    access_token: str
    expires_in: float


class SignIn:
    """The token of one place."""

    def __init__(self, place: Place, clock: Callable[[], float] = time.monotonic) -> None:
        self._place, self._clock = place, clock
        self._token, self._until = "", float("-inf")
        self._asking = asyncio.Lock()

    async def token(self, http: aiohttp.ClientSession) -> str:
        async with self._asking:
            if self._clock() >= self._until:
                granted = await self._ask(http)
                self._token = granted.access_token
                self._until = self._clock() + granted.expires_in - MARGIN
            return self._token

    def forget(self, token: str) -> None:
        """The token was refused: the next call asks for another one."""
        if token == self._token:
            self._until = float("-inf")

    async def _ask(self, http: aiohttp.ClientSession) -> _Granted:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._place.client_id,
            "client_secret": self._place.client_secret,
            "scope": SCOPE,
        }
        try:
            at = self._place.token_url
            async with http.post(at, data=form, allow_redirects=False) as response:
                raw = await read_bounded(response.content.iter_any(), MOST_BYTES)
                return _granted(response.status, raw)
        except (aiohttp.ClientError, TimeoutError, OSError, TooMuch):
            raise ToolError(UNREACHABLE) from None


def _granted(status: int, raw: bytes) -> _Granted:
    try:
        if status == 200:
            return msgspec.json.decode(raw, type=_Granted)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    # Entra's reason (AADSTS…) is for the administrator, who reads the log.
    _log.warning("sign-in to Business Central failed: %d %s", status, raw[:200])
    raise ToolError(
        "This server could not sign in to Business Central. An administrator has to check"
        " TURNLOG_BC_TENANT, TURNLOG_BC_CLIENT_ID and TURNLOG_BC_CLIENT_SECRET."
    )
