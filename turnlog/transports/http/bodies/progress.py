"""Work that takes a while, as server-sent events: `progress`, then `file` or `problem`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnlog.ports.files import OnProgress
from turnlog.transports import problem, sse

Work = Callable[[OnProgress], Awaitable[dict[str, Any]]]


class ProgressStream(Response):
    """It begins to answer while the body still comes, and leaves the body to the work."""

    def __init__(self, request: Request, work: Work) -> None:
        super().__init__(headers=sse.HEADERS)
        del self.headers["content-length"]
        self._request = request
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        steps: asyncio.Queue[bytes] = asyncio.Queue()
        working = asyncio.ensure_future(self._frames(steps))
        try:
            while frame := await steps.get():
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            working.cancel()

    async def _frames(self, steps: asyncio.Queue[bytes]) -> None:
        def on_progress(done: int, of: int) -> None:
            steps.put_nowait(_frame("progress", b'{"done":%d,"of":%d}' % (done, of)))

        try:
            steps.put_nowait(_frame("file", msgspec.json.encode(await self._work(on_progress))))
        except Exception as error:
            answer = await problem.of(self._request, error)
            steps.put_nowait(_frame("problem", bytes(answer.body)))
        finally:
            steps.put_nowait(b"")


def _frame(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
