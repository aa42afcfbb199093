"""The web UI: files that were built into the package, read once and served from memory.

The page runs under a policy that lets in nothing but its own files, so that no text of a model,
a tool or a file can make it load or run anything.
"""

import gzip
import html
import mimetypes
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from turnlog.transports import problem
from turnlog.transports.mounting import route_path

# What the page knows: it shows the same document, and its script looks at the address.
PLACES = ("/", "/s/{id}", "/s/{id}/audit", "/approvals", "/usage", "/audit", "/signin")
EMBED = "/embed"
COMPONENT = "/embed.js"  # the web component, for pages of others
FOREVER = "public, max-age=31536000, immutable"  # names of assets hold their hash
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors {ancestors}; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@dataclass(frozen=True)
class File:
    body: bytes
    packed: bytes  # with gzip
    media_type: str


@lru_cache(maxsize=1)
def built() -> dict[str, File]:
    """Every built file by its path. Empty in a checkout in which nothing was built."""
    folder = files("turnlog") / "site"
    return dict(_walk(folder, "")) if folder.is_dir() else {}


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, File]]:
    for each in folder.iterdir():
        at = f"{path}/{each.name}"
        if each.is_dir():
            yield from _walk(each, at)
        elif not each.name.startswith("."):
            body = each.read_bytes()
            kind = mimetypes.guess_type(each.name)[0] or "application/octet-stream"
            yield at, File(body, gzip.compress(body, 9, mtime=0), kind)


def policy(ancestors: Collection[str] = ()) -> str:
    """`ancestors`: whose pages may show it in a frame."""
    return POLICY.format(ancestors=" ".join(ancestors) or "'none'")


class Site:
    """The routes of the web UI. `origins`: sites whose pages may embed the chat."""

    def __init__(self, origins: Collection[str] = ()) -> None:
        self._page = policy()
        self._embedded = policy(["'self'", *origins])

    def routes(self) -> list[StarletteRoute]:
        """None where nothing was built: then `/` is a page that says what runs."""
        if not built():
            return []
        paths = {
            **dict.fromkeys(PLACES, self.page),
            EMBED: self.embedded,
            COMPONENT: self.component,
            "/theme.js": self.file,
            "/icon.svg": self.file,
            "/assets/{name}": self.asset,
        }
        return [StarletteRoute(path, endpoint) for path, endpoint in paths.items()]

    async def page(self, request: Request) -> Response:
        return self.document(request, self._page)

    async def embedded(self, request: Request) -> Response:
        """The same page inside of another one, of a site that may ask."""
        return self.document(
            request, self._embedded
        )  # its frame-ancestors go before X-Frame-Options

    async def component(self, request: Request) -> Response:
        """A script that pages of other sites load."""
        response = await self.file(request)
        response.headers["cross-origin-resource-policy"] = "cross-origin"
        return response

    async def missing(self, request: Request, error: Exception) -> Response:
        """Who types a wrong address into a browser sees the page, which says so; anybody else gets
        the problem.
        """
        is_missing = getattr(error, "status_code", 500) == 404 and request.method in ("GET", "HEAD")
        if not (is_missing and "text/html" in request.headers.get("accept", "") and built()):
            return await problem.http(request, error)
        response = self.document(request, self._page)
        response.status_code = 404
        return response

    def document(self, request: Request, rules: str) -> Response:
        """Its files are named from where the server is mounted: the document has many addresses."""
        headers = {"content-security-policy": rules, "cache-control": "no-cache"}
        root = html.escape(request.scope.get("root_path", "").rstrip("/"))
        return _response(request, built().get("/index.html"), headers, root)

    async def file(self, request: Request) -> Response:
        return _response(request, _asked(request), {"cache-control": "no-cache"})

    async def asset(self, request: Request) -> Response:
        return _response(request, _asked(request), {"cache-control": FOREVER})


def _asked(request: Request) -> File | None:
    return built().get(route_path(request.scope))


def _response(
    request: Request, file: File | None, headers: dict[str, str], root: str | None = None
) -> Response:
    if file is None:
        return Response("Not found. Is the web UI built? `make .venv/.site`.", 404)
    body = file.body
    if root is not None:
        body = body.replace(b'="./', f'="{root}/'.encode())
    elif "gzip" in request.headers.get("accept-encoding", "") and not _is_packed(file):
        body, headers = file.packed, headers | {"content-encoding": "gzip"}
    return Response(body, 200, headers | {"vary": "accept-encoding"}, file.media_type)


def _is_packed(file: File) -> bool:
    return file.media_type.startswith(("font/", "image/png"))
