"""What a scripted Claude says: content blocks, how they are sent, and how it fails.

Everything here is a plain value. `stream.py` turns a `Reply` into the API's wire form;
`script_json.py` gives every value a JSON form for scripts from another process.
"""

import asyncio
import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# Base64 of b"simulated": a signature stays base64 from end to end, as the real ones are.
SIGNATURE_PREFIX = "c2ltdWxhdGVk"
_SIGNING_KEY = b"turnlog simulated claude"


def sign(thinking: str) -> str:
    """The signature this simulator gives to a thinking text, and checks when it comes back."""
    digest = hmac.digest(_SIGNING_KEY, thinking.encode(), hashlib.sha256)
    return SIGNATURE_PREFIX + base64.b64encode(digest).decode()


def fresh_id(prefix: str) -> str:
    return f"{prefix}_01{uuid.uuid4().hex[:22]}"


@dataclass(frozen=True)
class Text:
    """Some text. Each citation is a dict of one of the API's five kinds."""

    text: str
    citations: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Thinking:
    """A thought. Without a signature the simulator signs it; empty text means `omitted`."""

    text: str
    signature: str | None = None


@dataclass(frozen=True)
class RedactedThinking:
    """A thought that only Claude can read."""

    data: str


@dataclass(frozen=True)
class ToolCall:
    """A client tool is asked for. `raw_json` replaces the streamed JSON, e.g. to cut it short."""

    name: str
    input: Json = field(default_factory=dict)
    id: str | None = None
    raw_json: str | None = None


@dataclass(frozen=True)
class RawBlock:
    """Any other content block, as it stands in the finished message."""

    block: Json


Block = Text | Thinking | RedactedThinking | ToolCall | RawBlock


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the call costs. None means estimated; a cached token is not an input token.

    `final_input_tokens` is what message_delta reports when server tools made the input grow.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    final_input_tokens: int | None = None
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    thinking_tokens: int | None = None
    web_searches: int = 0


@dataclass(frozen=True)
class Whole:
    """The stream ends as it should."""


@dataclass(frozen=True)
class Cut:
    """The connection is closed after that many events; no message_stop, no last chunk.

    A `clean` cut ends the HTTP response as it should, as some gateways do: only the missing
    message_stop tells.
    """

    after: int
    clean: bool = False


@dataclass(frozen=True)
class Stall:
    """Nothing comes for some seconds after that many events; then the rest does."""

    after: int
    seconds: float

    async def over(self) -> None:
        """Waits for its end."""
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True)
class Break:
    """An `error` event comes after that many events; then the stream ends."""

    after: int
    type: str = "overloaded_error"
    message: str = "Overloaded"


Ending = Whole | Cut | Stall | Break

ESTIMATED = Usage()
WHOLE = Whole()


@dataclass(frozen=True, init=False)
class Reply:
    """One answer: its blocks, how they are paced, and how the stream ends.

    A plain string stands for a Text. `chunk` is characters per delta; `delay` is seconds
    between events; `first_delay` comes before message_start.
    """

    blocks: tuple[Block, ...]
    stop_reason: str | None
    stop_sequence: str | None
    stop_details: Json | None
    container: Json | None
    usage: Usage
    id: str | None
    model: str | None
    chunk: int
    delay: float
    first_delay: float
    ending: Ending

    def __init__(
        self,
        *blocks: Block | str,
        stop_reason: str | None = None,
        stop_sequence: str | None = None,
        stop_details: Json | None = None,
        container: Json | None = None,
        usage: Usage = ESTIMATED,
        id: str | None = None,
        model: str | None = None,
        chunk: int = 12,
        delay: float = 0.0,
        first_delay: float = 0.0,
        ending: Ending = WHOLE,
    ) -> None:
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1, not {chunk!r}")
        given = {name: value for name, value in locals().items() if name != "self"}
        given["blocks"] = tuple(Text(b) if isinstance(b, str) else b for b in blocks)
        self.__dict__.update(given)  # the dataclass is frozen: no plain assignment

    def but(self, **changes: Any) -> "Reply":
        """The same answer with some of its fields changed."""
        fields = {**vars(self), **changes}
        return Reply(*fields.pop("blocks"), **fields)

    def paced(self, delay: float) -> "Reply":
        """The same answer with that many seconds between its events."""
        return self.but(delay=delay)

    @property
    def final_stop_reason(self) -> str:
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(b, ToolCall) for b in self.blocks) else "end_turn"


@dataclass(frozen=True)
class Failure:
    """An HTTP error before the first byte of an answer."""

    status: int
    type: str
    message: str
    retry_after: float | None = None


# https://platform.claude.com/docs/en/api/errors
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def failure(type: str, message: str, retry_after: float | None = None) -> Failure:
    return Failure(STATUS[type], type, message, retry_after)


def overloaded(retry_after: float | None = None) -> Failure:
    return failure("overloaded_error", "Overloaded", retry_after)


def rate_limited(retry_after: float | None = None) -> Failure:
    message = "This request would exceed your organization's rate limit."
    return failure("rate_limit_error", message, retry_after)


def invalid_request(message: str = "Error") -> Failure:
    return failure("invalid_request_error", message)


def authentication_failed() -> Failure:
    return failure("authentication_error", "invalid x-api-key")


def api_error() -> Failure:
    return failure("api_error", "Internal server error")


Entry = Reply | Failure | Callable[[Json], Reply | Failure]
