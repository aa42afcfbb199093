"""Which pieces of an answer are read one by one, and which pile up."""

import asyncio
import json
from collections import deque
from contextlib import aclosing

import pytest
from raw_events import TOOL, block, json_piece, start, stop
from test_claude_model import FOR_EVER, of, outcome

from turnlog.engines.claude.model import ClaudeModel, Patience
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.chunks import is_chunk
from turnlog.ports import CallStarted, Prompt, ToolSpec
from turnlog.simulator import Reply, SimulatedClaude, Stall, ToolCall


def frame(raw):
    return f"event: {raw['type']}\ndata: {json.dumps(raw)}\n\n".encode()


class Pieces:
    """A body whose pieces are known: each is read, or piles up."""

    def __init__(self, *pieces):
        self.pieces, self.read_ones = deque(map(frame, pieces)), 0

    async def read(self):
        self.read_ones += 1
        return self.pieces.popleft()

    async def pile_up(self, ticks, take):
        while take(self.pieces.popleft()):
            pass

    async def finish(self):
        pass

    async def aclose(self):
        pass

    async def post(self, path, request, headers):
        """Whatever is asked, this is the body of the answer."""
        return self


async def test_arguments_wake_nobody_and_the_first_words_after_them_do_not_wait():
    arguments = block(TOOL, *[json_piece("")] * 9)
    words = [{"type": "text_delta", "text": text} for text in ("Hi", " you", " all")]
    body = Pieces(
        start(), *arguments, *block({"type": "text", "text": ""}, *words, index=1), *stop()
    )
    batches, straight = await outputs_of(body)
    assert [type(batch[-1]) for batch in batches] == [CallStarted, k.Message]
    assert (body.read_ones, straight) == (4, ["Hi", " you", " all"])


async def test_chunks_that_may_not_go_straight_are_for_who_asked():
    words = [{"type": "text_delta", "text": text} for text in ("Hi", " you")]
    body = Pieces(start(), *block({"type": "text", "text": ""}, *words), *stop())
    batches, straight = await outputs_of(body, takes=False)
    said = [output.content for batch in batches for output in batch if is_chunk([output])]
    assert said == straight == ["Hi", " you"]  # each was offered once


class CloudPieces(Pieces):
    """A body that does not pile up: that of a cloud platform."""

    async def pile_up(self, ticks, take):
        pass


@pytest.mark.parametrize("window", [0.0, 0.05])
async def test_while_an_answer_that_never_waits_is_read_others_get_their_turn(window):
    left = []  # pieces, whenever the other one got its turn

    async def other():
        while True:
            left.append(len(body.pieces))
            await asyncio.sleep(0)

    words = [{"type": "text_delta", "text": "a"}] * 20_000
    body = CloudPieces(start(), *block({"type": "text", "text": ""}, *words), *stop())
    task = asyncio.create_task(other())
    _, straight = await outputs_of(body, window=window)
    task.cancel()
    assert len(straight) == 20_000
    assert left


async def outputs_of(body, takes=True, window=0.05):
    """What the one who asked gets, and what was offered to those who watch."""
    offered = []

    def straight(chunks):
        offered.extend(chunk.content for chunk in chunks)
        return takes

    model = ClaudeModel(api_key="k", window=window)
    model._connection = body
    return [batch async for batch in model.call(prompt(straight=straight))], offered


@pytest.mark.parametrize("body", [b"[" * 60_000, b"{}", b'{"input_tokens": "x"}', b"\xff"])
async def test_a_count_that_cannot_be_read_is_told_as_such(body):
    model = ClaudeModel(api_key="k")
    model._connection = pieces = Pieces()
    pieces.pieces += [body, b""]
    with pytest.raises(EngineFailed) as failed:
        await model.count(prompt())
    assert failed.value.code == "unreadable"


def prompt(**fields):
    hi = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    return Prompt(model="claude-sonnet-5-5", system="", messages=[hi], max_tokens=1000, **fields)


async def test_a_tool_call_that_goes_silent_is_given_up():
    silent = Reply(ToolCall("look", {"at": "the moon"}), ending=Stall(3, FOR_EVER))
    look = ToolSpec(name="look", description="Look.", input_schema={"type": "object"})
    async with SimulatedClaude(silent, pace=0).serve() as url, asyncio.timeout(60):
        patience = Patience(tries=1, silence=0.1)
        model = ClaudeModel(api_key="k", base_url=url, patience=patience, window=0.05)
        with pytest.raises(EngineFailed) as failed:
            async with aclosing(model.call(prompt(tools=[look]))) as batches:
                async for batch in batches:
                    assert [type(each) for each in batch] == [CallStarted]
        await model.close()
    assert (failed.value.code, failed.value.retryable) == ("stalled", True)


@pytest.mark.parametrize("window", [0.0, 0.05])
@pytest.mark.parametrize("goes_straight", [True, False])
async def test_a_stream_that_goes_silent_is_given_up(window, goes_straight):
    silent, shown = Reply("Hello you.", chunk=5, ending=Stall(4, FOR_EVER)), []
    more = {"window": window, "straight": lambda chunks: shown.extend(chunks) or goes_straight}
    for silence in (0.1, 10.0):  # the first is too short where the machine stands still for it
        patience = Patience(tries=1, silence=silence)
        outputs, failed, _ = await outcome(silent, patience=patience, **more)
        assert (failed.code, failed.retryable) == ("stalled", True)
        if chunks := of(k.MessageChunk, shown if goes_straight else outputs):
            break
    assert chunks
