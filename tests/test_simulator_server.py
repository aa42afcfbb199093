"""The server around the script: failures, the record of requests, scripts from outside."""

import asyncio
import time

import anthropic
import httpx2
import pytest
from claude_request import ASK, KEY

from turnlog.simulator import (
    Break,
    Cut,
    Failure,
    RawBlock,
    RedactedThinking,
    Reply,
    SimulatedClaude,
    Stall,
    Text,
    Thinking,
    ToolCall,
    Usage,
    api_error,
    authentication_failed,
    from_json,
    invalid_request,
    overloaded,
    rate_limited,
    to_json,
)


@pytest.fixture
async def sim():
    return SimulatedClaude(pace=0)


@pytest.fixture
async def url(sim):
    async with sim.serve() as url:
        yield url


@pytest.fixture
async def claude(url):
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
async def http(url):
    async with httpx2.AsyncClient(timeout=60, base_url=url, headers=KEY) as client:
        yield client


FAILURES = [
    (overloaded(), 529, "overloaded_error"),
    (rate_limited(), 429, "rate_limit_error"),
    (api_error(), 500, "api_error"),
    (authentication_failed(), 401, "authentication_error"),
    (invalid_request("prompt is too long"), 400, "invalid_request_error"),
    (Failure(418, "teapot_error", "short and stout"), 418, "teapot_error"),
]


@pytest.mark.parametrize(("failure", "status", "type"), FAILURES, ids=lambda f: str(f)[:20])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_comes_before_any_byte(sim, claude, failure, status, type, stream):
    sim.queue(failure)
    with pytest.raises(anthropic.APIStatusError) as raised:
        await claude.messages.create(stream=stream, **ASK)
    error = raised.value
    assert error.status_code == status
    assert error.body["error"] == {"type": type, "message": failure.message}
    assert error.request_id == error.body["request_id"]


async def test_a_client_that_retries_gets_the_next_entry(sim, claude):
    sim.queue(overloaded(retry_after=0.01), rate_limited(retry_after=0.01), Reply("At last"))
    answer = await claude.with_options(max_retries=2).messages.create(**ASK)
    assert answer.content[0].text == "At last"
    assert (sim.pending, sim.accepted) == (0, 3)


async def test_retry_after_is_a_header(sim, http):
    sim.queue(rate_limited(retry_after=7))
    answer = await http.post("/v1/messages", json=ASK)
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-should-retry"] == "true"


async def test_accepted_and_refused_requests_are_kept(sim, claude):
    sim.queue(Reply("one"), Reply("two"))
    await claude.messages.create(**ASK)
    with pytest.raises(anthropic.BadRequestError):
        await claude.messages.create(**ASK | {"max_tokens": 0})
    assert sim.requests == [ASK]
    assert [(r.status, r.message) for r in sim.refused] == [
        (400, "max_tokens: Input should be greater than or equal to 1")
    ]
    assert sim.pending == 1  # a refused request takes nothing from the script


async def test_only_the_last_requests_are_kept(http):
    sim = SimulatedClaude(pace=0, keep=2)
    async with sim.serve() as url:
        for number in range(1, 5):
            await http.post(f"{url}/v1/messages", json=ASK | {"max_tokens": number})
            await http.post(f"{url}/v1/messages", json=ASK | {"max_tokens": -number})
    assert [r["max_tokens"] for r in sim.requests] == [3, 4]
    assert (sim.accepted, len(sim.refused)) == (4, 2)


async def test_a_callable_reads_the_request(sim, claude):
    sim.queue(lambda body: Reply(body["messages"][-1]["content"].upper()))
    assert (await claude.messages.create(**ASK)).content[0].text == "HELLO"


async def test_a_callable_that_fails_is_told_to_the_client(sim, claude):
    sim.queue(lambda body: body["no such key"])
    with pytest.raises(anthropic.InternalServerError, match="no such key"):
        await claude.messages.create(**ASK)


async def test_an_own_answer_speaks_when_nothing_is_scripted(http):
    sim = SimulatedClaude(Reply("scripted"), answer=lambda body: Reply("own"), pace=0)
    async with sim.serve() as url:
        said = [(await http.post(f"{url}/v1/messages", json=ASK)).json() for _ in range(3)]
    assert [s["content"][0]["text"] for s in said] == ["scripted", "own", "own"]


