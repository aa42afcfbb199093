"""A response that ends when the token does that it was asked with, as a socket does."""

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class UntilExpiry:
    """An ASGI response. What streams when the time has come ends there, properly."""

    def __init__(self, response: ASGIApp, until: float) -> None:
        """`until`: seconds since 1970."""
        self._response = response
        self._until = until

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = over = False

        async def watched(message: Message) -> None:
            nonlocal begun, over
            begun = begun or message["type"] == "http.response.start"
            over = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        limit = asyncio.timeout(max(0.0, self._until - time.time()))
        try:
            async with limit:
                await self._response(scope, receive, watched)
        except (TimeoutError, ExceptionGroup):  # a task group may stand between us and the limit
            if not limit.expired():
                raise
            if begun and not over:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
