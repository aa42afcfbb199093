"""Who may knock. A page of some other site must not talk to a server on this machine.

Without authentication the browser is the only thing between a hostile page and the local
user: the host that was asked for must be this machine (or a page could be given our address
under its own name), and a page's origin must be ours.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from turnlog.net import is_on_loopback
from turnlog.transports import problem

Rule = Callable[[Scope, Collection[str]], bool]


class Door:
    """ASGI middleware for a server without authentication."""

    def __init__(
        self, app: ASGIApp, origins: Collection[str] = (), rule: "Rule | None" = None
    ) -> None:
        """`origins`: sites whose pages are let in all the same; `rule`: `welcome`, or another."""
        self._app = app
        self._origins = origins
        self._rule = rule or welcome

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._rule(scope, self._origins):
            await self._app(scope, receive, send)
            return
        refused = problem.response(403, "Forbidden", why_refused(scope), "foreign_origin")
        await refused(scope, receive, send)


def why_refused(scope: Scope) -> str:
    """What a developer is told whose page may not ask, and the setting that lets it."""
    headers = Headers(scope=scope)
    origin, host = headers.get("origin", ""), headers.get("host", "")
    try:
        is_page = len(origin) < 200 and urlsplit(origin).hostname is not None
        asked_here = is_on_loopback(f"//{host}")
    except ValueError:
        is_page = asked_here = False
    if not is_page or not asked_here:
        return "This server answers only programs and pages of this machine."
    return (
        f"The page at {origin} is of another site, and another port is another site. To let its"
        f" pages ask, start the server with TURNLOG_CORS_ORIGINS={origin}."
    )


def welcome(scope: Scope, origins: Collection[str] = ()) -> bool:
    host = _header(scope, b"host") or ""
    try:
        asked_here = _is_here(host)
    except ValueError:  # not even an address
        return False
    return asked_here and is_same_site(scope, origins) and _comes_from_here(scope)


def is_same_site(scope: Scope, origins: Collection[str] = ()) -> bool:
    """Whether no page asks, or one of ours, or one of the sites that are let in."""
    origin = _header(scope, b"origin")
    try:
        if origin is None or origin in origins:
            return True
        return urlsplit(origin).netloc == (_header(scope, b"host") or "")
    except ValueError:
        return False


def _header(scope: Scope, name: bytes) -> str | None:
    """The first header of this name, which is in small letters as all of a scope are."""
    for given, value in scope["headers"]:
        if given == name:
            return str(value, "latin-1")
    return None


def _comes_from_here(scope: Scope) -> bool:
    """Also when somebody else's start command has put the server on the network."""
    client = scope.get("client")
    return client is None or _is_local(client[0])


@lru_cache(maxsize=100)  # every request comes by
def _is_here(host: str) -> bool:
    return is_on_loopback(f"//{host}")


@lru_cache(maxsize=100)
def _is_local(client: str) -> bool:
    try:
        return ip_address(client).is_loopback
    except ValueError:  # a socket file, or a test
        return True
