"""Bedrock, Vertex and Foundry: each with the SDK's own client.

Credentials are where the SDK looks for them: AWS's chain or AWS_BEARER_TOKEN_BEDROCK, Google's
application default credentials, ANTHROPIC_FOUNDRY_API_KEY. None of them is a setting of ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turnlog.engines.claude.platforms.event_stream import EventStreamSplitter
from turnlog.engines.claude.sse import SseSplitter

Splitter = SseSplitter | EventStreamSplitter


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Where Claude runs, if not at Anthropic."""

    client: str  # the name of the SDK's class
    splitter: Callable[[], Splitter] = SseSplitter
    needs: str = ""  # the package that the SDK signs requests with
    options: tuple[tuple[str, Any], ...] = ()  # further arguments of the client

    def connect(self, base_url: str | None, http_client: Any) -> Any:
        """Raises what the SDK raises where credentials, region or project are missing."""
        import anthropic

        given = dict(self.options) | ({"base_url": base_url} if base_url else {})
        return getattr(anthropic, self.client)(
            max_retries=0,
            default_headers={"accept-encoding": "identity"},
            http_client=http_client,
            **given,
        )


PLATFORMS = {
    "bedrock": Platform(
        client="AsyncAnthropicBedrock", splitter=EventStreamSplitter, needs="boto3"
    ),
    "vertex": Platform(client="AsyncAnthropicVertex", needs="google.auth"),
    "foundry": Platform(client="AsyncAnthropicFoundry"),
}
