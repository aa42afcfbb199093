"""Assertions: what a tool server can check by itself of who acts, in which call.

An assertion is a JWT (EdDSA) of a minute, for one receiver. Its public key is at JWKS_PATH; the
private one comes of a secret in the settings, so every node signs with the same.
"""

import hashlib
import time
import uuid
from typing import TYPE_CHECKING, Any

from turnlog.errors import ConfigError

if TYPE_CHECKING:  # it takes a while, and most servers assert nothing
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

JWKS_PATH = "/.well-known/jwks.json"
SECONDS = 60  # that an assertion is worth anything
LEAST_KEY = 32  # characters of the secret


class Assertions:
    """Signs them, and says by which key."""

    def __init__(self, secret: str | None, issuer: str) -> None:
        """Without a secret nothing is asserted. Raises ConfigError for one that is too short."""
        if secret is not None and len(secret) < LEAST_KEY:
            raise ConfigError(
                f"'assertion_key' is too short: use {LEAST_KEY} random characters or more."
            )
        self._issuer = issuer
        self._key = None if secret is None else _key(secret)

    @property
    def jwks(self) -> dict[str, Any]:
        """The public key, as other programs read it."""
        return {"keys": [] if self._key is None else [_public(self._key)]}

    def assertion(self, audience: str, user_id: str, **claims: str) -> str:
        """Raises ConfigError where there is no key to sign with."""
        if self._key is None:
            raise ConfigError("Set 'assertion_key' first: assertions are signed with it.")
        import jwt

        issued = int(time.time())
        stated = {"iss": self._issuer, "aud": audience, "sub": user_id, "jti": uuid.uuid4().hex}
        times = {"iat": issued, "exp": issued + SECONDS}
        header = {"kid": _public(self._key)["kid"]}
        return jwt.encode(stated | claims | times, self._key, algorithm="EdDSA", headers=header)


def _key(secret: str) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = hashlib.sha256(b"turnlog assertions\0" + secret.encode()).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _public(key: "Ed25519PrivateKey") -> dict[str, Any]:
    from jwt.algorithms import OKPAlgorithm

    stated = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return stated | {"kid": hashlib.sha256(stated["x"].encode()).hexdigest()[:16], "use": "sig"}
