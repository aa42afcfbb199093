"""Business Central's refusals as sentences for the model."""

import pytest

from turnlog.contrib.business_central.client.failures import Uncertain, failure


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (400, {"error": {"code": "X", "message": "No.  CorrelationId:  abc."}}, "this: No."),
        (400, {"error": {"code": "X", "message": "See https://host/x now"}}, "See … now"),
        (400, None, "status 400"),
        (400, {"error": "odd"}, "status 400"),
        (403, None, "permission set"),
        (404, None, "no such record"),
        (412, None, "Read it again"),
        (409, {"error": {"code": "Request_EntityChanged"}}, "Read it again"),
        (504, None, "too long"),
        (500, None, "not available"),
    ],
)
def test_a_refusal_becomes_a_sentence_that_says_what_to_do(status, body, says):
    assert says in str(failure(status, body, wrote=False))


def test_a_field_that_is_too_long_is_named():
    message = "The length of the string is 40, but … Value: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    body = {"error": {"code": "Application_StringExceededLength", "message": message}}
    error = failure(400, body, wrote=True, sent={"city": "y", "phoneNumber": "x" * 40})
    assert "field 'phoneNumber'" in str(error)


def test_a_write_without_a_response_is_uncertain():
    assert isinstance(failure(502, None, wrote=True), Uncertain)
