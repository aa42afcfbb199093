"""Bearer tokens that this server makes: for people, and for its own calls to tool servers."""

import time
from collections.abc import Collection
from typing import Any

DAY = 86_400  # seconds


def mint(
    secret: str,
    user_id: str,
    *,
    admin: bool = False,
    roles: Collection[str] = (),
    days: float = 30,
    **claims: Any,
) -> str:
    """A token (HS256) that says who its bearer is; `claims` is what else it says."""
    import jwt  # with its cryptography it takes a while, and a server alone needs none

    issued = int(time.time())
    stated = {"sub": user_id, "iat": issued, "exp": issued + round(days * DAY)}
    given = sorted({*roles, *(["admin"] if admin else [])})
    stated |= {"roles": given} if given else {}
    return jwt.encode(stated | claims, secret, algorithm="HS256")
