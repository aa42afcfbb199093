"""One call of Claude: when it is made again, when it is given up, and what is outputs then."""

import asyncio
import socket
from contextlib import aclosing, asynccontextmanager

import pytest

from turnlog.engines.claude.model import ClaudeModel, Patience
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.net import seconds_asked
from turnlog.ports import CallStarted, Prompt, ToolSpec, UnreadableCall
from turnlog.simulator import (
    Break,
    Cut,
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
from turnlog.testing.apps import Held

FOR_EVER = 10_000.0  # seconds: a test that waited for it would be noticed
QUICK = Patience(tries=4, first_wait=0.001, longest_wait=0.01, silence=5.0)
HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
LOOK = ToolSpec(name="look", description="Look.", input_schema={"type": "object"})


@asynccontextmanager
async def model_on(*entries, patience=QUICK, window=0.0):
    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as url:
        model = ClaudeModel(api_key="k", base_url=url, patience=patience, window=window)
        await model.open()
        yield model, sim
        await model.close()


def prompt(**more):
    given = {"model": "claude-sonnet-5-5", "system": "", "messages": [HI], "max_tokens": 1000}
    return Prompt(**given | more)


async def heard(model, **more):
    """Everything that comes of the call, and what it failed with."""
    outputs = []
    try:
        async with asyncio.timeout(60), aclosing(model.call(prompt(**more))) as batches:
            async for batch in batches:
                outputs += batch
    except EngineFailed as failed:
        return outputs, failed
    return outputs, None


def of(kind, outputs):
    return [each for each in outputs if isinstance(each, kind)]


async def outcome(*entries, patience=QUICK, window=0.0, **more):
    """What happens with this script. The API must have taken every request."""
    async with model_on(*entries, patience=patience, window=window) as (model, sim):
        outputs, failed = await heard(model, **more)
    assert sim.refused == []
    return outputs, failed, sim


# asking again


@pytest.mark.parametrize("trouble", [overloaded(), rate_limited(), api_error()])
async def test_trouble_before_the_first_byte_is_asked_again(trouble):
    outputs, failed, sim = await outcome(trouble, trouble, Reply("Hello."))
    assert (failed, sim.accepted) == (None, 3)
    assert of(k.Message, outputs)[0].content == "Hello."


async def test_after_the_last_try_it_gives_up_and_says_why():
    _, failed, sim = await outcome(*[overloaded()] * 9)
    assert (failed.code, failed.retryable, sim.accepted) == ("overloaded", True, QUICK.tries)


async def test_a_wait_that_the_api_asks_for_is_waited_instead_of_our_own():
    impatient = Patience(first_wait=FOR_EVER, longest_wait=FOR_EVER)
    _, failed, sim = await outcome(
        rate_limited(retry_after=0.001), Reply("Hi."), patience=impatient
    )
    assert (failed, sim.accepted) == (None, 2)


async def test_a_wait_that_is_too_long_is_not_waited():
    _, failed, sim = await outcome(rate_limited(retry_after=FOR_EVER))
    assert (failed.code, sim.accepted) == ("rate_limited", 1)


def test_our_own_wait_doubles_up_to_a_limit():
    model = ClaudeModel(api_key="k", patience=Patience(first_wait=1.0, longest_wait=6.0))
    for attempt, most in enumerate([1.0, 2.0, 4.0, 6.0, 6.0]):
        assert 0.75 * most <= model._wait(attempt, None) <= most


@pytest.mark.parametrize(("header", "wait"), [("7", 7.0), ("0.5", 0.5)])
def test_the_wait_is_what_the_header_says(header, wait):
    assert ClaudeModel(api_key="k")._wait(0, seconds_asked(header)) == wait


@pytest.mark.parametrize(
    "header", ["soon", "inf", "nan", "", None, "0", "-3", "Thu, 19 Nov 2026 21:00:00 GMT"]
)
def test_a_header_that_names_no_wait_is_not_understood_and_our_own_wait_holds(header):
    model = ClaudeModel(api_key="k", patience=Patience(first_wait=1.0))
    assert 0.75 <= model._wait(0, seconds_asked(header)) <= 1.0


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
        model = ClaudeModel(api_key="k", base_url=url, patience=QUICK)
        _, failed = await heard(model)
        await model.close()
    assert (failed.code, failed.retryable) == ("unreachable", True)


# in mid-answer


@pytest.mark.parametrize("after", [0, 1, 3, 5])
@pytest.mark.parametrize("clean", [True, False])
async def test_a_stream_that_is_cut_is_not_taken_for_an_answer(after, clean):
    outputs, failed, sim = await outcome(Reply("Hello you.", chunk=5, ending=Cut(after, clean)))
    assert (failed.code, failed.retryable, sim.accepted) == ("stream_cut", True, 1)
    assert of(k.Message, outputs) == []


async def test_what_came_before_the_cut_was_said():
    outputs, _, _ = await outcome(Reply("Hello you.", chunk=5, ending=Cut(5)))
    assert "Hello you.".startswith("".join(each.content for each in of(k.MessageChunk, outputs)))
    assert of(k.MessageChunk, outputs)


async def test_an_error_in_mid_answer_is_told_in_our_words():
    outputs, failed, sim = await outcome(Reply("Hello.", ending=Break(3, "api_error", "secret")))
    assert (failed.code, sim.accepted) == ("provider_error", 1)
    assert "secret" not in str(failed)


UNREADABLE = {
    "no JSON": b"data: {oops}\n\n",
    "no object": b"data: 5\n\n",
    "no text": b'data: {"type": \xff}\n\n',
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
        model = ClaudeModel(api_key="k", base_url=f"http://{host}:{port}", patience=QUICK)
        _, failed = await heard(model)
        await model.close()
    assert (failed.code, failed.retryable) == ("unreadable", True)


async def test_who_stops_listening_hangs_up():
    silent = Reply("Hello you.", chunk=1, ending=Stall(5, FOR_EVER))
    async with model_on(silent) as (model, _), aclosing(model.call(prompt())) as batches:
        first = await anext(batches)
    assert isinstance(first[0], CallStarted)


# what comes of it


async def batches_of(*blocks, **more):
    """The batches of one call that is answered with these blocks, one SSE event at a time."""
    async with model_on(Reply(*blocks, chunk=2, delay=0.001)) as (model, _):
        return [list(batch) async for batch in model.call(prompt(tools=[LOOK], **more))]


async def test_a_call_starts_with_the_providers_id_and_ends_with_what_is_kept():
    broken = ToolCall("look", id="toolu_a", raw_json='{"at": "th')
    first, *_, last = await batches_of(Thinking("Hm."), "Wait.", broken, thinking_budget=1024)
    assert isinstance(first[0], CallStarted)
    kept = [output for output in last if isinstance(output, UnreadableCall) or output.kept]
    assert [type(output) for output in kept] == [UnreadableCall, k.Thinking, k.Message]
    assert kept[-1].message_id == kept[-2].message_id == first[0].message_id
    assert kept[-1].blocks[kept[0].block]["id"] == "toolu_a"


async def test_the_model_decides_nothing_about_tools():
    batches = await batches_of("Wait.", ToolCall("look", {}, "toolu_a"))
    kinds = {type(output) for batch in batches for output in batch}
    assert kinds == {CallStarted, k.MessageChunk, k.Message}


# the window: what comes in it is read as one, and what ends the answer does not wait for it


async def chunks_in_a_window(*blocks, **more):
    """The text of each batch while the window lasts for ever, and how the call ended.

    The rest comes when the first piece was said, unless the answer ends in another way.
    """
    held = Held(after=4)
    reply, failed = Reply(*blocks, chunk=2, **{"ending": held} | more), None
    texts = []
    async with model_on(reply, window=FOR_EVER) as (model, _):
        try:
            async with asyncio.timeout(60), aclosing(model.call(prompt(tools=[LOOK]))) as batches:
                async for batch in batches:
                    texts.append("".join(each.content for each in of(k.MessageChunk, batch)))
                    if texts[-1]:
                        held.go.set()
        except EngineFailed as failure:
            failed = failure.code
    return [text for text in texts if text], failed


async def test_the_first_piece_is_said_at_once_and_the_rest_when_the_answer_ends():
    assert await chunks_in_a_window("Hello you.") == (["He", "llo you."], None)


async def test_a_call_of_a_tool_does_not_wait_for_the_window():
    said = await chunks_in_a_window("Wait.", ToolCall("look", {}, "toolu_a"))
    assert said == (["Wa", "it."], None)


@pytest.mark.parametrize("clean", [True, False])
async def test_what_breaks_an_answer_does_not_wait_for_the_window(clean):
    texts, failed = await chunks_in_a_window("Hello you.", ending=Cut(6, clean))
    assert ("".join(texts), failed) == ("Hello ", "stream_cut")


async def test_who_stops_listening_does_not_wait_for_the_window():
    silent = Reply("Hello you.", chunk=2, ending=Stall(5, FOR_EVER))
    async with model_on(silent, window=FOR_EVER) as (model, _):
        said = asyncio.Event()

        async def listen():
            async with aclosing(model.call(prompt())) as batches:
                async for batch in batches:
                    if of(k.MessageChunk, batch):
                        said.set()

        listening = asyncio.create_task(listen())
        await said.wait()
        listening.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait([listening])
    assert listening.cancelled()


# what is sent


async def test_the_request_is_as_lean_as_the_prompt():
    _, _, sim = await outcome(Reply("Hi."), tools=[LOOK])
    lean = {"model", "messages", "max_tokens", "tools", "thinking", "stream"}
    assert sim.requests[0].keys() == lean


async def test_a_model_that_refuses_its_thoughts_is_asked_without_them():
    bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound"
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "foreign"}
    said_so = {"type": "text", "text": "So it is."}
    before = [HI, {"role": "assistant", "content": [thought, said_so]}, HI]
    outputs, failed, sim = await outcome(invalid_request(bound), Reply("Hello."), messages=before)
    assert failed is None
    assert [
        block["type"] for message in sim.requests[1]["messages"] for block in message["content"]
    ] == ["text", "text", "text"]
    assert of(k.Message, outputs)[0].content == "Hello."


async def test_refused_thoughts_are_given_up_only_once():
    bound = "messages.1.content.0: Invalid `signature` in `thinking` block"
    _, failed, sim = await outcome(*[invalid_request(bound)] * 3)
    assert (failed.code, sim.accepted) == ("thoughts_refused", 2)


# counting


async def test_a_count_is_what_the_api_says():
    async with model_on() as (model, sim):
        few = await model.count(prompt(system="Be kind."))
        many = await model.count(prompt(system="Be kind.", tools=[LOOK]))
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
        model = ClaudeModel(api_key="k", base_url=f"http://{host}:{port}", patience=QUICK)
        with pytest.raises(EngineFailed, match="overloaded"):
            await model.count(prompt())
        await model.close()
    assert answers == 2
