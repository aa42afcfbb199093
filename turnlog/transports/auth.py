"""Who is asking. A bearer token (JWT, HS256), or the one local user when none is configured."""

import time
from dataclasses import dataclass

import jwt

from turnlog.errors import Unauthorized

LOCAL_USER = "local"
_LEEWAY = 10  # seconds that clocks may differ


@dataclass(frozen=True, kw_only=True)
class User:
    id: str
    admin: bool = False


class Auth:
    """Turns an Authorization header into a user."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret

    @property
    def required(self) -> bool:
        return self._secret is not None

    def user(self, authorization: str | None) -> User:
        """Raises Unauthorized with a sentence that says what to do."""
        if self._secret is None:
            return User(id=LOCAL_USER, admin=True)
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized("Send 'Authorization: Bearer <token>'.")
        try:
            claims = jwt.decode(
                token.strip(),
                self._secret,
                algorithms=["HS256"],
                leeway=_LEEWAY,
                options={"require": ["sub", "exp"]},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthorized("The token has expired. Get a new one.") from None
        except jwt.PyJWTError:
            raise Unauthorized("The token is not valid here.") from None
        return User(id=claims["sub"], admin=claims.get("admin") is True)


def mint(secret: str, user_id: str, *, admin: bool = False, days: float = 30) -> str:
    """A token that says who its bearer is."""
    issued = int(time.time())
    claims = {"sub": user_id, "iat": issued, "exp": issued + int(days * 86_400)}
    return jwt.encode(claims | ({"admin": True} if admin else {}), secret, algorithm="HS256")
