"""What goes back to the model within a turn is mended; what it does not know, it is not told."""

from contextlib import asynccontextmanager

import pytest
from histories import CITED

from turnlog import Agent, Settings, create_app, tool
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.ports import Decision
from turnlog.projections.history.clean import CleanHistory, mended
from turnlog.projections.history.messages import add
from turnlog.projections.proof import prove
from turnlog.simulator import (
    RawBlock,
    Reply,
    SimulatedClaude,
    Text,
    Thinking,
    ToolCall,
    invalid_request,
)
from turnlog.speaking.part import Part
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing import samples as s
from turnlog.testing.golden import people
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER as USER

pytestmark = pytest.mark.slow  # many turns

NEW, OLD = "claude-sonnet-5-5", "claude-haiku-4-5"
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
POEM = RawBlock({"type": "poem", "lines": ["Roses are red"]})
ODD = RawBlock({"type": "text", "text": "Hello.", "mood": "fine"})


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


@tool(approval="always")
async def pay() -> str:
    """Pay."""
    return "paid"


class Talk:
    """A session with a scripted Claude, which refuses what the API refuses."""

    def __init__(self, app, sim, session_id):
        self.app, self.sim, self.id = app, sim, session_id
        self.live = []  # all that was shown

    async def ask(self, *replies, **more):
        self.sim.queue(*replies)
        result = await self.app.run_turn("Go", session_id=self.id, user_id=USER, **more)
        assert self.sim.pending == 0
        self.live += [wire.decode(wire.encode(entry)) for entry in result.events]
        return result

    async def decide(self, approval_id, *replies):
        self.sim.queue(*replies)
        await self.app.answer_approval(USER, approval_id, Decision(approved=True))
        self.live += await people.until_at_rest(self.app, self.id, self.live)

    async def kept(self):
        """What the log holds; all that must hold for a session does."""
        evidence = await self.app.store.evidence(self.id)
        kept = [stamped(row) for row in evidence.log]
        log = [wire.decode(wire.encode(entry)) for entry in kept if not entry.envelope.internal]
        assert [*prove(evidence).problems, *invariants.broken(self.live, log)] == []
        return [entry.event for entry in kept]

    async def repairs(self):
        """The rules that were mended, by record."""
        records = [event for event in await self.kept() if isinstance(event, k.HistoryRepaired)]
        return [[each["rule"] for each in record.repairs] for record in records]


@asynccontextmanager
async def talk(model=NEW):
    sim, store = SimulatedClaude(pace=0), MemoryStore()
    async with sim.serve() as url:
        settings = Settings(api_key="k", base_url=url, model=model)
        agent = Agent("a", tools=[look, pay], web_search=True)
        async with (app := create_app([agent], settings=settings, store=store)):
            yield Talk(app, sim, (await app.create_session(USER)).id)


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


async def test_a_pause_without_a_search_is_answered_too():
    """Newer models do not go on from their own words: they are asked to."""
    async with talk() as session:
        result = await session.ask(Reply("Wait.", stop_reason="pause_turn"), Reply("Done."))
        assert (result.error, session.sim.refused) == (None, [])


@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("model", [NEW, OLD, "claude-sonnet-5", "claude-opus-5-5"])
async def test_thinking_that_is_switched_while_a_person_decides_breaks_nothing(model, thinks):
    async with talk(model) as session:
        await session.app.change_session(USER, session.id, thinking_enabled=thinks)
        thought = [Thinking("Hm.")] if thinks else []
        result = await session.ask(Reply(*thought, ToolCall("pay")))
        await session.app.change_session(USER, session.id, thinking_enabled=not thinks)
        await session.decide(result.waiting[0], Reply("Paid."))
        assert (session.live[-1]["type"], session.sim.refused) == ("complete", [])
        await session.kept()


# what the API itself has sent, and does not take back


async def test_a_cited_answer_goes_back_without_what_only_answers_have():
    cited = Text("Green.", citations=(CITED | {"file_id": None}, CITED | {"file_id": "file_1"}))
    async with talk() as session:
        result = await session.ask(Reply(cited, ToolCall("look")), Reply(cited))
        assert (result.error, result.text) == (None, "Green.")
        assert (await session.ask(Reply("Fine."))).error is None
        assert (session.sim.refused, await session.repairs()) == ([], [])
        replayed = session.sim.requests[-1]["messages"][1]["content"][0]
        assert replayed == {"type": "text", "text": "Green.", "citations": [CITED, CITED]}


