"""Claude's engine: when it asks again, when it gives up, and what it says then."""

import asyncio
import socket
from contextlib import aclosing, asynccontextmanager

import pytest

from turnlog import ToolContext, tool
from turnlog.engines.claude.engine import ClaudeEngine, Patience
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.ports import Ask
from turnlog.simulator import (
    Break,
    Cut,
    RawBlock,
    Reply,
    SimulatedClaude,
    Stall,
    Thinking,
    ToolCall,
    api_error,
    authentication_failed,
    failure,
    invalid_request,
    overloaded,
    rate_limited,
)
from turnlog.tools.runner import ToolRunner

FOR_EVER = 10_000.0  # seconds: a test that waited for it would be noticed
QUICK = Patience(tries=4, first_wait=0.001, longest_wait=0.01, silence=5.0)
HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}


CONTEXT = ToolContext(user_id="u", session_id="s", turn_id="t", tool_use_id="toolu")


@tool(writes=False)
async def look(at: str = "it") -> str:
    """Look at something."""
    return f"saw {at}"


@asynccontextmanager
async def engine_on(*entries, patience=QUICK):
    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as url:
        engine = ClaudeEngine(api_key="k", base_url=url, patience=patience)
        await engine.open()
        yield engine, sim
        await engine.close()


async def heard(engine, **more):
    """Everything that the engine says, and what it failed with."""
    given = {"model": "claude-sonnet-5-5", "messages": [HI]} | more
    ask = Ask(system="", max_tokens=1000, **given)
    tools = ToolRunner([look], lambda _: CONTEXT)
    said = []
    try:
        async with asyncio.timeout(60), aclosing(engine.answer(ask, tools)) as batches:
            async for batch in batches:
                said += batch.outputs
    except EngineFailed as failed:
        return said, failed
    return said, None


def of(kind, said):
    return [each for each in said if isinstance(each, kind)]


async def outcome(*entries, patience=QUICK, **more):
    """What happens with this script. The API must have taken every request."""
    async with engine_on(*entries, patience=patience) as (engine, sim):
        said, failed = await heard(engine, **more)
    assert sim.refused == []
    return said, failed, sim


# asking again


@pytest.mark.parametrize("trouble", [overloaded(), rate_limited(), api_error()])
async def test_trouble_before_the_first_byte_is_asked_again(trouble):
    said, failed, sim = await outcome(trouble, trouble, Reply("Hello."))
    assert (failed, sim.accepted) == (None, 3)
    assert of(k.Message, said)[0].content == "Hello."


async def test_after_the_last_try_it_gives_up_and_says_why():
    _, failed, sim = await outcome(*[overloaded()] * 9)
    assert (failed.code, failed.retryable, sim.accepted) == ("overloaded", True, QUICK.tries)


async def test_a_wait_that_the_api_asks_for_is_waited_instead_of_our_own():
    impatient = Patience(first_wait=FOR_EVER, longest_wait=FOR_EVER)
    _, failed, sim = await outcome(rate_limited(retry_after=0), Reply("Hi."), patience=impatient)
    assert (failed, sim.accepted) == (None, 2)


async def test_a_wait_that_is_too_long_is_not_waited():
    _, failed, sim = await outcome(rate_limited(retry_after=FOR_EVER))
    assert (failed.code, sim.accepted) == ("rate_limited", 1)


def test_our_own_wait_doubles_up_to_a_limit():
    engine = ClaudeEngine(api_key="k", patience=Patience(first_wait=1.0, longest_wait=6.0))
    for attempt, most in enumerate([1.0, 2.0, 4.0, 6.0, 6.0]):
        assert 0.75 * most <= engine._wait(attempt, None) <= most


def test_the_wait_that_the_api_asks_for_counts_instead_of_our_own():
    assert ClaudeEngine(api_key="k")._wait(0, 7.0) == 7.0


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (authentication_failed(), "invalid_key"),
        (invalid_request(), "invalid_request"),
        (failure("permission_error", "no"), "not_permitted"),
        (failure("not_found_error", "no"), "unknown_model"),
        (failure("request_too_large", "no"), "too_large"),
    ],
)
async def test_what_would_fail_again_is_not_asked_again(refusal, code):
    _, failed, sim = await outcome(refusal)
    assert (failed.code, failed.retryable, sim.accepted) == (code, False, 1)


