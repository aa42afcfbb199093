"""Business Central's refusals as sentences for the model: what was wrong, and what to do.

The error code decides first, then the status. Tokens, addresses and correlation ids are removed.
"""

import re
from typing import Any

from turnlog.errors import ToolError
from turnlog.tools.runner import InDoubt


class Uncertain(InDoubt):
    """A write was sent and no answer came: it may have taken effect, or not."""


class Conflict(ToolError):
    """Somebody else has changed the record."""


class Missing(ToolError):
    """There is no such record."""


_CHANGED = (
    "Somebody has changed this record in Business Central since it was read."
    " Read it again, then decide whether the change still makes sense."
)
_NO_ETAG = "The etag is not one that Business Central gave. Read the record again and use its etag."
_SIGN_IN = (
    "Business Central does not accept this server's sign-in."
    " An administrator has to check its client id, secret and registration."
)
_GONE = "Business Central has no such record (any more). Look it up again."
_BUSY = "Business Central takes no more requests right now. Try again in a minute."
_DOWN = "Business Central is not available right now. Try again later."
_SLOW = "Business Central needed too long for this. Ask for less, or try again later."
_UNSURE = "the connection to Business Central broke before it answered."
UNREACHABLE = "Business Central cannot be reached. Nothing was changed. Try again later."
# fmt: off
BY_CODE: dict[str, tuple[type[ToolError], str]] = {
    "Request_EntityChanged":             (Conflict, _CHANGED),
    "BadRequest_InvalidToken":           (Conflict, _NO_ETAG),
    "Internal_RecordNotFound":           (Missing, _GONE),
    "BadRequest_NotFound":               (Missing, _GONE),
    "Authentication_InvalidCredentials": (ToolError, _SIGN_IN),
}
BY_STATUS: dict[int, tuple[type[ToolError], str]] = {
    401: (ToolError, _SIGN_IN),
    403: (ToolError, "This server's account in Business Central may not do this."
                     " An administrator has to give it a permission set."),
    404: (Missing, _GONE),
    409: (Conflict, _CHANGED),
    412: (Conflict, _CHANGED),
    413: (ToolError, "That is more than Business Central takes at once. Send less."),
    429: (ToolError, _BUSY),
}
# fmt: on
_SLOW_STATUS = (408, 504)
_CORRELATION = re.compile(r"\s*CorrelationId:.*$", re.DOTALL)
_ADDRESS = re.compile(r"https?://\S+")
LONGEST = 400  # characters of Business Central's own words


def failure(status: int, body: Any, *, wrote: bool, sent: Any = None) -> ToolError:
    """The error to raise for a response that is not a success."""
    code, message = _code_and_message(body)
    if known := BY_CODE.get(code) or BY_STATUS.get(status):
        return known[0](known[1])
    if status >= 500 or status in _SLOW_STATUS:
        if wrote:
            return Uncertain(_UNSURE)
        return ToolError(_SLOW if status in _SLOW_STATUS else _DOWN)
    reason = _field(message, sent) + (message or f"it answered with status {status}")
    return ToolError(f"Business Central refused this: {reason.rstrip('.')}.")


def lost(*, wrote: bool) -> ToolError:
    """The error to raise where no response came."""
    return Uncertain(_UNSURE) if wrote else ToolError(_DOWN)


def _code_and_message(body: Any) -> tuple[str, str]:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    message = _CORRELATION.sub("", str(error.get("message", "")))
    return str(error.get("code", "")), _ADDRESS.sub("…", message)[:LONGEST].strip()


def _field(message: str, sent: Any) -> str:
    """The name of a field that is too long. The message quotes its value and not its name."""
    _, marked, value = message.partition("Value: ")
    if not marked or not isinstance(sent, dict):
        return ""
    names = [name for name, field in sent.items() if value and str(field).startswith(value[:20])]
    return f"field {names[0]!r}: " if names else ""
