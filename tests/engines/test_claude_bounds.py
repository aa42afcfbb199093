"""What a hostile model sends is bounded: a frame, an answer, an error, what unpacks."""

import asyncio
import gzip
import itertools
from contextlib import aclosing

import pytest
from hostile_model import BEGIN, end, frame, head, hostile, text

from turnlog.engines.claude import bounds
from turnlog.engines.claude.model import ClaudeModel, Patience
from turnlog.engines.claude.sse import SseSplitter, decode
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.ports import Prompt

QUICK = Patience(tries=2, first_wait=0.001, longest_wait=0.01, silence=30.0)
HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
MAX_TOKENS = 1000


async def heard(url):
    """The text that came, and what the call failed with."""
    model, words, failure = ClaudeModel(api_key="k", base_url=url, patience=QUICK), "", None
    prompt = Prompt(model="m", system="", messages=[HI], max_tokens=MAX_TOKENS)
    try:
        async with aclosing(model.call(prompt)) as batches:
            async for batch in batches:
                words += "".join(o.content for o in batch if isinstance(o, k.MessageChunk))
    except EngineFailed as error:
        failure = error.code
    finally:
        await model.close()
    return words, failure


# the splitter


class Counted(bytearray):
    """A tail that counts how many of its bytes were looked at."""

    looked_at = 0

    def find(self, what, begin=0):
        Counted.looked_at += len(self) - begin
        return super().find(what, begin)


def test_each_byte_of_a_frame_is_looked_at_once():
    splitter, piece = SseSplitter(), b"a" * 1000
    splitter.feed(b'data: {"x": "')
    splitter._tail = Counted(splitter._tail)
    for _ in range(1000):
        assert not list(splitter.feed(piece))
    assert list(splitter.feed(b'"}\n\n')) == [{"x": "a" * 1_000_000}]
    assert Counted.looked_at < 1_010_000


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_comments_and_frames_without_a_name_may_be_cut_anywhere(line_end):
    whole = b'event: a\ndata: {"n": 1}\n\ndata: {"n": 2}\n\n: x\n\ndata: {"n": 3}\n\n'
    whole = whole.replace(b"\n", line_end)
    for size in range(1, len(whole) + 1):
        splitter, events = SseSplitter(), []
        for begin in range(0, len(whole), size):
            events += splitter.feed(whole[begin : begin + size])
        assert events == [{"n": 1}, {"n": 2}, {"n": 3}], size


async def test_a_frame_that_is_too_long_ends_the_call():
    size = bounds.MOST_FRAME // 100
    long = (b"a" * size for _ in range(102))
    async with hostile(head() + BEGIN + text("Hi"), b'data: {"x": "', lambda _: long) as (url, _):
        assert await heard(url) == ("Hi", "answer_too_long")


# an answer


THOUGHT = {"type": "thinking", "thinking": ""}
THINKING = {"type": "thinking_delta", "thinking": "a" * 9000}


def endless(piece):
    return lambda _: itertools.repeat(piece)


@pytest.mark.parametrize(
    "pieces",
    {
        "text": endless(text("word " * 1000)),
        "pings": endless(frame("ping") * 2000),
        "unknown": endless(frame("news", x="a" * 50_000)),
        "blocks": endless(
            b"".join(
                frame("content_block_start", index=n, content_block={"type": "text", "text": ""})
                for n in range(1, 1000)
            )
        ),
        "thoughts": lambda _: itertools.chain(
            [frame("content_block_start", index=1, content_block=THOUGHT)],
            itertools.repeat(frame("content_block_delta", index=1, delta=THINKING)),
        ),
    }.items(),
    ids=lambda item: item[0],
)  # fmt: skip
async def test_an_answer_without_an_end_is_ended(pieces):
    async with hostile(head() + BEGIN, pieces[1]) as (url, _):
        words, failure = await heard(url)
    assert failure == "answer_too_long"
    assert len(words) <= 40 * MAX_TOKENS + 30_000


async def test_an_honest_answer_is_far_from_the_bounds():
    """Tokens of ten characters each, as many as may be: in other words, a long answer."""
    pieces = [text("characters")] * MAX_TOKENS
    async with hostile(head() + BEGIN, *pieces, end()) as (url, _):
        words, failure = await heard(url)
    assert (len(words), failure) == (10 * MAX_TOKENS, None)


async def test_what_is_packed_is_not_unpacked():
    bomb = gzip.compress(BEGIN + b"a" * 50_000_000)
    async with hostile(head("200 OK", "content-encoding: gzip"), bomb) as (url, heads):
        assert await heard(url) == ("", "packed")
    assert "accept-encoding: identity" in heads[0].lower()


async def test_of_an_error_only_the_beginning_is_read():
    sent = []

    def body(_):
        for _ in range(2_000):
            sent.append(100_000)
            yield b"a" * 100_000

    async with hostile(head("400 No"), body) as (url, _):
        assert await heard(url) == ("", "invalid_request")
    assert sum(sent) < 20_000_000  # what buffers of the system hold, and no 200 MB


async def test_a_redirect_is_not_followed():
    """The conversation and the key go to the configured address alone."""
    async with hostile(head(), BEGIN, end()) as (there, stolen):
        moved = head("307 Go", f"location: {there}/v1/messages", "content-length: 0")
        async with hostile(moved) as (url, heads):
            assert await heard(url) == ("", "redirected")
    assert (len(heads), stolen) == (1, [])


async def test_a_turn_can_be_stopped_while_chunks_keep_coming():
    """All of it is there at once: reading waits for nothing, and still lets others go on."""
    came = asyncio.Event()

    async def listen():
        model = ClaudeModel(api_key="k", base_url=url, patience=QUICK)
        prompt = Prompt(model="m", system="", messages=[HI], max_tokens=1_000_000)
        try:
            async for _ in model.call(prompt):
                came.set()
        finally:
            await model.close()

    async with hostile(head() + BEGIN, endless(text("a") * 50)) as (url, _):
        listening = asyncio.create_task(listen())
        await came.wait()
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening


# half characters

HALVES = [
    (rb"Good \ud83d day", "Good \ufffd day"),
    (rb"\udc00", "\ufffd"),
    (rb"\ud83d\ude00", "\U0001f600"),
    (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
    (rb"\\ud83d", r"\ud83d"),
    (rb"\ud83d\\ude00", "\ufffd\\ude00"),
    (b"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"),
]


@pytest.mark.parametrize(("sent", "read"), HALVES)
async def test_half_a_character_costs_a_replacement_character(sent, read):
    piece = text("HERE").replace(b"HERE", sent)
    async with hostile(head() + BEGIN + piece + end()) as (url, _):
        assert await heard(url) == (read, None)


def test_half_a_character_in_the_arguments_of_a_call():
    assert decode(r'{"name": "\ud83d"}') == {"name": "\ufffd"}
