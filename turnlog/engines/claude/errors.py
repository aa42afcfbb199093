"""What the API says when it fails, in our words: a code, a sentence, and whether to retry.

The provider's own message goes to the log of the server, never to a client: it may name
accounts, keys or limits. `docs/claude.md` shows the table; a test compares them.
"""

import re
from typing import Any, NamedTuple

from turnlog.errors import EngineFailed


class Failure(NamedTuple):
    """`again`: when trying again makes sense ("" is at once); None: it does not."""

    code: str
    sentence: str
    again: str | None = None


FAILURES: dict[str, Failure] = {
    "invalid_request_error": Failure("invalid_request", "The model did not accept this request."),
    "authentication_error": Failure(
        "invalid_key", "The server's API key is not valid. Tell its operator."
    ),
    "billing_error": Failure("billing", "The server's account with the provider needs attention."),
    "permission_error": Failure("not_permitted", "The server's API key may not use this model."),
    "not_found_error": Failure(
        "unknown_model", "The model that this server is set to does not exist."
    ),
    "request_too_large": Failure(
        "too_large", "The conversation with its files is too large for the model."
    ),
    "rate_limit_error": Failure(
        "rate_limited", "The model is being asked too often.", "in a minute"
    ),
    "api_error": Failure("provider_error", "The model provider had an internal error.", ""),
    "timeout_error": Failure("timeout", "The model took too long.", ""),
    "overloaded_error": Failure("overloaded", "The model is overloaded.", "in a moment"),
}
BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "api_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

TIMED_OUT = FAILURES["timeout_error"]
CUT = Failure("stream_cut", "The connection to the model broke in mid-answer.", "")
STALLED = Failure("stalled", "The model stopped sending in mid-answer.", "")
UNREACHABLE = Failure("unreachable", "The model cannot be reached right now.", "")
UNREADABLE = Failure("unreadable", "The model's answer could not be read.", "")
TOO_MUCH = Failure("answer_too_long", "The model's answer was much longer than it may be.")
REDIRECTED = Failure(
    "redirected",
    "The model's address leads elsewhere, and is not followed. Tell the operator of this server.",
)
PACKED = Failure(
    "packed",
    "The model's address packs its answers, which is not read. Tell the operator of this server.",
)
NO_SDK = Failure("no_sdk", "The server could not load what it needs to ask the model.", "")
TOO_LONG = Failure(
    "context_exceeded",
    "The conversation has become too long for the model. It goes on from its newer part.",
    "",
)
THOUGHTS = Failure("thoughts_refused", "The model did not accept its earlier thoughts.", "")
FILE_GONE = Failure("file_gone", "A file is not with the model's provider any more.")
OF_THE_STREAM = (
    CUT, STALLED, UNREACHABLE, UNREADABLE, TOO_MUCH, REDIRECTED, PACKED, NO_SDK, TOO_LONG, THOUGHTS,
    FILE_GONE,
)  # fmt: skip

# A 400 or a 404 has no finer type: what the API says is all there is. The first one found counts.
BY_MESSAGE = (
    (re.compile("extra inputs are not permitted", re.I), FAILURES["invalid_request_error"]),
    (re.compile(r"prompt is too long|exceeds? (the )?context (limit|window)", re.I), TOO_LONG),
    (re.compile(r"invalid `?(signature|data)`? in `?(redacted_)?thinking", re.I), THOUGHTS),
    (
        re.compile(r"\bfile_(id\b|[0-9A-Za-z]{8})|\bfile\b.{0,60}(not found|expired)", re.I),
        FILE_GONE,
    ),
    (re.compile(r"credit balance is too low", re.I), FAILURES["billing_error"]),
)


def failed(failure: Failure, retry_after: float | None = None) -> EngineFailed:
    """The failure as an exception, with the wait that the provider asks for in words."""
    if failure.again is None:
        return EngineFailed(failure.code, failure.sentence)
    when = failure.again if retry_after is None else in_words(retry_after)
    sentence = f"{failure.sentence} Try again{f' {when}' if when else ''}."
    return EngineFailed(failure.code, sentence, retryable=True)


def in_words(seconds: float) -> str:
    """A wait as a person says it: never shorter than it is."""
    if seconds < 2:
        return "in a moment"
    for most, size, unit in ((90, 1, "seconds"), (5400, 60, "minutes")):
        if seconds <= most:
            return f"in {-int(-seconds // size)} {unit}"
    return f"in {-int(-seconds // 3600)} hours"


def stream_error(error: object) -> EngineFailed:
    """An `error` event in mid-stream."""
    kind = error.get("type") if isinstance(error, dict) else None
    return failed(FAILURES.get(str(kind), FAILURES["api_error"]))


def status_error(status: int, body: object, retry_after: float | None = None) -> EngineFailed:
    """An HTTP error before the stream."""
    error = body.get("error") if isinstance(body, dict) else None
    told: dict[str, Any] = error if isinstance(error, dict) else {}
    if 300 <= status < 400:
        return failed(REDIRECTED)
    if status in (400, 404):
        for pattern, failure in BY_MESSAGE:
            if pattern.search(str(told.get("message"))):
                return failed(failure)
    unknown = "invalid_request_error" if 400 <= status < 500 else "api_error"
    kind = FAILURES.get(str(told.get("type"))) or FAILURES[BY_STATUS.get(status, unknown)]
    return failed(kind, retry_after)