async def test_a_claude_that_is_not_there_is_unreachable():
    with socket.socket() as taken:  # bound and not listening: nobody else can answer here
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        engine = ClaudeEngine(api_key="k", base_url=url, patience=QUICK)
        _, failed = await heard(engine)
        await engine.close()
    assert (failed.code, failed.retryable) == ("unreachable", True)


# in mid-answer


@pytest.mark.parametrize("after", [0, 1, 3, 5])
@pytest.mark.parametrize("clean", [True, False])
async def test_a_stream_that_is_cut_is_not_taken_for_an_answer(after, clean):
    said, failed, sim = await outcome(Reply("Hello you.", chunk=5, ending=Cut(after, clean)))
    assert (failed.code, failed.retryable, sim.accepted) == ("stream_cut", True, 1)
    assert of(k.Message, said) == []


async def test_what_came_before_the_cut_was_said():
    said, _, _ = await outcome(Reply("Hello you.", chunk=5, ending=Cut(5)))
    assert "Hello you.".startswith("".join(each.content for each in of(k.MessageChunk, said)))
    assert of(k.MessageChunk, said)


async def test_a_stream_that_goes_silent_is_given_up():
    silent = Reply("Hello you.", chunk=5, ending=Stall(4, FOR_EVER))
    patience = Patience(tries=1, silence=1.0)
    said, failed, _ = await outcome(silent, patience=patience)
    assert (failed.code, failed.retryable) == ("stalled", True)
    assert of(k.MessageChunk, said)


async def test_an_error_in_mid_answer_is_told_in_our_words():
    said, failed, sim = await outcome(Reply("Hello.", ending=Break(3, "api_error", "secret")))
    assert (failed.code, sim.accepted) == ("provider_error", 1)
    assert "secret" not in str(failed)


