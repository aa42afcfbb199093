"""What goes wrong with a model of the SDK, in our words: a code, a sentence, whether to try again.

The codes are those of Claude's failures. The provider's own words stay in the server's log.
"""

from typing import NamedTuple

import openai

from turnlog.errors import EngineFailed


class Failure(NamedTuple):
    code: str
    sentence: str
    again: bool


CUT = Failure("stream_cut", "The connection to the model broke in mid-answer.", True)
UNREADABLE = Failure("unreadable", "The model's answer could not be read.", True)
TOO_MUCH = Failure("answer_too_long", "The model's answer was much longer than it may be.", False)
TOO_LONG = Failure(
    "context_exceeded",
    "The conversation has become too long for the model. It goes on from its newer part.",
    True,
)
PROVIDER = Failure("provider_error", "The model provider had an error.", True)
# fmt: off
BY_KIND: dict[type[Exception], Failure] = {
    openai.RateLimitError:
        Failure("rate_limited", "The model is being asked too often.", True),
    openai.AuthenticationError:
        Failure("invalid_key", "The server's API key is not valid.", False),
    openai.PermissionDeniedError:
        Failure("not_permitted", "The server's API key may not use this model.", False),
    openai.NotFoundError:
        Failure("unknown_model", "The model that this server is set to does not exist.", False),
    openai.BadRequestError:
        Failure("invalid_request", "The model did not accept this.", False),
    openai.APIConnectionError:
        Failure("unreachable", "The model cannot be reached now.", True),
    openai.OpenAIError: PROVIDER,
}
# fmt: on


def explained(error: openai.OpenAIError, *, begun: bool) -> EngineFailed:
    """`begun`: whether any of the answer had come."""
    if getattr(error, "code", None) == "context_length_exceeded":
        return failed(TOO_LONG)
    if begun and isinstance(error, openai.APIConnectionError):
        return failed(CUT)
    return next(failed(row) for kind, row in BY_KIND.items() if isinstance(error, kind))


def failed(failure: Failure) -> EngineFailed:
    return EngineFailed(failure.code, failure.sentence, retryable=failure.again)
