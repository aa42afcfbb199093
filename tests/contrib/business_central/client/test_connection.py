"""The connection to Business Central: pages, filters, retries, tokens, failures."""

import asyncio
import socket

import pytest

from turnlog.contrib.business_central import BusinessCentral
from turnlog.contrib.business_central.client.sign_in import _read_grant
from turnlog.contrib.business_central.sandbox import Failure, Sandbox
from turnlog.errors import ToolError
from turnlog.testing.business_central import erp_tools


@pytest.fixture
async def erp():
    async with erp_tools() as connection:
        yield connection


# pages


async def test_a_query_reads_pages_until_it_has_enough_rows():
    async with erp_tools(page_size=5) as erp:
        first = await erp.bc.find("customers", select=("number",), limit=12)
        assert (len(first.rows), first.has_more) == (12, True)
        all_of_them = await erp.bc.find("customers", select=("number",), limit=50)
        assert (len(all_of_them.rows), all_of_them.has_more) == (28, False)
        assert len({row["number"] for row in all_of_them.rows}) == 28


async def test_a_search_reports_that_there_are_more_rows(erp):
    result = await erp.result("find_customer", text="e", limit=3)
    assert (result["count"], len(result["customers"]), result["hasMore"]) == (3, 3, True)


async def test_a_next_page_on_another_server_is_not_followed():
    async with erp_tools(page_size=5) as erp:
        await erp.result("find_customer", text="x")  # signed in, company known
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
async def test_hostile_text_finds_nothing(erp, text):
    result = await erp.result("find_customer", text=text)
    assert result["customers"] == []


async def test_a_name_with_a_quote_is_found(erp):
    result = await erp.result("find_customer", text="o'brien")
    assert [row["number"] for row in result["customers"]] == ["C00140"]


# busy, down, broken


async def test_a_read_is_sent_again_after_429(erp):
    erp.sandbox.fail(*[Failure(429, retry_after=0.01)] * 3)
    assert (await erp.result("get_customer", number="10000"))["displayName"] == "Adatum Corporation"


async def test_a_write_is_sent_again_after_429_and_is_done_once(erp):
    await erp.result("get_customer", number="10000")
    erp.sandbox.fail(Failure(429, retry_after=0, method="POST"))
    made = await erp.result("create_customer", name="Test Corp")
    assert made["number"] == "C00240"
    assert (await erp.result("find_customer", text="Test Corp"))["count"] == 1


async def test_a_long_retry_after_is_reported_at_once(erp):
    erp.sandbox.fail(Failure(429, retry_after=3600))
    error = await erp.error("get_customer", number="10000")
    assert error == "Business Central takes no more requests right now. Try again in a minute."


async def test_a_read_is_sent_again_after_a_short_outage(erp):
    erp.sandbox.fail(Failure(503, retry_after=0), Failure(502, retry_after=0))
    assert await erp.result("get_item", number="1896-S")


async def test_a_long_outage_is_reported(erp):
    erp.sandbox.fail(*[Failure(503, retry_after=0)] * 4)
    error = await erp.error("get_item", number="1896-S")
    assert error == "Business Central is not available right now. Try again later."


async def test_a_write_is_not_sent_again_after_an_outage(erp):
    await erp.result("get_customer", number="10000")
    erp.sandbox.fail(Failure(503, retry_after=0, method="POST"))
    result = await erp.run("create_customer", name="Test Corp")
    assert "not there so far. It may or may not" in result.error
    assert result.in_doubt
    posts = [path for method, path in erp.sandbox.calls if method == "POST"]
    assert len(posts) == 1


async def test_a_broken_connection_is_reported(erp):
    await erp.result("get_customer", number="10000")
    erp.sandbox.fail(Failure(hang_up=True))
    error = await erp.error("get_customer", number="10000")
    assert error == "Business Central is not available right now. Try again later."


