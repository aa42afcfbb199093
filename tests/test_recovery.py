"""Turns that were left unfinished: ended once, with what had been shown."""

import asyncio

import msgspec
import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.errors import Busy, Reused
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.events.rows.record import stamped
from turnlog.pipeline.drafts import DraftBlock, DraftPart, Drafts
from turnlog.ports import Question, StartedTurn
from turnlog.projections.proof import prove
from turnlog.simulator import Cut, RawBlock, Reply, SimulatedClaude, Text, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.turns.recovery import MOST_RESUMPTIONS

pytestmark = pytest.mark.usefixtures("hurried")

CITED = {"type": "char_location", "cited_text": "dry", "document_index": 0}
SEARCH = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}


def draft_of(text, message_id="msg_new", agent_id="a", model="m"):
    return DraftPart(
        message_id=message_id,
        model=model,
        reported={"input_tokens": 7},
        agent=AgentRef(id=agent_id, name=agent_id.title()),
        blocks=[DraftBlock("text", 0, [text])],
    )


def saved(*drafts):
    """As the turn's row has them."""
    return msgspec.json.encode(Drafts(index=3, answers=list(drafts)))


async def in_mid_turn(*events, draft=None, request_id=None):
    """The store of a process that works on a turn."""
    working = MemoryStore("working")
    await working.open()
    await working.create_session(s.new_session())
    turn = await working.begin_turn(s.new_turn(request_id=request_id), s.placed(s.asked()))
    if events:
        await working.append(turn, s.placed(*events, first_index=1))
    if draft is not None:
        await working.add_draft(turn, draft)
    return working


async def left_behind(*events, draft=None):
    """The store of a process that lives, beside one that died in mid-turn."""
    dead = await in_mid_turn(*events, draft=draft)
    await dead.close()
    return MemoryStore("living", dead)


async def log_of(store):
    evidence = await store.evidence("s")
    assert prove(evidence).problems == []
    assert evidence.running == []
    return [stamped(row) for row in evidence.log]


async def kept(store):
    return [entry.event for entry in await log_of(store)]


async def started(store):
    async with create_app([Agent("assistant")], settings=Settings(grace=0.0), store=store):
        return await kept(store)


async def test_what_had_been_shown_becomes_an_interrupted_message():
    store = await left_behind(draft=saved(draft_of("Once upon")))
    _, message, error = await started(store)
    assert (message.content, message.stop_reason) == ("Once upon", "interrupted")
    assert (message.token_usage.input_tokens, error.code) == (7, "interrupted")


async def test_a_draft_whose_message_was_kept_is_forgotten():
    answer = s.said("Half an answer.", id="msg_new")
    store = await left_behind(answer, draft=saved(draft_of("Half a")))
    assert [event.type for event in await started(store)] == ["user_message_sent", "message"]


async def test_a_draft_beside_another_message_that_was_kept_is_not_forgotten():
    store = await left_behind(s.said("Tea.", id="msg_1"), draft=saved(draft_of("Coff", "msg_2")))
    _, one, other, error = await started(store)
    assert (one.content, other.content, other.stop_reason) == ("Tea.", "Coff", "interrupted")
    assert error.code == "interrupted"


async def test_two_agents_that_wrote_when_the_process_died_keep_their_own_words():
    tea = draft_of("Tea is", "msg_1", "one")
    coffee = draft_of("Coffee was", "msg_2", "two")
    store = await left_behind(draft=saved(tea, coffee))
    await started(store)
    _, *messages, _ = await log_of(store)
    words = [
        (entry.envelope.agent.id, entry.event.message_id, entry.event.content) for entry in messages
    ]
    assert words == [("one", "msg_1", "Tea is"), ("two", "msg_2", "Coffee was")]


async def test_what_is_told_after_a_crash_stands_behind_what_had_been_shown():
    store = await left_behind(draft=saved(draft_of("Once upon")))
    await started(store)
    _, message, error = await log_of(store)
    assert (message.envelope.index, error.envelope.index) == (3, 4)


async def test_a_draft_under_an_id_that_is_taken_gets_another():
    store = await left_behind(draft=saved(draft_of("Mine", "msg_taken")))
    other = s.new_session("other")
    await s.keep(store, [s.asked(), s.said("Theirs", id="msg_taken")], session=other)
    _, message, _ = await started(store)
    assert message.content == "Mine" and message.message_id != "msg_taken"


async def test_a_draft_that_cannot_be_read_does_not_stop_the_server():
    _, error = await started(await left_behind(draft=b'{"from": "another version"}'))
    assert error.code == "interrupted"


async def test_a_turn_that_nobody_can_go_on_with_is_ended():
    calls = [s.said(s.call("toolu_1"), stop="tool_use"), s.used("toolu_1")]
    resumed = [k.TurnResumed()] * MOST_RESUMPTIONS
    *_, result, error = await started(await left_behind(*calls, *resumed))
    assert (result.tool_use_id, result.success, error.code) == ("toolu_1", False, "interrupted")


