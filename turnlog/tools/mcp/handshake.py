"""Opens a connection with the official client: streamable HTTP, a program on stdin, or ourselves.

The only file that needs the `mcp` package; import it where a second does not matter.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, cast

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from turnlog.net import TooMuch, read_bounded
from turnlog.tools.mcp import program
from turnlog.tools.mcp.messages import readable
from turnlog.tools.mcp.pace import LINE, MESSAGE, QUESTION, Pace
from turnlog.tools.mcp.server import McpServer

_log = logging.getLogger(__name__)
MOST_BYTES = 8_000_000  # of one answer
_OWN_HOST = "http://127.0.0.1"
Headers = Callable[[], Mapping[str, str]]  # asked for each request: tokens are short-lived


@asynccontextmanager
async def opened(
    server: McpServer,
    headers: Headers,
    asgi: Any,
    pace: Pace,
    lost: asyncio.Event,
    changed: Callable[[], None],
) -> AsyncIterator[Client]:
    """A client that has shaken hands. `lost` is set when the other side is gone; `changed` is
    called when it says that its tools are others now.

    Requests of the server for a model's answer, for the user's input or for folders are refused:
    the client's own answers to them are errors.
    """

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    async with AsyncExitStack() as stack:
        transport = await _transport(stack, server, headers, asgi, pace)
        client = Client(
            _watched(transport, pace, lost),
            message_handler=on_message,
            cache=None,
            client_info=types.Implementation(name="turnlog", version=version("turnlog")),
        )
        yield await stack.enter_async_context(client)


async def _transport(
    stack: AsyncExitStack, server: McpServer, headers: Headers, asgi: Any, pace: Pace
) -> Any:
    if server.url is None:
        return program.started(server, pace, MOST_BYTES)
    inner = httpx2.ASGITransport(asgi) if server.is_own else httpx2.AsyncHTTPTransport()
    http = httpx2.AsyncClient(
        transport=_Bounded(inner, pace),
        headers={"accept-encoding": "identity", **server.headers},
        auth=_Fresh(headers),
        timeout=httpx2.Timeout(server.timeout, read=None),
    )
    await stack.enter_async_context(http)
    url = _OWN_HOST + server.url if server.is_own else server.url
    return streamable_http_client(url, http_client=http, max_sse_event_size=MOST_BYTES)


async def watch(client: Client, changed: Callable[[], None]) -> None:
    """Call `changed` whenever a server of the newer protocol says so; older ones notify."""
    tools = client.server_capabilities.tools
    if client.session.discover_result is None or tools is None or not tools.list_changed:
        return
    async with client.listen(tools_list_changed=True) as events:
        async for _ in events:
            changed()


async def list_tools(client: Client, most_pages: int = 20) -> list[types.Tool]:
    """Every page; a server whose pages never end, or are too large together, is cut off."""
    found: list[types.Tool] = []
    cursor: str | None = None
    room = MOST_BYTES
    for _ in range(most_pages):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        room -= len(page.model_dump_json())
        if cursor is None or room < 0:
            break
    return found


async def call(
    client: Client, name: str, arguments: dict[str, Any], meta: dict[str, Any]
) -> types.CallToolResult:
    """Not `client.call_tool`: it refuses a result that breaks the server's own output schema,
    and a model that is told of a failure does again what was done.
    """
    params = types.CallToolRequestParams(
        name=name, arguments=arguments, _meta=cast(types.RequestParamsMeta, meta) or None
    )
    request = types.CallToolRequest(params=params)
    return await client.session.send_request(request, types.CallToolResult)


class _Fresh(httpx2.Auth):
    """Headers that are made anew for each request."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers

    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers.update(self._headers())
        yield request


class _Bounded(httpx2.AsyncBaseTransport):
    """Answers of a bounded size, and a failed request is an answer too.

    The client would end the whole connection for one of them, and with it the calls of others.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, pace: Pace) -> None:
        self._inner = inner
        self._pace = pace

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":  # by the client itself, as often as the server makes it
            await self._pace.before_stream()
        try:
            response = await self._inner.handle_async_request(request)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                return await _read(response)
            if "content-encoding" not in response.headers:
                assert isinstance(response.stream, httpx2.AsyncByteStream)
                response.stream = _Paced(response.stream, self._pace)
                return response
            await response.aclose()
            return failed("AnswerPacked")  # unpacked, it would have no bound
        except httpx2.HTTPError as error:
            return failed(type(error).__name__)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Paced(httpx2.AsyncByteStream):
    """A stream of a server that answers for as long as it likes."""

    def __init__(self, inner: httpx2.AsyncByteStream, pace: Pace) -> None:
        self._inner = inner
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            yield piece
            await self._pace.after(len(piece) + LINE * (piece.count(b"\n") + piece.count(b"\r")))

    async def aclose(self) -> None:
        await self._inner.aclose()


def failed(kind: str) -> httpx2.Response:
    """No answer, as the client takes it for one of the server's errors."""
    error = {"code": types.CONNECTION_CLOSED, "message": kind}
    return httpx2.Response(502, json={"jsonrpc": "2.0", "id": None, "error": error})


async def _read(response: httpx2.Response) -> httpx2.Response:
    try:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = await read_bounded(response.stream, MOST_BYTES)
        if body and "content-encoding" in response.headers:
            raise TooMuch("Unpacked, it would have no bound.")
        return httpx2.Response(response.status_code, headers=response.headers, content=body)
    except TooMuch:
        return failed("AnswerTooLarge")
    finally:
        await response.aclose()


@asynccontextmanager
async def _watched(transport: Any, pace: Pace, lost: asyncio.Event) -> AsyncIterator[Any]:
    async with transport as (reading, writing):
        yield _Reading(reading, pace, lost), writing


class _Reading:
    """A stream that is read at a pace, and says when it has ended."""

    def __init__(self, inner: Any, pace: Pace, lost: asyncio.Event) -> None:
        self._inner = inner
        self._pace = pace
        self._lost = lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> "_Reading":
        return self

    async def __anext__(self) -> Any:
        try:
            message = readable(await anext(self._inner))
            asks = isinstance(getattr(message, "message", None), types.JSONRPCRequest)
            await self._pace.after(QUESTION if asks else MESSAGE)
            return message
        except BaseException:
            self._lost.set()
            raise

    async def __aenter__(self) -> "_Reading":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)