UNKNOWN = {
    "a block of an unknown type": ([POEM, "Hello."], "blocks-are-known"),
    "nothing but such a block": ([POEM], "blocks-are-known"),
    "an unknown field of a text": ([ODD], "fields-are-known"),
    "an unknown field of a citation": (
        [Text("Green.", citations=(CITED | {"mood": "sure"},))],
        "fields-are-known",
    ),
}


@pytest.mark.parametrize(("blocks", "rule"), UNKNOWN.values(), ids=UNKNOWN)
async def test_what_the_api_does_not_know_is_refused_once_in_a_session(blocks, rule):
    async with talk() as session:
        await session.ask(Reply(*blocks))
        for _ in range(5):
            result = await session.ask(Reply("Fine."))
            assert (result.error, result.text) == (None, "Fine.")
        assert len(session.sim.refused) == 1
        assert rule in (await session.repairs())[0]


@pytest.mark.parametrize(("blocks", "rule"), UNKNOWN.values(), ids=UNKNOWN)
async def test_it_is_refused_once_within_a_turn_as_well(blocks, rule):
    async with talk() as session:
        call = Reply(*blocks, ToolCall("look"))
        result = await session.ask(call, Reply(ToolCall("look")), Reply("Done."))
        assert (result.error, result.text) == (None, "Done.")
        assert (await session.ask(Reply("Fine."))).error is None
        assert len(session.sim.refused) == 1
        assert rule in (await session.repairs())[0]


def test_what_was_repaired_within_a_turn_is_recorded_once():
    """Also where the broken part is an old one, which was told for some time."""
    talk = [("user", "1"), ("assistant", "one"), ("user", "2"), ("assistant", "2"), ("user", "3")]
    messages = [{"role": role, "content": [s.text(said)]} for role, said in talk]
    messages[1]["content"].append(POEM.block)
    part = Part(None, False, messages, None, None, known_only=False, clean=CleanHistory())
    assert part.mend() is None
    part.known_only = True  # the model has refused it
    assert [each["rule"] for each in part.mend().repairs] == ["blocks-are-known"]
    for number in range(3):
        add(part.messages, "assistant", [s.call(f"toolu_{number}")])
        part.calls = [s.used(f"toolu_{number}")]
        part.gets([s.result(f"toolu_{number}")])
        assert part.mend() is None
    assert part.messages == mended(part.messages, fully=True).messages


@pytest.mark.parametrize("before", [True, False])
async def test_who_has_refused_it_is_not_told_it_again_within_a_turn(before):
    """Neither what comes later in the turn, nor what comes in a later turn."""
    async with talk() as session:
        if before:
            await session.ask(Reply(POEM, "Hello."))
            await session.ask(Reply("Fine."))
        calls = [Reply(POEM, ToolCall("look")), Reply(ODD, ToolCall("look"))]
        assert (await session.ask(*calls, Reply("Done."))).error is None
        assert len(session.sim.refused) == 1


async def test_what_was_said_stays_in_the_log_as_it_came():
    async with talk() as session:
        await session.ask(Reply(POEM, "Hello."))
        await session.ask(Reply("Fine."))
        first = next(event for event in await session.kept() if isinstance(event, k.Message))
        assert first.blocks[0] == POEM.block


async def test_a_later_block_of_another_unknown_type_is_not_refused_any_more():
    song = RawBlock({"type": "song", "notes": [1]})
    async with talk() as session:
        await session.ask(Reply(POEM, "Hello."))
        await session.ask(Reply(song, "La."))
        assert (await session.ask(Reply("Fine."))).error is None
        assert len(session.sim.refused) == 1


async def test_what_is_refused_for_another_reason_is_asked_once():
    async with talk() as session:
        result = await session.ask(invalid_request("no"))
        assert (result.error, session.sim.accepted) == ("The model did not accept this request.", 1)
        assert await session.repairs() == []


async def test_what_is_refused_again_is_not_asked_a_third_time():
    async with talk() as session:
        await session.ask(Reply(POEM, "Hello."))
        result = await session.ask(invalid_request("no"))
        assert (result.success, len(session.sim.refused), session.sim.accepted) == (False, 1, 2)
