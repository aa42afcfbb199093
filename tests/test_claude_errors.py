"""What the API says when it fails, in our words."""

import pytest
from raw_events import start

from turnlog.engines.claude.errors import (
    BY_STATUS,
    FAILURES,
    OF_THE_STREAM,
    failed,
    in_words,
    status_error,
    stream_error,
)
from turnlog.engines.claude.stream import Call

EVERY = [*FAILURES.values(), *OF_THE_STREAM]


@pytest.mark.parametrize("status", [*BY_STATUS, 418, 500, 503])
def test_every_status_has_our_words(status):
    failed = status_error(status, {"error": {"type": "odd", "message": "sk-secret"}})
    assert failed.code in {known.code for known in FAILURES.values()}
    assert "sk-secret" not in str(failed)


@pytest.mark.parametrize("body", [None, "<html>", {}, {"error": None}, {"error": "no"}])
def test_a_failure_without_a_proper_body_is_told_by_its_status(body):
    assert status_error(529, body).code == "overloaded"


def test_every_failure_has_a_code_of_its_own():
    codes = [failure.code for failure in EVERY]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("failure", EVERY, ids=lambda failure: failure.code)
def test_a_failure_says_to_try_again_exactly_when_that_makes_sense(failure):
    told = failed(failure)
    assert ("Try again" in str(told)) == told.retryable == (failure.again is not None)
    assert str(told).endswith(".")


# fmt: off
MESSAGES = {
    "prompt is too long: 209000 tokens > 200000 maximum": "context_exceeded",
    "input length and `max_tokens` exceed context limit: 9 + 9 > 10": "context_exceeded",
    "messages.1.content.0: Invalid `signature` in `thinking` block": "thoughts_refused",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block": "thoughts_refused",
    "messages.0.content.0.document.source.file: File not found: file_011CNha8iC": "file_gone",
    "messages.1.content.0.text.citations.0.file_id: Extra inputs are not permitted": (
        "invalid_request"
    ),
    "Your credit balance is too low to access the Anthropic API.": "billing",
    "max_tokens: Field required": "invalid_request",
}
# fmt: on


@pytest.mark.parametrize(("message", "code"), MESSAGES.items())
def test_a_bad_request_is_told_apart_by_what_the_api_says(message, code):
    body = {"error": {"type": "invalid_request_error", "message": message}}
    assert status_error(400, body).code == code


def test_a_message_in_another_failure_does_not_change_its_code():
    body = {"error": {"type": "api_error", "message": "prompt is too long"}}
    assert status_error(500, body).code == "provider_error"


def test_the_wait_that_the_provider_asks_for_is_told():
    body = {"error": {"type": "rate_limit_error", "message": "no"}}
    assert str(status_error(429, body, 60)).endswith("Try again in 60 seconds.")
    assert str(status_error(429, body)).endswith("Try again in a minute.")
    assert str(stream_error({"type": "overloaded_error"})).endswith("Try again in a moment.")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "in a moment"),
        (7.2, "in 8 seconds"),
        (90, "in 90 seconds"),
        (91, "in 2 minutes"),
        (5400, "in 90 minutes"),
        (5401, "in 2 hours"),
        (10_000, "in 3 hours"),
    ],
)
def test_a_wait_in_words_is_never_shorter_than_it_is(seconds, words):
    assert in_words(seconds) == words


MID_ANSWER = {  # as those send them who stand between us and Claude
    "without a type": ({"error": {"type": "rate_limit_error"}}, "rate_limited"),
    "with a code": ({"error": {"message": "secret", "code": 500}}, "provider_error"),
    "a word": ({"type": "error", "error": "secret"}, "provider_error"),
    "a strange type": ({"type": "error", "error": {"type": ["secret"]}}, "provider_error"),
    "nothing": ({"type": "error"}, "provider_error"),
    "no error": ({"message": {}}, "unreadable"),
}


@pytest.mark.parametrize(("raw", "code"), MID_ANSWER.values(), ids=MID_ANSWER)
def test_an_error_of_a_gateway_in_mid_answer_is_told_as_what_it_is(raw, code):
    call = Call()
    call.feed([start(), raw])
    assert (call.failure.code, call.failure.retryable) == (code, True)
    assert "secret" not in str(call.failure)
