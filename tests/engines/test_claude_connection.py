"""The connection to the API: what goes along with every request, and what comes of the answer."""

import asyncio
import contextlib

import anthropic
import pytest
from hostile_model import BEGIN, end, text
from raw_server import HEAD, LAST, LIMIT, chunk, listening, meeting, until

from turnlog.engines.claude.connection import ANTHROPIC, Api, Packed, Refused, Unreachable
from turnlog.engines.claude.http.pool import Silence
from turnlog.engines.claude.model import ClaudeModel, Patience
from turnlog.errors import ConfigError, EngineFailed
from turnlog.ports import Prompt

LONG = Silence(600.0, 600.0)
ANSWER = HEAD + chunk(b"hello") + LAST
OPTIONAL = {"anthropic-beta": "a,b"}
HELLO = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
HI = Prompt(model="m", system="", messages=[HELLO], max_tokens=100)


async def head_of(key="k", path="", headers=OPTIONAL):
    """The first line of a request, and its headers."""
    async with listening(ANSWER) as server:
        api = Api(key, server.url + path, LONG)
        await api.post("/v1/messages", {"a": 1}, headers)
        await api.close()
        first, *lines = server.caller.requests[0].split("\r\n")
        return first, dict(line.split(": ", 1) for line in lines if line), server.port


async def test_the_key_and_the_version_are_sent_as_the_sdk_sends_them():
    sdk = anthropic.Anthropic(api_key="k")
    told = {name.lower(): value for name, value in (sdk.default_headers | sdk.auth_headers).items()}
    first, headers, port = await head_of()
    assert first == "POST /v1/messages HTTP/1.1"
    for name in ("authorization", "anthropic-version", "content-type"):
        assert headers.pop(name) == told[name], name
    assert headers == {
        "host": f"127.0.0.1:{port}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "turnlog",
        "anthropic-beta": "a,b",
        "content-length": "7",
    }
    assert str(sdk.base_url).rstrip("/") == ANTHROPIC


async def test_an_address_may_have_a_path():
    first, _, _ = await head_of(path="/gateway/claude/")
    assert first == "POST /gateway/claude/v1/messages HTTP/1.1"


async def test_custom_headers_go_along_and_may_replace_ours(monkeypatch):
    custom = "X-Team: one\r\nnonsense\nX-Site:two\nUser-Agent: me"
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", custom)
    _, headers, _ = await head_of()
    assert headers | {"x-team": "one", "x-site": "two", "user-agent": "me"} == headers
    assert "User-Agent" not in headers


@pytest.mark.parametrize(
    "lines",
    ["a: b\rc: d", "a: b\x01", "a b: c", ": c", "Content-Length: 1", "transfer-encoding: x"],
)
def test_custom_headers_that_would_change_the_request_are_refused(monkeypatch, lines):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", lines)
    with pytest.raises(ConfigError, match="ANTHROPIC_CUSTOM_HEADERS"):
        Api("k", None, LONG)


def test_a_key_with_a_line_end_is_refused_and_not_told():
    with pytest.raises(ConfigError) as refused:
        Api("secret\r\nx: y", None, LONG)
    assert "secret" not in str(refused.value)


async def test_a_header_of_a_call_begins_no_other_line():
    with pytest.raises(ValueError, match="character"):
        await head_of(headers={"anthropic-beta": "a\r\nx: y"})


JSON = b'{"error": "no"}'


def refusal(status, *lines):
    head = [f"HTTP/1.1 {status} No", *lines, f"content-length: {len(JSON)}", "", ""]
    return "\r\n".join(head).encode() + JSON


async def asked(refused, **patience):
    """How often a model asks that is refused each time."""
    async with listening(refused) as server:
        patience = Patience(**{"tries": 3, "first_wait": 0.001} | patience)
        model = ClaudeModel(api_key="k", base_url=server.url, patience=patience)
        with pytest.raises(EngineFailed):
            async with asyncio.timeout(LIMIT):
                await anext(model.call(HI))
        await model.close()
        return sum(len(caller.requests) for caller in server.callers)


@pytest.mark.parametrize(
    ("status", "line", "times"),
    [
        (429, "retry-after: 0", 3),
        (429, "x-should-retry: false", 1),  # a limit that waiting does not lift
        (503, "X-Should-Retry: False", 1),
        (400, "x-should-retry: true", 3),
        (400, "x-should-retry: perhaps", 1),
        (409, "x: y", 3),  # "Retry on lock timeouts": the SDK
        (403, "x: y", 1),
    ],
)
async def test_the_api_says_whether_it_wants_to_be_asked_again(status, line, times):
    assert await asked(refusal(status, line)) == times


async def test_a_wait_may_be_asked_for_in_milliseconds():
    precise = refusal(429, "retry-after: 3600", "retry-after-ms: 1")
    assert await asked(precise, first_wait=3600.0, longest_wait=3600.0) == 3
    assert await asked(refusal(429, "retry-after-ms: 1500"), longest_wait=1.4) == 1


@pytest.mark.parametrize("status", [300, 400, 429, 529])
async def test_an_error_is_told_with_its_body_and_its_connection_is_used_again(status):
    async with listening(refusal(status, "retry-after: 7")) as server:
        api = Api("k", server.url, LONG)
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                await api.post("/v1/messages", {}, {})
            told = refused.value
            assert (told.status, told.body, told.advice.wait) == (status, {"error": "no"}, 7.0)
        assert len(server.callers) == 1
        await api.close()


async def test_an_answer_that_is_packed_is_not_read():
    async with listening(HEAD[:-2] + b"content-encoding: gzip\r\n\r\n") as server:
        api = Api("k", server.url, LONG)
        with pytest.raises(Packed):
            await api.post("/v1/messages", {}, {})
        await server.is_left()
        await api.close()


@pytest.mark.parametrize("sent", [b"SSH-2.0\r\n", HEAD[:-2] + b"content-length: 3\r\n\r\n"])
async def test_what_is_no_answer_is_no_answer(sent):
    async with listening(sent) as server:
        api = Api("k", server.url, LONG)
        with pytest.raises(Unreachable, match="Broken"):
            await api.post("/v1/messages", {}, {})
        await server.is_left()
        await api.close()


async def test_a_request_that_is_lost_with_a_kept_connection_is_asked_again():
    """By the model, after a moment: whether the server had begun with it nobody knows."""
    met = []

    async def answer_once(reader, writer):
        met.append("one")
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + chunk(BEGIN + text("Hello.") + end()) + LAST)
            await reader.readuntil(b"\r\n\r\n")

    async with meeting(answer_once) as port:
        url = f"http://127.0.0.1:{port}"
        model = ClaudeModel(api_key="k", base_url=url, patience=Patience(tries=2, first_wait=0.001))
        for connections in (1, 2):
            assert [batch async for batch in model.call(HI)]
            await until(lambda: model._connection._pool._kept)
            assert len(met) == connections
        await model.close()
