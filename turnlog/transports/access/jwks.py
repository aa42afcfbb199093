"""The public keys of an identity provider: fetched, cached, and followed when they rotate.

A token names its key before anybody knows whether the token is genuine. So whatever tokens
say, the provider is asked at most once in PAUSE seconds, and when it does not answer, or
answers nonsense, the keys that are known stay.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from turnlog.errors import ConfigError
from turnlog.net import TooMuch, is_on_loopback, keeps_secrets, read_bounded

if TYPE_CHECKING:
    import jwt

FRESH = 600.0  # seconds after which the keys are fetched again
PAUSE = 10.0  # seconds between two fetches, whatever the reason
TIMEOUT = 5.0  # seconds for one answer of the provider
MOST_BYTES = 256_000  # of one answer
_DISCOVERY = "/.well-known/openid-configuration"
_log = logging.getLogger(__name__)

# A key is good for one algorithm, which follows from its kind and never from the token. No
# HS256: a public key is known to everybody, and would be the secret.
# fmt: off
_ALGORITHM = {
    ("RSA", None):      "RS256",
    ("EC",  "P-256"):   "ES256",
    ("OKP", "Ed25519"): "EdDSA",
}
# fmt: on
ALGORITHMS = frozenset(_ALGORITHM.values())
KeyName = tuple[str, str]  # its id, its algorithm
T = TypeVar("T", bound=msgspec.Struct)


class _Discovery(msgspec.Struct):
    issuer: str
    jwks_uri: str


class _KeySet(msgspec.Struct):
    keys: list[Any]


class _Jwk(msgspec.Struct, omit_defaults=True):
    """The public half of a key: other members, a private half among them, are not read."""

    kid: str
    kty: str
    crv: str | None = None
    use: str | None = None
    alg: str | None = None
    n: str | None = None
    e: str | None = None
    x: str | None = None
    y: str | None = None


class Unusable(Exception):
    """The provider's answer is none that we may use."""


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """An identity provider, as the settings name it."""

    name: str  # what its tokens say in `iss`
    audience: str | None = None
    jwks_url: str | None = None  # without it, the provider is asked where its keys are
    client_id: str | None = None  # of the web UI, for signing in with the provider

    def __post_init__(self) -> None:
        if not keeps_secrets(self.asked_first):
            setting = "auth_jwks_url" if self.jwks_url else "auth_issuer"
            raise ConfigError(f"{setting!r} must be https://…, not {self.asked_first!r}.")

    @property
    def asked_first(self) -> str:
        return self.jwks_url or self.discovery

    @property
    def discovery(self) -> str:
        # "removing any terminating /" (OpenID Connect Discovery 1.0, 4.1)
        return self.name.rstrip("/") + _DISCOVERY


class ProviderKeys:
    """What is known of an issuer's keys."""

    def __init__(self, issuer: Issuer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._known: dict[KeyName, jwt.PyJWK] = {}
        self._fresh_until = self._quiet_until = float("-inf")
        self._fetching = asyncio.Lock()

    def __bool__(self) -> bool:
        return bool(self._known)

    def find(self, name: KeyName) -> "jwt.PyJWK | None":
        return self._known.get(name)

    async def learn(self, name: KeyName) -> None:
        """Fetch the keys, if this one is unknown or what is known has become old."""
        if name in self._known and self._fetching.locked():
            return  # a slow provider delays only the one who asks it
        async with self._fetching:
            if self._due(name):
                await self._refresh()

    def _due(self, name: KeyName) -> bool:
        now = self._clock()
        wanted = name not in self._known or now >= self._fresh_until
        return wanted and now >= self._quiet_until

    async def _refresh(self) -> None:
        self._quiet_until = self._clock() + PAUSE
        try:
            self._known = await keys_of(self._issuer)
        except Unusable as error:
            stay = len(self._known)
            _log.warning("No keys from %s, %d known ones stay: %s", self._issuer.name, stay, error)
        else:
            self._fresh_until = self._clock() + FRESH


async def keys_of(issuer: Issuer) -> "dict[KeyName, jwt.PyJWK]":
    """The keys that it has now and that can be used. Raises Unusable where it does not answer."""
    import aiohttp  # it takes a tenth of a second, and most servers have no provider

    try:
        url = issuer.jwks_url or await _discover(issuer)
        keys = [_usable(one) for one in (await get_json(url, _KeySet)).keys]
    except (aiohttp.ClientError, OSError, ValueError, TooMuch) as error:
        raise Unusable(repr(error)) from error
    return {(key.key_id or "", key.algorithm_name): key for key in keys if key is not None}


async def _discover(issuer: Issuer) -> str:
    document = await get_json(issuer.asked_first, _Discovery)
    # "The issuer value returned MUST be identical" (OpenID Connect Discovery 1.0, 4.3)
    if document.issuer != issuer.name:
        raise Unusable(f"It says that it is {document.issuer!r}.")
    if not keeps_secrets(document.jwks_uri):
        raise Unusable(f"Its keys are at {document.jwks_uri!r}, which is not https.")
    return document.jwks_uri


async def get_json(url: str, kind: type[T]) -> T:
    import aiohttp

    session = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=TIMEOUT),
        headers={"accept": "application/json", "accept-encoding": "identity"},
        auto_decompress=False,  # what is counted is what is read
        trust_env=not is_on_loopback(url),  # the proxy, where there is one
    )
    async with session, session.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise Unusable(f"{url} answers {response.status}.")
        return _decoded(await read_bounded(response.content.iter_any(), MOST_BYTES), kind)


def _decoded(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unusable(f"Not what was expected: {error}") from None


def _usable(stated: Any) -> "jwt.PyJWK | None":
    """The key, or None: one that we cannot use does not spoil the others."""
    import jwt

    try:
        jwk = msgspec.convert(stated, _Jwk)
        algorithm = _ALGORITHM.get((jwk.kty, jwk.crv))
        if algorithm is None or jwk.alg not in (None, algorithm) or jwk.use not in (None, "sig"):
            return None
        return jwt.PyJWK(msgspec.to_builtins(jwk), algorithm)
    except (msgspec.ValidationError, jwt.PyJWTError, ValueError, TypeError):
        return None
