"""Who may knock. A page of some other site must not talk to a server on this machine.

Without authentication the browser is the only thing between a hostile page and the local
user: the host that was asked for must be this machine (or a page could be given our address
under its own name), and a page's origin must be ours.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from turnlog.transports import problem

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Door:
    """ASGI middleware for a server without authentication."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _welcome(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        detail = "This server answers only programs and pages of this machine."
        refused = problem.response(403, "Forbidden", detail, "foreign_origin")
        await refused(scope, receive, send)


def _welcome(headers: Headers) -> bool:
    host = headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in LOOPBACK:
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == host
