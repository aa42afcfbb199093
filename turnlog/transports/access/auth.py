"""Who is asking: a bearer token (JWT), or the one local user when nothing is configured.

A token is signed with our own secret (HS256), or by an identity provider whose public keys
we fetch. Never both: the names of the two might mean different people.
"""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnlog.errors import ConfigError, Unauthorized
from turnlog.ports import ADMIN, User, roles_of
from turnlog.ports.user import LONGEST_ID
from turnlog.transports.access.jwks import ALGORITHMS, Issuer, KeyName, ProviderKeys

if TYPE_CHECKING:  # with its cryptography it takes a while, and a server alone needs none
    import jwt

LOCAL_USER = "local"
MOST_CHARACTERS = 200  # of a reason
MOST_TOKEN = 16_384  # characters
QUIET = 60.0  # seconds until the log has a reason of the same kind again: anybody may send tokens
_LEEWAY = 10  # seconds that clocks may differ
_INVALID = "The token is not valid here."
_ADMIN_CLAIM = "admin"
_ALONE = User(id=LOCAL_USER, roles=frozenset({ADMIN}))
_log = logging.getLogger(__name__)


class _Refused(Unauthorized):
    """Whoever sent the token is told little; why it is not valid is for the server's log."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(_INVALID)
        self.kind = kind
        self.why = why


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
        self._clock = clock
        self._quiet_until: dict[str, float] = {}  # by the kind of reason, of which there are few

    @property
    def required(self) -> bool:
        return self._secret is not None or self._issuer is not None

    @property
    def issuer(self) -> Issuer | None:
        return self._issuer

    async def identify(self, authorization: str | None) -> User:
        """The user, once the provider's keys are up to date. Raises Unauthorized."""
        try:
            if self._keys is not None:
                await self._keys.learn(_key_name(_token(authorization)))
            return self.user(authorization)
        except _Refused as refused:
            self._log_reason(refused)
            raise

    def _log_reason(self, refused: _Refused) -> None:
        now = self._clock()
        if now >= self._quiet_until.get(refused.kind, now):
            self._quiet_until[refused.kind] = now + QUIET
            _log.warning("A token was refused: %s", refused.why)

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
        except (jwt.PyJWTError, OverflowError) as error:  # the latter: a time that no clock shows
            raise _Refused(type(error).__name__, f"{error}"[:MOST_CHARACTERS]) from None
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
        name = _key_name(token)
        key = self._keys.find(name)
        if key is None:
            kid, algorithm = name
            why = f"the provider has no key {kid[:MOST_CHARACTERS]!r} for {algorithm}"
            raise _Refused("key", why)
        return key, key.algorithm_name


def _token(authorization: str | None) -> str:
    scheme, _, rest = (authorization or "").partition(" ")
    token = rest.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("Send 'Authorization: Bearer <token>'.")
    if len(token) > MOST_TOKEN or not token.isascii():
        raise _Refused("form", f"it is longer than {MOST_TOKEN} characters, or not ASCII")
    return token


def _key_name(token: str) -> KeyName:
    """The key that an unproven token names, if it is of a kind that a provider may have."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise _Refused("header", "it is no JWT") from None
    kid, algorithm = header.get("kid"), header.get("alg")
    if not kid or not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise _Refused("kid", f"it has no 'kid', or an 'alg' not of {sorted(ALGORITHMS)}")
    return kid, algorithm


def _subject(claims: dict[str, Any]) -> str:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_ID:
        raise Unauthorized(f"The token's 'sub' must be text of 1 to {LONGEST_ID} characters.")
    if not subject.isprintable():  # half a surrogate pair, say, which no store can write
        raise _Refused("sub", "its 'sub' has characters that cannot be shown")
    return subject
