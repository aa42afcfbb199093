"""The sandbox as a server: batches, tokens, failures on demand. § is the section of our facts."""

import json

import pytest

from turnlog.contrib.business_central.sandbox import Failure
from turnlog.testing.business_central import odata_client


@pytest.fixture
async def bc():
    async with odata_client() as client:
        yield client


# §7 $batch


async def batch(bc, *requests, **headers):
    entries = [
        {"id": str(number), "method": method, "url": url, "headers": {}, "body": body}
        for number, (method, url, body) in enumerate(requests)
    ]
    body = {"requests": entries}
    reply = await bc.call("POST", "$batch", at=bc.api, body=body, headers=headers)
    assert reply.status == 200
    return [response["status"] for response in reply.body["responses"]]


TWO = [("POST", "customers", {"displayName": "Batch"}), ("POST", "customers", {})]


async def test_each_request_of_a_batch_commits_alone(bc):
    assert await batch(bc, *TWO) == [201, 400]
    assert len(await bc.rows("customers", filter="displayName eq 'Batch'")) == 1


async def test_a_snapshot_batch_reverts_all_but_reports_the_first_success(bc):
    assert await batch(bc, *TWO, Isolation="snapshot") == [201, 400]
    assert await bc.rows("customers", filter="displayName eq 'Batch'") == []


async def test_a_batch_ends_with_the_first_request_that_fails_unless_it_says_otherwise(bc):
    assert await batch(bc, *reversed(TWO)) == [400]
    assert await batch(bc, *reversed(TWO), Prefer="odata.continue-on-error") == [400, 201]


async def test_a_batch_takes_queries_and_at_most_100_requests(bc):
    assert await batch(bc, ("GET", "customers?$filter=city eq 'Boston'", None)) == [200]
    many = {"requests": [{"method": "GET", "url": "customers"}] * 101}
    assert (await bc.call("POST", "$batch", at=bc.api, body=many)).status == 400
    assert (await bc.call("POST", "$batch", at=bc.api, body={"requests": 1})).status == 400


# §9 tokens

TOKENS = [
    ({"client_secret": "x"}, 401, "invalid_client"),
    ({"client_id": "x"}, 400, "unauthorized_client"),
    ({"scope": "x"}, 400, "invalid_scope"),
    ({"grant_type": "password"}, 400, "unsupported_grant_type"),
    ({"tenant": "x"}, 400, "invalid_request"),
]


@pytest.mark.parametrize(("changed", "status", "error"), TOKENS)
async def test_a_wrong_token_request_is_refused(bc, changed, status, error):
    reply_status, reply = await bc.request_token(**changed)
    assert (reply_status, reply["error"]) == (status, error)


@pytest.mark.parametrize("token", ["", "nonsense"])
async def test_a_call_without_a_valid_token_is_401(bc, token):
    bc.token = token
    reply = await bc.get("customers")
    assert (reply.status, reply.code) == (401, "Authentication_InvalidCredentials")
    assert reply.headers["WWW-Authenticate"] == "Bearer"


async def test_a_token_expires():
    async with odata_client(token_seconds=0) as bc:
        assert (await bc.get("customers")).status == 401


# failures on demand


async def test_queued_failures_come_in_order_and_only_for_their_method(bc):
    bc.sandbox.fail(Failure(429, retry_after=3), Failure(503, method="POST"))
    first = await bc.get("customers")
    assert (first.status, first.headers["Retry-After"]) == (429, "3")
    assert (await bc.get("customers")).status == 200
    assert (await bc.post("customers", displayName="X")).status == 503
    assert await bc.rows("customers", filter="displayName eq 'X'") == []


async def test_a_failure_can_lose_the_answer_after_the_write(bc):
    bc.sandbox.fail(Failure(503, done=True))
    assert (await bc.post("customers", displayName="X")).status == 503
    assert json.dumps(await bc.rows("customers", filter="displayName eq 'X'")) != "[]"
