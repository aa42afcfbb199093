"""The connector: pages, filters, retries, tokens, and what goes wrong told in words."""

import asyncio
import socket

import pytest
from erp import connected, place_of
from hypothesis import given
from hypothesis import strategies as st

from turnlog.contrib.business_central import BusinessCentral, Place
from turnlog.contrib.business_central.failures import Uncertain, failure
from turnlog.contrib.business_central.retry import LONGEST_PAUSE, pause
from turnlog.contrib.business_central.sandbox import Failure, Sandbox
from turnlog.contrib.business_central.sandbox.filter_parser import parse
from turnlog.contrib.business_central.sandbox.filter_tree import (
    Call,
    Compare,
    In,
    Literal,
    Property,
)
from turnlog.contrib.business_central.where import (
    all_of,
    equals,
    holds,
    one_of,
)
from turnlog.errors import ConfigError, ToolError


@pytest.fixture
async def erp():
    async with connected() as connection:
        yield connection


# pages


async def test_pages_are_followed_until_there_is_enough():
    async with connected(page_size=5) as erp:
        found = await erp.bc.find("customers", select=("number",), limit=12)
        assert (len(found.rows), found.has_more) == (12, True)
        all_of_them = await erp.bc.find("customers", select=("number",), limit=50)
        assert (len(all_of_them.rows), all_of_them.has_more) == (28, False)
        assert len({row["number"] for row in all_of_them.rows}) == 28


async def test_a_search_says_that_there_is_more(erp):
    told = await erp.does("find_customer", text="e", limit=3)
    assert (told["count"], len(told["customers"]), told["hasMore"]) == (3, 3, True)


async def test_a_page_at_another_server_is_not_followed():
    async with connected(page_size=5) as erp:
        await erp.does("find_customer", text="x")  # signed in, company known
        erp.sandbox.service.base = "http://127.0.0.2:1/v2.0"
        with pytest.raises(ToolError, match="another server"):
            await erp.bc.find("customers", select=("number",), limit=12)


# filters

