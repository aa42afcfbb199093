"""Who is asking: a bearer token (JWT), or the one local user when nothing is configured.

A token is signed with our own secret (HS256), or by an identity provider whose public keys
we fetch. Never both: the names of the two might mean different people.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnlog.errors import ConfigError, Unauthorized
from turnlog.ports import ADMIN, User, roles_of
from turnlog.transports.access.jwks import ALGORITHMS, Issuer, KeyName, ProviderKeys

if TYPE_CHECKING:  # with its cryptography it takes a while, and a server alone needs none
    import jwt

LOCAL_USER = "local"
MOST_CHARACTERS = 200  # of a user's id
MOST_TOKEN = 16_384  # characters
_LEEWAY = 10  # seconds that clocks may differ
_INVALID = "The token is not valid here."
_ADMIN_CLAIM = "admin"
_ALONE = User(id=LOCAL_USER, roles=frozenset({ADMIN}))


class Auth:
    """Turns an Authorization header into a user."""

    def __init__(
        self,
        secret: str | None,
        issuer: Issuer | None = None,
        *,
        admin_claim: str = _ADMIN_CLAIM,
        roles_claim: str = "roles",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if secret is not None and issuer is not None:
            raise ConfigError("Set 'auth_secret' or 'auth_issuer', not both.")
        self._secret = secret
        self._issuer = issuer
        self._keys = None if issuer is None else ProviderKeys(issuer, clock=clock)
        self._admin_claim = admin_claim
        self._roles_claim = roles_claim

    @property
    def required(self) -> bool:
        return self._secret is not None or self._issuer is not None

    @property
    def issuer(self) -> Issuer | None:
        return self._issuer

    async def identify(self, authorization: str | None) -> User:
        """The user, once the provider's keys are up to date. Raises Unauthorized."""
        if self._keys is not None:
            await self._keys.learn(_key_name(_token(authorization)))
        return self.user(authorization)

    def user(self, authorization: str | None) -> User:
        """The user by the keys that are known; asks nobody.

        Raises Unauthorized with a sentence that says what to do.
        """
        if not self.required:
            return _ALONE
        import jwt

        token = _token(authorization)
        try:
            claims = self._claims(token)
            until = float(claims["exp"])
        except jwt.ExpiredSignatureError:
            raise Unauthorized("The token has expired. Get a new one.") from None
        except (jwt.PyJWTError, OverflowError):  # a time that no clock shows
            raise Unauthorized(_INVALID) from None
        return User(id=_subject(claims), roles=self._roles(claims), until=until)

    def _roles(self, claims: dict[str, Any]) -> frozenset[str]:
        """The roles that the token gives. A claim of your own for admins is the only one."""
        roles = roles_of(claims.get(self._roles_claim))
        if claims.get(self._admin_claim) is True:
            return roles | {ADMIN}
        return roles if self._admin_claim == _ADMIN_CLAIM else roles - {ADMIN}

    def _claims(self, token: str) -> dict[str, Any]:
        import jwt

        key, algorithm = self._key(token)
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            # A token for somebody else is refused also when we have no audience of our own.
            audience=self._issuer.audience if self._issuer else None,
            issuer=self._issuer.name if self._issuer else None,
            leeway=_LEEWAY,
            options={"require": ["sub", "exp"], "enforce_minimum_key_length": self._secret is None},
        )

    def _key(self, token: str) -> "tuple[str | jwt.PyJWK, str]":
        """What the token must be signed with. The token chooses among keys, not their use."""
        if self._keys is None:
            assert self._secret is not None
            return self._secret, "HS256"
        if not self._keys:
            raise Unauthorized("The token cannot be checked now. Try again in a moment.")
        key = self._keys.find(_key_name(token))
        if key is None:
            raise Unauthorized(_INVALID)
        return key, key.algorithm_name


def _token(authorization: str | None) -> str:
    scheme, _, rest = (authorization or "").partition(" ")
    token = rest.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("Send 'Authorization: Bearer <token>'.")
    if len(token) > MOST_TOKEN or not token.isascii():
        raise Unauthorized(_INVALID)
    return token


def _key_name(token: str) -> KeyName:
    """The key that an unproven token names, if it is of a kind that a provider may have."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise Unauthorized(_INVALID) from None
    kid, algorithm = header.get("kid"), header.get("alg")
    if not kid or not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise Unauthorized(_INVALID)
    return kid, algorithm


def _subject(claims: dict[str, Any]) -> str:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MOST_CHARACTERS:
        raise Unauthorized(f"The token's 'sub' must be text of 1 to {MOST_CHARACTERS} characters.")
    if not subject.isprintable():  # half a surrogate pair, say, which no store can write
        raise Unauthorized(_INVALID)
    return subject
