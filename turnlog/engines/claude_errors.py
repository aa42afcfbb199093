"""What the API says when it fails, in our words: a code, a sentence, and whether to retry.

The provider's own message goes to the log of the server, never to a client: it may name
accounts, keys or limits.
"""

from typing import Any, NamedTuple

from turnlog.errors import EngineFailed


class Failure(NamedTuple):
    code: str
    sentence: str
    retryable: bool


FAILURES: dict[str, Failure] = {
    "invalid_request_error": Failure(
        "invalid_request", "The model did not accept this request.", False
    ),
    "authentication_error": Failure(
        "invalid_key", "The server's API key is not valid. Tell its operator.", False
    ),
    "billing_error": Failure(
        "billing", "The server's account with the provider needs attention.", False
    ),
    "permission_error": Failure(
        "not_permitted", "The server's API key may not use this model.", False
    ),
    "not_found_error": Failure(
        "unknown_model", "The model that this server is set to does not exist.", False
    ),
    "request_too_large": Failure(
        "too_large", "The conversation with its files is too large for the model.", False
    ),
    "rate_limit_error": Failure(
        "rate_limited", "The model is being asked too often. Try again in a minute.", True
    ),
    "api_error": Failure(
        "provider_error", "The model provider had an internal error. Try again.", True
    ),
    "timeout_error": Failure("timeout", "The model took too long. Try again.", True),
    "overloaded_error": Failure(
        "overloaded", "The model is overloaded. Try again in a moment.", True
    ),
}
BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

CUT = Failure("stream_cut", "The connection to the model broke in mid-answer. Try again.", True)
STALLED = Failure("stalled", "The model stopped sending in mid-answer. Try again.", True)
UNREACHABLE = Failure("unreachable", "The model cannot be reached right now. Try again.", True)
UNREADABLE = Failure("unreadable", "The model's answer could not be read. Try again.", True)
LOOPING = Failure("too_many_calls", "The agent went on calling tools without end.", False)


def failed(failure: Failure) -> EngineFailed:
    return EngineFailed(failure.code, failure.sentence, retryable=failure.retryable)


def stream_error(error: dict[str, Any]) -> EngineFailed:
    """An `error` event in mid-stream."""
    return failed(FAILURES.get(error.get("type", ""), FAILURES["api_error"]))


def status_error(status: int, body: object) -> EngineFailed:
    """An HTTP error before the stream."""
    error = body.get("error") if isinstance(body, dict) else None
    kind = error.get("type", "") if isinstance(error, dict) else ""
    unknown = "invalid_request_error" if 400 <= status < 500 else "api_error"
    return failed(FAILURES.get(kind) or FAILURES[BY_STATUS.get(status, unknown)])
