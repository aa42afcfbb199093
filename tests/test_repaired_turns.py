"""What goes back to the model within a turn is mended; what it does not know, it is not told."""

from contextlib import asynccontextmanager

import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.events import kinds as k
from turnlog.events.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import (
    RawBlock,
    Reply,
    SimulatedClaude,
    Text,
    Thinking,
    ToolCall,
)
from turnlog.stores.memory.store import MemoryStore

NEW, OLD = "claude-sonnet-5-5", "claude-haiku-4-5"
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
POEM = RawBlock({"type": "poem", "lines": ["Roses are red"]})
ODD = RawBlock({"type": "text", "text": "Hello.", "mood": "fine"})


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


class Talk:
    """A session with a scripted Claude, which refuses what the API refuses."""

    def __init__(self, app, sim, session_id):
        self._app, self.sim, self._id = app, sim, session_id

    async def ask(self, *replies, **more):
        self.sim.queue(*replies)
        result = await self._app.run_turn("Go", session_id=self._id, user_id="ann", **more)
        assert self.sim.pending == 0
        return result

    async def repairs(self):
        """The rules that were mended, by record."""
        evidence = await self._app.store.evidence(self._id)
        assert prove(evidence).problems == []
        events = [stamped(row).event for row in evidence.log]
        records = [event for event in events if isinstance(event, k.HistoryRepaired)]
        return [[each["rule"] for each in record.repairs] for record in records]


@asynccontextmanager
async def talk(model=NEW):
    sim, store = SimulatedClaude(pace=0), MemoryStore()
    async with sim.serve() as url:
        settings = Settings(api_key="k", base_url=url, model=model)
        agent = Agent("a", tools=[look], web_search=True)
        async with (app := create_app([agent], settings=settings, store=store)):
            yield Talk(app, sim, (await app.create_session("ann")).id)


# what breaks a rule of the API, as the model itself said it

BROKEN = {
    "a thought after the call": (
        [Reply("So.", ToolCall("look"), Thinking("Hm."))],
        "thoughts-are-followed",
    ),
    "nothing but a call and a thought": (
        [Reply(ToolCall("look"), Thinking("Hm."))],
        "thoughts-are-followed",
    ),
    "a pause that ends in a thought": (
        [Reply(RawBlock(SEARCH), Thinking("Hm."), stop_reason="pause_turn")],
        "thoughts-are-followed",
    ),
    "half a search beside a call": (
        [Reply(RawBlock(SEARCH), ToolCall("look"))],
        "server-tools-are-whole",
    ),
    "a search result without its search": (
        [Reply(RawBlock(FOUND), ToolCall("look"))],
        "server-tools-are-whole",
    ),
    "blank text beside a call": ([Reply("\n\n", ToolCall("look"))], "text-is-not-blank"),
    "a pause in two thoughts": (
        [Reply(RawBlock(SEARCH), Thinking("Hm."), Thinking("So."), stop_reason="pause_turn")],
        "thoughts-are-followed",
    ),
}


@pytest.mark.parametrize(("replies", "rule"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("model", [NEW, OLD])
async def test_what_goes_back_within_the_turn_is_mended(replies, rule, thinking, model):
    async with talk(model) as session:
        result = await session.ask(*replies, Reply("Done."), enable_thinking=thinking)
        assert (result.error, result.text, session.sim.refused) == (None, "Done.", [])
        assert [rule] in await session.repairs()
        result = await session.ask(Reply("Fine."), enable_thinking=thinking)
        assert (result.error, session.sim.refused) == (None, [])


async def test_what_breaks_no_rule_goes_back_unchanged_and_leaves_no_record():
    async with talk() as session:
        whole = Reply(Thinking("Hm."), RawBlock(SEARCH), RawBlock(FOUND), "So.", ToolCall("look"))
        await session.ask(whole, Reply("Done."), enable_thinking=True)
        told = session.sim.requests[1]["messages"][1]["content"]
        assert [block["type"] for block in told] == [
            "thinking", "server_tool_use", "web_search_tool_result", "text", "tool_use"
        ]  # fmt: skip
        assert await session.repairs() == []
