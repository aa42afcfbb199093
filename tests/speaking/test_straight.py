"""Chunks that go straight to those who watch: at once, or yielded, and nothing is overtaken."""

from contextlib import aclosing

from turnlog import Agent
from turnlog.events import kinds as k
from turnlog.pipeline.execution import execute
from turnlog.ports import Ask, Batch, CallStarted, Prompt, Seat
from turnlog.speaking.speakers import Speakers
from turnlog.speaking.together import Outlet
from turnlog.testing import samples as s
from turnlog.tools.runner import ToolRunner

AGENT = Agent("a")


class Alone:
    """A team of one without tools."""

    agents = {AGENT.id: AGENT}

    async def seat(self, agent_id, *, shorter=False):
        messages = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
        prompt = Prompt(model="claude-sonnet-5-5", system="", messages=messages, max_tokens=1000)
        return Seat(agent=AGENT, prompt=prompt, tools=ToolRunner([], lambda _: None))


def piece(text):
    return k.MessageChunk(message_id="msg_1", content=text, block_index=0)


class Straightforward:
    """A model that shows what it may without being asked for it."""

    def __init__(self):
        self.went = []

    async def call(self, prompt):
        first, second = (piece(text) for text in "ab")
        yield [CallStarted(message_id="msg_1", model="m", reported={}), first]
        self.went.append(prompt.straight([second]))
        if not self.went[-1]:
            yield [second]
        yield [s.said("ab", id="msg_1")]


async def said_and_shown(takes):
    """The texts that were yielded, and those that went straight."""
    shown, yielded, model = [], [], Straightforward()

    def straight(batch):
        if takes:
            shown.extend(batch.outputs)
        return takes

    ask = Ask(speaker="a", team=Alone(), straight=straight)
    async with aclosing(execute(ask, model)) as batches:
        async for batch in batches:
            yielded += [o for o in batch.outputs if isinstance(o, k.MessageChunk)]
    return "".join(c.content for c in yielded), "".join(c.content for c in shown)


async def test_a_chunk_goes_straight_or_is_yielded():
    assert await said_and_shown(takes=True) == ("a", "b")
    assert await said_and_shown(takes=False) == ("ab", "")


async def test_no_chunk_of_who_works_on_a_task_goes_straight():
    shown, model = [], Straightforward()
    ask = Ask(speaker="a", team=Alone(), straight=lambda batch: not shown.append(batch))
    speakers = Speakers(ask, model)
    worker = await speakers.seat("a", delegated=True)
    async with aclosing(speakers.ask_model(worker)) as batches:
        yielded = [o for batch in [b async for b in batches] for o in batch.outputs]
    assert (model.went, shown) == ([False], [])
    assert [o.content for o in yielded if isinstance(o, k.MessageChunk)] == ["a", "b"]


async def test_no_chunk_goes_straight_past_those_that_wait_in_line():
    outlet, shown = Outlet(), []
    ask = outlet.in_order(
        Ask(speaker="a", team=Alone(), straight=lambda batch: not shown.append(batch))
    )
    first, second = (Batch([piece(text)]) for text in "ab")
    assert ask.straight(first)
    await outlet.put(first)
    assert not ask.straight(second)
    assert shown == [first]