HOSTILE = [
    "O'Brien' or 1 eq 1",
    "' or '1' eq '1",
    "''",
    "') or contains(displayName,'",
    "x%27 or 1 eq 1",
    "a&$filter=number eq '10000'",
    "\x00\n\\",
    "名前",
    "a" * 100,
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_no_text_becomes_more_than_text(erp, text):
    told = await erp.does("find_customer", text=text)
    assert told["customers"] == []


async def test_a_quote_in_a_name_is_found(erp):
    told = await erp.does("find_customer", text="o'brien")
    assert [row["number"] for row in told["customers"]] == ["C00140"]


@given(st.text())
def test_whatever_the_text_is_it_stays_one_string(text):
    assert parse(equals("city", text).text) == Compare(
        "eq", Property("city"), Literal("string", text)
    )
    (value,) = parse(one_of("city", [text]).text).values
    assert value == Literal("string", text)
    assert parse(holds("city", text).text).arguments == (
        Call("tolower", (Property("city"),)),
        Literal("string", text.lower()),
    )


def test_conditions_are_joined():
    assert all_of([]) is None
    joined = all_of([equals("a", True), equals("b", 5)])
    assert joined.text == "a eq true and b eq 5"
    assert isinstance(parse(one_of("a", ["x", "y"]).text), In)


# busy, down, broken


async def test_too_many_requests_are_sent_again_when_told(erp):
    erp.sandbox.fail(*[Failure(429, retry_after=0.01)] * 3)
    assert (await erp.does("get_customer", number="10000"))["displayName"] == "Adatum Corporation"


async def test_a_write_is_sent_again_after_429_and_is_done_once(erp):
    await erp.does("get_customer", number="10000")
    erp.sandbox.fail(Failure(429, retry_after=0, method="POST"))
    made = await erp.does("create_customer", name="Test Corp")
    assert made["number"] == "C00240"
    assert (await erp.does("find_customer", text="Test Corp"))["count"] == 1


async def test_who_is_told_to_wait_for_long_does_not_wait(erp):
    erp.sandbox.fail(Failure(429, retry_after=3600))
    said = await erp.says("get_customer", number="10000")
    assert said == "Business Central takes no more requests right now. Try again in a minute."


async def test_an_outage_is_waited_for_by_reads(erp):
    erp.sandbox.fail(Failure(503, retry_after=0), Failure(502, retry_after=0))
    assert await erp.does("get_item", number="1896-S")


async def test_a_long_outage_is_told(erp):
    erp.sandbox.fail(*[Failure(503, retry_after=0)] * 4)
    said = await erp.says("get_item", number="1896-S")
    assert said == "Business Central is not available right now. Try again later."


async def test_a_write_is_not_sent_again_after_an_outage(erp):
    await erp.does("get_customer", number="10000")
    erp.sandbox.fail(Failure(503, retry_after=0, method="POST"))
    result = await erp.result("create_customer", name="Test Corp")
    assert "not there so far. It may or may not" in result.error
    assert result.in_doubt
    posts = [path for method, path in erp.sandbox.calls if method == "POST"]
    assert len(posts) == 1


PAUSES = [  # method, status, Retry-After, which try -> seconds
    ("GET", 429, "2", 1, 2.0),
    ("POST", 429, "2", 1, 2.0),
    ("GET", 503, None, 1, 0.5),
    ("GET", 503, None, 3, 2.0),
    ("GET", 503, "nonsense", 1, 0.5),
    ("GET", 503, "Mon, 01 Jan 2001 00:00:00 GMT", 1, 0.0),
    ("GET", 429, "-5", 1, 0.0),
    ("GET", 429, "nan", 1, 0.5),
    ("GET", 429, "inf", 1, 0.5),
    ("GET", 429, str(LONGEST_PAUSE + 1), 1, None),
    ("GET", 429, "1", 4, None),
    ("POST", 503, "1", 1, None),
    ("PATCH", 504, "1", 1, None),
    ("GET", 500, "1", 1, None),
    ("GET", 200, None, 1, None),
]


@pytest.mark.parametrize(("method", "status", "retry_after", "tried", "wait"), PAUSES)
def test_pauses(method, status, retry_after, tried, wait):
    assert pause(method, status, retry_after, tried) == wait


async def test_a_broken_connection_is_told(erp):
    await erp.does("get_customer", number="10000")
    erp.sandbox.fail(Failure(hang_up=True))
    said = await erp.says("get_customer", number="10000")
    assert said == "Business Central is not available right now. Try again later."


async def test_nobody_there_is_told_without_the_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        async with BusinessCentral(place_of(Sandbox(), url)) as bc:
            with pytest.raises(ToolError, match="cannot be reached. Nothing was changed") as raised:
                await bc.entity_sets()
    assert "127.0.0.1" not in str(raised.value)


async def test_who_is_not_connected_says_so():
    with pytest.raises(ToolError, match="not connected"):
        await BusinessCentral().entity_sets()


async def test_something_else_on_that_port_is_told(erp):
    erp.sandbox.service.answer = lambda call: type(
        "Odd", (), {"status": 200, "body": "hi", "headers": {}}
    )
    with pytest.raises(ToolError, match="not available"):
        await erp.bc.entity_sets()


# signing in


async def test_a_token_that_ended_is_renewed_once(erp):
    await erp.does("get_customer", number="10000")
    erp.sandbox.tokens.expire()
    assert await erp.does("get_customer", number="10000")
    assert await erp.does("create_customer", name="Test Corp")


async def test_a_token_is_used_again(erp):
    given = []
    give = erp.sandbox.tokens.give
    erp.sandbox.tokens.give = lambda *asked: given.append(1) or give(*asked)
    await asyncio.gather(*(erp.does("get_customer", number="10000") for _ in range(8)))
    assert len(given) == 1


async def test_tokens_that_never_hold_are_not_asked_for_without_end():
    async with connected(token_seconds=0) as erp:
        said = await erp.says("get_customer", number="10000")
        assert "does not accept this server's sign-in" in said
        assert len(erp.sandbox.calls) == 2


@pytest.mark.parametrize(
    "changed", [{"client_secret": "wrong"}, {"client_id": "x"}, {"tenant": "x"}]
)
async def test_a_wrong_sign_in_is_told_without_secrets(changed, caplog):
    async with connected(changed) as erp:
        said = await erp.says("get_customer", number="10000")
    assert "could not sign in to Business Central" in said
    assert "wrong" not in said + caplog.text
    assert "127.0.0.1" not in said


async def test_at_most_five_requests_are_under_way(erp):
    await erp.does("get_customer", number="10000")
    under_way, most, once = 0, 0, erp.bc._once

    async def counted(*asked):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await once(*asked)
        finally:
            under_way -= 1

    erp.bc._once = counted
    await asyncio.gather(*(erp.does("get_item", number="1896-S") for _ in range(20)))
    assert most == 5


# the company


async def test_a_company_is_chosen_by_name_in_any_case_or_by_id():
    async with connected({"company": "my company"}) as erp:
        assert (await erp.does("find_customer", text="a"))["count"] == 0
        id = erp.sandbox.service.companies[0].id
    async with connected({"company": id}) as erp:
        assert (await erp.does("get_customer", number="10000"))["city"] == "Atlanta"


async def test_a_company_that_is_not_there_is_told_with_those_that_are():
    async with connected({"company": "Nope Ltd"}) as erp:
        said = await erp.says("get_customer", number="10000")
    assert said.startswith("Business Central has no company 'Nope Ltd'. There are: 'CRONUS USA,")


async def test_without_a_company_several_are_a_question():
    async with connected({"company": None}) as erp:
        assert "TURNLOG_BC_COMPANY to one of" in await erp.says("get_customer", number="10000")


# what is refused


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
def test_a_refusal_is_one_sentence_that_says_what_to_do(status, body, says):
    assert says in str(failure(status, body, wrote=False))


def test_a_field_that_is_too_long_is_named():
    message = "The length of the string is 40, but … Value: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    body = {"error": {"code": "Application_StringExceededLength", "message": message}}
    told = failure(400, body, wrote=True, sent={"city": "y", "phoneNumber": "x" * 40})
    assert "field 'phoneNumber'" in str(told)


def test_a_write_without_an_answer_is_uncertain():
    assert isinstance(failure(502, None, wrote=True), Uncertain)


# the place


def test_a_place_hides_its_secret_and_quotes_its_names():
    place = Place(tenant="a/b", client_id="c", client_secret="hidden", environment="x y")
    assert "hidden" not in repr(place)
    assert place.api.endswith("/v2.0/a%2Fb/x%20y/api/v2.0")


@pytest.mark.parametrize("url", ["http://example.com", "ftp://x", "nonsense", "https://", ""])
def test_a_secret_travels_on_https_only(url):
    with pytest.raises(ConfigError, match="bc_base_url"):
        Place(tenant="t", client_id="c", client_secret="s", base_url=url)
