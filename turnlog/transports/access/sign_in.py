"""Signing in with an identity provider: OAuth's code flow with PKCE, for the web UI.

The browser goes to the provider and comes back with a code; we exchange it, so that the page asks
nobody but us. A code is worth nothing without the verifier, which never leaves the tab before.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from turnlog.errors import BadInput, Unauthorized
from turnlog.net import TooMuch, is_on_loopback, keeps_secrets, read_bounded
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.jwks import MOST_BYTES, PAUSE, TIMEOUT, Issuer, Unusable, get_json

SCOPE = "openid profile"
_AWAY = "The identity provider does not answer as it should. Try again in a moment."


class _Endpoints(msgspec.Struct):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class _Tokens(msgspec.Struct):
    access_token: str = ""
    id_token: str = ""


class SignIn:
    """How a browser signs in here."""

    def __init__(self, auth: Auth, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._auth = auth
        self._clock = clock
        self._known: _Endpoints | None = None
        self._asking = asyncio.Lock()
        self._quiet_until = float("-inf")

    async def offer(self) -> dict[str, Any]:
        """`none`: there are no users. `token`: paste one. `code`: go to the provider."""
        issuer = self._auth.issuer
        if issuer is None or issuer.client_id is None:
            return {"kind": "token" if self._auth.required else "none"}
        return {
            "kind": "code",
            "authorizationEndpoint": (await self._endpoints(issuer)).authorization_endpoint,
            "clientId": issuer.client_id,
            "scope": SCOPE,
        }

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> str:
        """The token for a code. Raises Unauthorized where the provider gives none that is good."""
        issuer = self._auth.issuer
        if issuer is None or issuer.client_id is None:
            raise BadInput("There is no identity provider to sign in with: paste a token.")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": issuer.client_id,
            "code_verifier": verifier,
        }
        tokens = await _post((await self._endpoints(issuer)).token_endpoint, form)
        for token in filter(None, (tokens.access_token, tokens.id_token)):
            try:
                await self._auth.identify(f"Bearer {token}")
            except Unauthorized:
                continue
            return token
        raise Unauthorized("The provider's token is not for this server: see 'auth_audience'.")

    async def _endpoints(self, issuer: Issuer) -> _Endpoints:
        """Anybody may ask us for them. So we ask the provider at most once in PAUSE seconds."""
        async with self._asking:
            if self._known is None and self._clock() >= self._quiet_until:
                self._quiet_until = self._clock() + PAUSE
                self._known = await _asked(issuer)
        if self._known is None:
            raise Unauthorized(_AWAY)
        return self._known


async def _asked(issuer: Issuer) -> _Endpoints:
    try:
        endpoints = await get_json(issuer.discovery, _Endpoints)
    except Exception as error:
        raise Unauthorized(_AWAY) from error
    named = (endpoints.authorization_endpoint, endpoints.token_endpoint)
    if endpoints.issuer != issuer.name or not all(map(keeps_secrets, named)):
        raise Unauthorized(_AWAY)
    return endpoints


async def _post(url: str, form: dict[str, str]) -> _Tokens:
    import aiohttp

    session = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=TIMEOUT), trust_env=not is_on_loopback(url)
    )
    try:
        async with session, session.post(url, data=form, allow_redirects=False) as response:
            raw = await read_bounded(response.content.iter_any(), MOST_BYTES)
            if response.status != 200:
                raise Unauthorized("The provider did not take the code. Sign in again.")
            return msgspec.json.decode(raw, type=_Tokens)
    except (aiohttp.ClientError, OSError, TooMuch, Unusable, msgspec.MsgspecError) as error:
        raise Unauthorized(_AWAY) from error