async def test_three_messages_at_once_heal_a_session_once():
    working = await in_mid_turn()
    store = MemoryStore("living", working)
    async with (app := create_app([Agent("assistant")], settings=Settings(), store=store)):
        await working.close()
        asked = [app.run_turn("Go", session_id="s", user_id="alice") for _ in range(3)]
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(each, Busy) for each in done) == 2
        assert [event.type for event in await kept(store)].count("error") == 1


async def test_the_same_request_heals_the_turn_that_nobody_works_on():
    working = await in_mid_turn(request_id="r1")
    store = MemoryStore("living", working)
    async with (app := create_app([Agent("assistant")], settings=Settings(), store=store)):
        question = Question(message="Hello", request_id="r1")
        assert (await app.start_turn("alice", "s", question)).turn_id == "t"
        assert (await store.evidence("s")).running == ["t"]  # who works on it lives, and goes on
        await working.close()
        result = await app.run_turn("Hello", session_id="s", user_id="alice", request_id="r1")
        assert not result.success and result.turn_id == "t"


async def test_the_same_request_with_another_message_is_refused():
    sim, store = SimulatedClaude(), MemoryStore()
    async with sim.serve() as url:
        settings = Settings(api_key="test", base_url=url)
        async with (app := create_app([Agent("assistant")], settings=settings, store=store)):
            first = await app.run_turn("One", request_id="r1")
            with pytest.raises(Reused):
                await app.run_turn("Two", session_id=first.session_id, request_id="r1")


@tool(approval="never")
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def played(*replies, questions=("Go", "Next")):
    """The events of a session with these replies; the API must have refused nothing."""
    sim, store = SimulatedClaude(*replies), MemoryStore()
    async with sim.serve() as url:
        settings = Settings(api_key="test", base_url=url)
        async with (app := create_app([Agent("a", tools=[pay])], settings=settings, store=store)):
            session = await app.create_session("alice")
            for question in questions:
                await app.run_turn(question, session_id=session.id, user_id="alice")
    assert sim.refused == []
    evidence = await store.evidence(session.id)
    assert prove(evidence).problems == []
    return [stamped(row).event for row in evidence.log]


async def test_a_repeated_tool_id_gets_one_of_ours_and_runs_once():
    events = await played(
        Reply(ToolCall("pay", {"amount": 1}, "call_0")),
        Reply(ToolCall("pay", {"amount": 2}, "call_0")),
        Reply("Done."),
        Reply(ToolCall("pay", {"amount": 3}, "call_0")),
        Reply("Done."),
    )
    results = [event.result for event in events if isinstance(event, k.ToolResult)]
    ids = [event.tool_use_id for event in events if isinstance(event, k.ToolUse)]
    assert results == ["paid 1", "paid 2", "paid 3"]
    assert ids[0] == "call_0" and len(set(ids)) == 3


async def test_a_server_tool_that_was_cut_off_is_not_told_again():
    await played(Reply("I search.", RawBlock(SEARCH), stop_reason="max_tokens"), Reply("Yes."))


async def test_citations_that_were_shown_survive_a_cut():
    events = await played(
        Reply(Text("pumps run dry", citations=(CITED,)), ending=Cut(6)), questions=["Go"]
    )
    (message,) = [event for event in events if isinstance(event, k.Message)]
    assert [citation["cited_text"] for citation in message.citations] == ["dry"]


async def test_a_call_that_a_dead_process_left_is_priced_like_any_other():
    draft = draft_of("Once upon", model="claude-sonnet-5-5")
    _, message, _ = await started(await left_behind(draft=saved(draft)))
    assert str(message.cost_usd) == "0.000014"  # 7 x 2, a million


async def test_a_task_that_is_done_is_not_yet_the_answer_of_the_turn():
    call = [s.said(s.call("toolu_1"), stop="tool_use"), s.used("toolu_1")]
    task = [s.said("The task is done."), s.result("toolu_1")]  # by another agent
    *_, error = await started(await left_behind(*call, *task))
    assert error.code == "interrupted"


async def test_whoever_watches_sees_the_end_of_a_turn_whose_answer_was_kept():
    working = await in_mid_turn(s.said("Hi."))
    store = MemoryStore("living", working)
    app = create_app([Agent("assistant")], settings=Settings(), store=store)
    async with app, asyncio.timeout(60):
        turn = StartedTurn(turn_id="t", session_id="s", first_seq=0)
        watching = app.follow_turn("alice", turn)
        await anext(watching)
        await working.close()
        await app._turns.heal("s")
        rest = [live.entry.event.type async for batch in watching for live in batch]
        assert rest == ["complete"]


async def test_two_drafts_under_ids_that_are_taken_get_two_others():
    drafts = saved(draft_of("Tea is", "msg_1", "one"), draft_of("Coffee was", "msg_2", "two"))
    store = await left_behind(draft=drafts)
    other = s.new_session("other")
    await s.keep(store, [s.asked(), s.said(id="msg_1"), s.said(id="msg_2")], session=other)
    _, one, two, _ = await started(store)
    assert (one.content, two.content) == ("Tea is", "Coffee was")
    assert len({one.message_id, two.message_id, "msg_1", "msg_2"}) == 4