UNREADABLE = {
    "no JSON": b"data: {oops}\n\n",
    "no object": b"data: 5\n\n",
    "no text": b'data: {"type": "\xff"}\n\n',
    "no message": b'data: {"type": "message_start"}\n\n',
    "a delta for nothing": b'data: {"type": "content_block_stop", "index": 3}\n\n',
    "a message that is a word": b'data: {"type": "message_start", "message": "Hi"}\n\n',
    "a bottomless pit": b"data: " + b"[" * 100_000 + b"\n\n",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
async def test_a_stream_that_cannot_be_read_fails_in_our_words(body):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        writer.write(head + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        engine = ClaudeEngine(api_key="k", base_url=f"http://{host}:{port}", patience=QUICK)
        _, failed = await heard(engine)
        await engine.close()
    assert (failed.code, failed.retryable) == ("unreadable", True)


async def test_who_stops_listening_hangs_up():
    async with engine_on(Reply("Hello you.", chunk=1, ending=Stall(5, FOR_EVER))) as (engine, _):
        ask = Ask(model="claude-sonnet-5-5", system="", messages=[HI], max_tokens=1000)
        async with aclosing(engine.answer(ask, ToolRunner([], lambda _: CONTEXT))) as batches:
            first = await anext(batches)
    assert first.outputs


# the loop of a turn


async def test_tools_run_and_their_results_go_back_in_one_message():
    calls = [ToolCall("look", {"at": "a"}, "toolu_a"), ToolCall("look", {}, "toolu_b")]
    said, failed, sim = await outcome(Reply(Thinking("Hm."), *calls), Reply("Done."))
    assert failed is None
    answer, results = sim.requests[1]["messages"][1:]
    assert [block["type"] for block in answer["content"]] == ["thinking", "tool_use", "tool_use"]
    assert [block["content"] for block in results["content"]] == ["saw a", "saw it"]
    assert [each.result for each in of(k.ToolResult, said)] == ["saw a", "saw it"]


async def test_a_call_is_said_before_it_runs():
    said, _, _ = await outcome(Reply(ToolCall("look")), Reply("Done."))
    types = [each.type for each in said if isinstance(each, k.Event) and each.kept]
    assert types == ["message", "tool_use", "tool_result", "message"]


async def test_arguments_that_are_cut_are_answered_and_not_run():
    cut = ToolCall("look", id="toolu_a", raw_json='{"at": "th')
    said, failed, sim = await outcome(Reply(cut), Reply("Sorry."))
    (result,) = of(k.ToolResult, said)
    assert (failed, result.success) == (None, False)
    assert sim.requests[1]["messages"][2]["content"][0]["is_error"]


async def test_a_paused_answer_is_sent_back_unchanged_and_goes_on():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    paused = Reply(RawBlock(search), stop_reason="pause_turn")
    _, failed, sim = await outcome(paused, Reply(RawBlock(found), "Here."))
    assert failed is None
    assert sim.requests[1]["messages"][1] == {"role": "assistant", "content": [search]}


async def test_a_loop_without_end_is_ended():
    _, failed, sim = await outcome(*[Reply(ToolCall("look"))] * 9, max_calls=3)
    assert (failed.code, failed.retryable, sim.accepted) == ("too_many_calls", False, 3)


async def test_the_request_is_as_lean_as_the_ask():
    _, _, sim = await outcome(Reply("Hi."))
    lean = {"model", "messages", "max_tokens", "tools", "thinking", "stream"}
    assert sim.requests[0].keys() == lean


async def test_a_loop_of_pauses_is_ended_too():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    paused = Reply(RawBlock(search), stop_reason="pause_turn")
    _, failed, sim = await outcome(paused, *[Reply(stop_reason="pause_turn")] * 9, max_calls=3)
    assert (failed.code, sim.accepted) == ("too_many_calls", 3)


async def test_a_model_that_refuses_its_thoughts_is_asked_without_them():
    bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound"
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "foreign"}
    said_so = {"type": "text", "text": "So it is."}
    before = [HI, {"role": "assistant", "content": [thought, said_so]}, HI]
    said, failed, sim = await outcome(invalid_request(bound), Reply("Hello."), messages=before)
    assert failed is None
    assert [
        block["type"] for message in sim.requests[1]["messages"] for block in message["content"]
    ] == ["text", "text", "text"]
    assert of(k.Message, said)[0].content == "Hello."


async def test_refused_thoughts_are_given_up_only_once():
    bound = "messages.1.content.0: Invalid `signature` in `thinking` block"
    _, failed, sim = await outcome(*[invalid_request(bound)] * 3)
    assert (failed.code, sim.accepted) == ("thoughts_refused", 2)


async def test_a_container_that_was_given_is_gone_back_to():
    given = {"id": "container_1", "expires_at": "2026-11-16T12:00:00Z"}
    code = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
    paused = Reply(RawBlock(code), stop_reason="pause_turn", container=given)
    found = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {}}
    _, failed, sim = await outcome(paused, Reply(RawBlock(found), "Here."))
    assert (failed, sim.requests[1]["container"]) == (None, "container_1")


# counting


async def test_a_count_is_what_the_api_says():
    async with engine_on() as (engine, sim):
        ask = Ask(model="claude-sonnet-5-5", system="Be kind.", messages=[HI], max_tokens=1000)
        few = await engine.count(ask, ToolRunner([], lambda _: CONTEXT))
        many = await engine.count(ask, ToolRunner([look], lambda _: CONTEXT))
    assert 0 < few < many
    assert sim.requests == []


async def test_a_count_is_asked_for_twice_at_most_and_fails_in_our_words():
    answers = 0

    async def answer(reader, writer):
        nonlocal answers
        answers += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 529 Overloaded\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        engine = ClaudeEngine(api_key="k", base_url=f"http://{host}:{port}", patience=QUICK)
        with pytest.raises(EngineFailed, match="overloaded"):
            ask = Ask(model="claude-sonnet-5-5", system="", messages=[HI], max_tokens=1000)
            await engine.count(ask, ToolRunner([], lambda _: CONTEXT))
        await engine.close()
    assert answers == 2
