"""The client for programs that use asyncio."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx2

from turnlog.client import calls
from turnlog.client.asking import LONGEST_WAIT, MOST_FAILURES, Asking, Request
from turnlog.client.calls import STREAM, Call, Json, checked
from turnlog.client.events import Event
from turnlog.client.frames import Frames

TIMEOUT = httpx2.Timeout(30.0, read=90.0)  # a stream shows a sign of life more often than that


class AsyncClient:
    """A server, and who asks it."""

    def __init__(
        self, url: str, *, token: str | None = None, http: httpx2.AsyncClient | None = None
    ) -> None:
        """`http`: a client of your own, with its proxies and certificates."""
        self._http = http or httpx2.AsyncClient(timeout=TIMEOUT)
        self._url = url.rstrip("/")
        self._headers = calls.headers(token)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.aclose()

    async def create_session(
        self, *, title: str | None = None, agent: str | None = None, engine: str | None = None
    ) -> Json:
        return await self._call(calls.create_session(title, agent, engine))

    async def sessions(self, *, limit: int = 50, cursor: str | None = None) -> Json:
        """A page of the user's sessions, and the cursor of the next one."""
        return await self._call(calls.sessions(limit, cursor))

    async def messages(
        self, session_id: str, *, limit: int = 100, before: int | None = None
    ) -> Json:
        """The reload: kept events, and the `cursor` to `follow` from."""
        return await self._call(calls.messages(session_id, limit, before))

    async def ask(
        self, session_id: str, message: str, **options: Any
    ) -> AsyncGenerator[Event, None]:
        """Ask, and see the answer grow until `complete` or `error`.

        It goes on over connections that break, and waits as long as a person is asked something.
        `options` are those of the route: fileIds, enableThinking, requestId, onBusy.
        """
        asking = Asking(session_id, message, **options)
        while not asking.over:
            request = asking.request()
            await asyncio.sleep(request.after)
            lost: Exception | None = None
            try:
                async with aclosing(self._stream(request)) as events:
                    async for event in events:
                        for new in asking.take(event):
                            yield new
                        if asking.over:
                            return
            except httpx2.TransportError as error:
                lost = error
            asking.lost(lost)

    async def follow(
        self, session_id: str, *, after: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Everything that happens in the session, from the cursor on.

        It ends with `resync_required` where the server does not reach back so far: then call
        `messages`, and follow from its cursor.
        """
        cursor, failures = after, 0
        path = f"/api/sessions/{session_id}/stream"
        while True:
            params = {"after": cursor} if cursor else None
            lost: Exception | None = None
            try:
                async with aclosing(self._stream(Request("GET", path, params=params))) as events:
                    async for event in events:
                        cursor, failures = event["cursor"], 0
                        yield event
                        if event["type"] == "resync_required":
                            return
            except httpx2.TransportError as error:
                lost = error
            failures += 1
            if failures > MOST_FAILURES:
                raise lost or ConnectionError("The server ends every stream at once.")
            await asyncio.sleep(min(0.1 * 2**failures, LONGEST_WAIT))

    async def stop(self, session_id: str, *, turn_id: str | None = None) -> bool:
        """Whether anything ran that is stopped now. With `turn_id` only that turn is."""
        return bool((await self._call(calls.stop(session_id, turn_id)))["stopped"])

    async def approvals(self, *, status: str | None = "pending") -> list[Json]:
        found: list[Json] = (await self._call(calls.approvals(status)))["approvals"]
        return found

    async def approve(self, approval_id: str, *, args: Json | None = None) -> Json:
        """Let the call run; `args` where it shall run with others."""
        return await self._call(calls.decide(approval_id, True, None, args))

    async def reject(self, approval_id: str, *, reason: str | None = None) -> Json:
        return await self._call(calls.decide(approval_id, False, reason, None))

    async def upload(
        self,
        session_id: str,
        content: bytes,
        *,
        name: str,
        media_type: str = "application/octet-stream",
    ) -> Json:
        """A picture, a PDF or a document, for `fileIds` of a question."""
        return await self._call(calls.upload(session_id, name, content, media_type))

    # inside

    async def _call(self, call: Call) -> Json:
        sent = call.sent()
        sent["url"] = self._url + sent["url"]
        answer: Json = checked(await self._http.request(**sent, headers=self._headers)).json()
        return answer

    async def _stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """One connection: its events until it ends or breaks."""
        frames = Frames()
        async with self._http.stream(
            request.method,
            self._url + request.path,
            json=request.json,
            params=request.params,
            headers=self._headers | STREAM,
        ) as response:
            if not response.is_success:
                await response.aread()
            checked(response)
            async for piece in response.aiter_bytes():
                for event in frames.feed(piece):
                    yield event