async def test_an_unreachable_server_is_reported_without_its_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        async with BusinessCentral(Sandbox().endpoint(url)) as bc:
            with pytest.raises(ToolError, match="cannot be reached. Nothing was changed") as raised:
                await bc.entity_sets()
    assert "127.0.0.1" not in str(raised.value)


async def test_a_connection_that_is_not_open_says_so():
    with pytest.raises(ToolError, match="not connected"):
        await BusinessCentral().entity_sets()


async def test_a_reply_that_is_not_json_is_reported(erp):
    erp.sandbox.service.answer = lambda call: type(
        "Odd", (), {"status": 200, "body": "hi", "headers": {}}
    )
    with pytest.raises(ToolError, match="not available"):
        await erp.bc.entity_sets()


# signing in


async def test_an_expired_token_is_renewed(erp):
    await erp.result("get_customer", number="10000")
    erp.sandbox.tokens.expire()
    assert await erp.result("get_customer", number="10000")
    assert await erp.result("create_customer", name="Test Corp")


async def test_concurrent_calls_share_one_token(erp):
    grants, issue = [], erp.sandbox.tokens.issue
    erp.sandbox.tokens.issue = lambda *request: grants.append(1) or issue(*request)
    await asyncio.gather(*(erp.result("get_customer", number="10000") for _ in range(8)))
    assert len(grants) == 1


async def test_a_token_that_is_refused_twice_ends_the_call():
    async with erp_tools(token_seconds=0) as erp:
        error = await erp.error("get_customer", number="10000")
        assert "does not accept this server's sign-in" in error
        assert len(erp.sandbox.calls) == 2


@pytest.mark.parametrize(
    "changed", [{"client_secret": "wrong"}, {"client_id": "x"}, {"tenant": "x"}]
)
async def test_a_failed_sign_in_is_reported_without_secrets(changed, caplog):
    async with erp_tools(changed) as erp:
        error = await erp.error("get_customer", number="10000")
    assert "could not sign in to Business Central" in error
    assert "wrong" not in error + caplog.text
    assert "127.0.0.1" not in error


async def test_at_most_five_requests_run_at_once(erp):
    await erp.result("get_customer", number="10000")
    running, most, send = 0, 0, erp.bc._send

    async def counted(*request):
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await send(*request)
        finally:
            running -= 1

    erp.bc._send = counted
    await asyncio.gather(*(erp.result("get_item", number="1896-S") for _ in range(20)))
    assert most == 5


# the company


async def test_the_company_setting_is_a_name_or_an_id():
    async with erp_tools({"company": "my company"}) as erp:
        assert (await erp.result("find_customer", text="a"))["count"] == 0
        id = erp.sandbox.service.companies[0].id
    async with erp_tools({"company": id}) as erp:
        assert (await erp.result("get_customer", number="10000"))["city"] == "Atlanta"


async def test_an_unknown_company_is_reported_with_the_known_ones():
    async with erp_tools({"company": "Nope Ltd"}) as erp:
        error = await erp.error("get_customer", number="10000")
    assert error.startswith("Business Central has no company 'Nope Ltd'. There are: 'CRONUS USA,")


async def test_without_a_company_setting_several_companies_are_an_error():
    async with erp_tools({"company": None}) as erp:
        assert "TURNLOG_BC_COMPANY to one of" in await erp.error("get_customer", number="10000")


GRANT = b'{"access_token": "eyJ.secret", "expires_in": "3599"}'


def test_a_sign_in_that_cannot_be_read_is_logged_without_its_token(caplog):
    assert _read_grant(200, GRANT).expires_in == 3599
    with pytest.raises(ToolError, match="could not sign in"):
        _read_grant(200, GRANT.replace(b"3599", b"soon"))
    assert "secret" not in caplog.text


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_sign_in_that_is_busy_is_nothing_for_an_administrator(status):
    with pytest.raises(ToolError, match="cannot be reached"):
        _read_grant(status, b"busy")
