"""The SDK's clients, where they are needed: to sign for other clouds, and to leave files.

Bounded as our own connection is: no redirects, nothing packed, errors of a bearable size.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from turnlog.engines.claude.bounds import MOST_ERROR
from turnlog.engines.claude.connection import Packed
from turnlog.engines.claude.http.route import CONNECTS_WITHIN
from turnlog.net import is_on_loopback

UNPACKED = ("", "identity")

if TYPE_CHECKING:  # importing the SDK takes seconds
    from anthropic import AsyncAnthropic


def connect(api_key: str, base_url: str | None, silence: float) -> "AsyncAnthropic":
    """`silence`: how many seconds nothing may come, before an answer and within."""
    import anthropic

    return anthropic.AsyncAnthropic(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        default_headers={"accept-encoding": "identity"},
        http_client=http_client(base_url, silence),
    )


def http_client(base_url: str | None, silence: float) -> Any:
    """The same for all of them."""
    import anthropic

    return anthropic.DefaultAioHttpClient(
        timeout=anthropic.Timeout(silence, connect=CONNECTS_WITHIN),
        trust_env=not is_on_loopback(base_url or ""),  # no proxy leads to this machine
        follow_redirects=False,
        event_hooks={"response": [_bounded]},
    )


async def _bounded(response: Any) -> None:
    """Called when the head of a response is there and nothing of its body is read."""
    if response.headers.get("content-encoding", "") not in UNPACKED:
        raise Packed
    if response.status_code >= 300:
        response.stream = _beginning(response.stream)


def _beginning(stream: Any) -> Any:
    """The SDK reads the body of an error whole."""
    from httpx2 import AsyncByteStream

    class Beginning(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_ERROR
            async for piece in stream:
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await stream.aclose()

    return Beginning()