async def test_tokens_are_counted(claude):
    one = await claude.messages.count_tokens(model="claude-x", messages=ASK["messages"])
    longer = [{"role": "user", "content": "Hello" * 1000}]
    many = await claude.messages.count_tokens(model="claude-x", messages=longer)
    assert 0 < one.input_tokens < many.input_tokens
    with pytest.raises(anthropic.BadRequestError, match="at least one message"):
        await claude.messages.count_tokens(model="claude-x", messages=[])


# --- from another process ---

ENTRIES = [
    overloaded(retry_after=1.5),
    Reply("Hi", chunk=3, delay=0.1, first_delay=0.2, id="msg_1", model="m"),
    Reply(Thinking("t", "s"), RedactedThinking("d"), Text("c", ({"type": "char_location"},))),
    Reply(ToolCall("t", {"a": 1}, "toolu_1", '{"a'), stop_reason="max_tokens", ending=Cut(3)),
    Reply(RawBlock({"type": "server_tool_use"}), usage=Usage(cache_read=3), ending=Stall(1, 0.5)),
    Reply("x", ending=Break(2, "api_error", "Oh")),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=range(len(ENTRIES)))
def test_every_entry_survives_its_json_form(entry):
    assert from_json(to_json(entry)) == entry


async def test_another_process_can_queue_and_look(sim, http, claude):
    entries = {"entries": [{"kind": "reply", "blocks": [{"kind": "text", "text": "From outside"}]}]}
    assert (await http.post("/sim/script", json=entries)).json() == {"pending": 1}
    assert (await claude.messages.create(**ASK)).content[0].text == "From outside"
    await http.post("/v1/messages", json={})
    state = (await http.get("/sim/state")).json()
    assert state == {
        "pending": 0,
        "accepted": 1,
        "refused": [
            {"status": 400, "type": "invalid_request_error", "message": "model: Field required"}
        ],
        "last_request": ASK,
    }


BROKEN_ENTRIES = [
    ({"kind": "answer"}, "answer"),
    ({"blocks": []}, "kind"),
    ({"kind": "reply", "blok": []}, "blok"),
    ({"kind": "reply", "blocks": [{"kind": "text", "txt": "a"}]}, "txt"),
    ({"kind": "reply", "blocks": [{"kind": "text", "text": 5}]}, "Expected `str`"),
    ({"kind": "reply", "ending": {"kind": "cut"}}, "after"),
    ({"kind": "failure", "status": 500}, "message"),
]


@pytest.mark.parametrize(("entry", "named"), BROKEN_ENTRIES, ids=lambda v: str(v)[:30])
async def test_a_broken_entry_is_refused_by_name(sim, http, entry, named):
    answer = await http.post("/sim/script", json={"entries": [entry]})
    assert answer.status_code == 400
    assert named in answer.json()["error"]["message"]
    assert sim.pending == 0


# --- coming and going ---


async def test_leaving_closes_open_streams_at_once():
    sim = SimulatedClaude(*[Reply("x" * 100, chunk=1, delay=30)] * 5)
    async with asyncio.timeout(60), httpx2.AsyncClient(headers=KEY, timeout=None) as http:
        async with sim.serve() as url:
            asks = [http.post(f"{url}/v1/messages", json=ASK | {"stream": True}) for _ in range(5)]
            tasks = [asyncio.create_task(ask) for ask in asks]
            while sim.pending:
                await asyncio.wait(tasks, timeout=0.01)
        ended = await asyncio.gather(*tasks, return_exceptions=True)  # almost an hour too early
    assert {type(e) for e in ended} <= {httpx2.RemoteProtocolError, httpx2.ReadError}


async def test_after_leaving_nobody_listens_and_the_port_is_free():
    sim = SimulatedClaude(pace=0)
    async with sim.serve() as url:
        port = int(url.rpartition(":")[2])
    async with httpx2.AsyncClient(timeout=60) as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(f"{url}/sim/state")
        async with sim.serve(port=port) as again:
            assert again == url
            assert (await http.get(f"{again}/sim/state")).status_code == 200


async def test_pace_spreads_an_unscripted_answer(http):
    sim = SimulatedClaude(pace=0.01)
    async with sim.serve() as url:
        begun = time.monotonic()
        answer = await http.post(f"{url}/v1/messages", json=ASK | {"stream": True})
    assert time.monotonic() - begun >= 0.01 * (answer.text.count("event: ") - 1)
