"""Conversations that outgrow their window: nothing that matters is forgotten, and no turn fails."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.ports import Agent
from turnlog.projections.history import clean
from turnlog.projections.history.lint import lint
from turnlog.projections.history.request import Request
from turnlog.projections.proof import prove
from turnlog.simulator import Failure, RawBlock, Reply, Text, Thinking, ToolCall, overloaded
from turnlog.simulator.conversation import answer as converse
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import kept_events, scripted_app
from turnlog.tools.tool import tool
from turnlog.transports.access.auth import LOCAL_USER as USER

FACT, QUESTION = "My budget code is K-4711.", "What is my budget code?"
COMPACTS, OLDER = "claude-sonnet-5-5", "claude-sonnet-4-5"


def is_summary(body):
    return "compaction" in body or "<conversation>" in str(body["messages"][-1]["content"])[:200]


async def chat(app, session_id, *questions):
    """Ask them all. Returns the last answer."""
    for question in questions:
        result = await app.run_turn(question, session_id=session_id, user_id=USER)
        assert result.success, result.error
    return result.text


def sums(first, last):
    return [f"What is {n} plus {n}?" for n in range(first, last)]


async def records(app, session_id, kind):
    return [e for e in await kept_events(app.store, session_id) if isinstance(e, kind)]


# what was said is known


@pytest.mark.slow
async def test_what_was_said_at_turn_5_is_known_at_turn_300():
    """The simulated Claude remembers nothing: it finds the fact in its prompt, or not at all."""
    async with scripted_app(history_tokens=3_000, messages_a_minute=10_000) as (app, sim):
        session = (await app.create_session(USER)).id
        await chat(app, session, *sums(1, 5), FACT, *sums(5, 299))
        assert await chat(app, session, QUESTION) == "Your budget code is K-4711."
        last = sim.requests[-1]
        assert "K-4711" not in str(last["messages"][1:])  # only in the summary
        made = await records(app, session, k.HistorySummarized)
        assert 3 <= len(made) <= 20  # rarely
        assert all(each.token_usage.total_tokens < 6_000 for each in made)  # never of everything
        sizes = [len(str(body)) for body in sim.requests if not is_summary(body)]
        assert max(sizes[-100:]) <= 1.2 * max(sizes[:100])  # flat, however long it gets
        assert sim.refused == []


@pytest.mark.parametrize(("model", "how", "by"), [
    (COMPACTS, "compaction", COMPACTS),
    (OLDER, "call", "claude-haiku-4-5"),
])  # fmt: skip
async def test_a_summary_is_made_by_the_api_where_the_model_can_else_by_a_cheap_model(
    model, how, by
):
    async with scripted_app(model=model, history_tokens=300) as (app, sim):
        session = (await app.create_session(USER)).id
        assert "K-4711" in await chat(app, session, FACT, *sums(1, 20), QUESTION)
        made = await records(app, session, k.HistorySummarized)
        assert {(each.how, each.model) for each in made} == {(how, by)}
        assert sim.refused == []


async def test_what_leaves_the_window_is_told_as_it_came_and_no_rule_is_asked(monkeypatch):
    monkeypatch.setattr(clean, "lint", None)
    monkeypatch.setattr(clean, "repair", None)
    async with scripted_app(agents=[Agent("a", tools=[look])], history_tokens=300) as (app, sim):
        session = (await app.create_session(USER)).id
        for number in range(20):
            calls = [Reply(Text("I look. "), ToolCall("look"))] if number % 2 else []
            sim.queue(*calls, Reply(f"It is {number}, and there is nothing else to say. "))
        while not (summaries := [body for body in sim.requests if "compaction" in body]):
            assert sim.pending > 1  # or there was no summary
            await chat(app, session, "Well?")
        last = summaries[0]["messages"][-1]
        assert last["role"] == "assistant" and last["content"][-1]["text"].endswith("say. ")
        assert sim.refused == []


async def test_a_summary_is_billed_and_the_turn_says_what_it_cost():
    async with scripted_app(history_tokens=300) as (app, sim):
        session = (await app.create_session(USER)).id
        results = [await app.run_turn(q, session_id=session, user_id=USER) for q in sums(1, 30)]
        made = await records(app, session, k.HistorySummarized)
        charges = await app.store.charges(user_id=USER, session_id=session)
        assert made and Counter(c.part.kind for c in charges)["summary"] == len(made)
        assert all(each.cost_usd for each in made)
        whole = sum(result.cost_usd for result in results)
        answers = await records(app, session, k.Message)
        assert whole == sum(each.cost_usd for each in [*made, *answers])


async def test_between_two_moves_the_beginning_of_the_prompt_never_changes():
    async with scripted_app(history_tokens=300) as (app, sim):
        session = (await app.create_session(USER)).id
        await chat(app, session, *sums(1, 40))
        told = [plain(body) for body in sim.requests if not is_summary(body)]
        changed = sum(a != b[: len(a)] for a, b in zip(told, told[1:], strict=False))
        moves = await records(app, session, k.HistoryAnchored)
        assert changed == len(moves) >= 2


def plain(body):
    """Its messages, without the marks for the cache."""
    return [
        (m["role"], [{n: v for n, v in b.items() if n != "cache_control"} for b in m["content"]])
        for m in body["messages"]
    ]


@pytest.mark.parametrize("engine", ["claude", "langgraph", "openai_agents"])
async def test_every_agent_of_a_team_is_told_the_summary_after_a_restart_too(tmp_path, engine):
    agents = [Agent("supervisor", hands_over_to=["erp"]), Agent("erp", description="Money.")]
    options = {"agents": agents, "engine": engine, "history_tokens": 300}
    async with scripted_app(store=SqliteStore(tmp_path), **options) as (app, _):
        session = (await app.create_session(USER)).id
        await chat(app, session, FACT, *sums(1, 20))
        assert await records(app, session, k.HistoryAnchored)
    async with scripted_app(store=SqliteStore(tmp_path), **options) as (app, sim):
        call = ToolCall("transfer_to_erp", {"reason": "It is about money."}, "toolu_1")
        sim.queue(Reply(call))
        assert await chat(app, session, QUESTION) == "Your budget code is K-4711."
        assert "K-4711" in str(sim.requests[-1]["messages"][0])


async def test_files_that_left_the_window_are_named_and_can_be_read(tmp_path):
    plan = tmp_path / "plan.md"
    plan.write_text("The launch is on 3 May.")
    async with scripted_app(history_tokens=300) as (app, sim):
        session = (await app.create_session(USER)).id
        sim.queue(Reply("Thank you."))
        await app.run_turn("Here.", session_id=session, user_id=USER, files=[plan])
        await chat(app, session, *sums(1, 20))
        (move, *_) = await records(app, session, k.HistoryAnchored)
        (file,) = move.files
        assert "'plan.md'" in str(sim.requests[-1]["messages"][0])

        def answer(body):
            if is_summary(body):
                return converse(body)
            asked = body["messages"][-1]["content"]
            called = any(block["type"] == "tool_result" for block in asked)
            call = ToolCall("read_file", {"file_id": file["id"]}, "toolu_1")
            return Reply(str(asked)) if called else Reply(call)

        sim._answer = answer
        assert "3 May" in await chat(app, session, "When is the launch?")


# no turn fails


def failing(broken):
    """A Claude that converses, but for summaries."""
    return lambda body: broken if is_summary(body) else converse(body)


async def test_without_a_summary_the_window_grows_and_the_next_try_comes_later():
    async with scripted_app(history_tokens=300) as (app, sim):
        sim._answer = failing(overloaded(60.0))
        session = (await app.create_session(USER)).id
        assert "K-4711" in await chat(app, session, FACT, *sums(1, 30), QUESTION)
        failed = await records(app, session, k.SummaryFailed)
        assert 3 <= len(failed) <= 10 and not any(each.lost for each in failed)
        assert {each.code for each in failed} == {"overloaded"}
        assert await records(app, session, k.HistoryAnchored) == []
        sim._answer = None
        assert "K-4711" in await chat(app, session, *sums(30, 34), QUESTION)
        assert len(await records(app, session, k.HistoryAnchored)) == 1


@pytest.mark.parametrize(("broken", "code"), [
    (overloaded(60.0), "overloaded"),
    (Reply("I would rather not.", stop_reason="refusal"), "no_summary"),
    (Reply("  "), "no_summary"),
    (Reply(ToolCall("look", {})), "no_summary"),
])  # fmt: skip
async def test_what_does_not_fit_and_cannot_be_summarized_is_lost_and_the_log_says_so(broken, code):
    too_long = Failure(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")
    async with scripted_app() as (app, sim):
        session = (await app.create_session(USER)).id
        await chat(app, session, FACT, *sums(1, 5))
        sim._answer = failing(broken)
        sim.queue(too_long)
        assert await chat(app, session, QUESTION) == (
            "You have not told me what your budget code is, as far as I can see."
        )
        (failed,) = await records(app, session, k.SummaryFailed)
        assert (failed.code, failed.lost) == (code, True)
        assert "could not be summarized" in str(sim.requests[-1]["messages"][0])
        billed = await records(app, session, k.HistorySummarized)
        assert len(billed) == (code == "no_summary")  # it was paid for all the same


async def test_a_model_that_cannot_compact_after_all_is_asked_in_words():
    """A gateway may not know the parameter."""
    no = Failure(400, "invalid_request_error", "compaction: Extra inputs are not permitted")
    async with scripted_app(history_tokens=300) as (app, sim):
        sim._answer = lambda body: no if "compaction" in body else converse(body)
        session = (await app.create_session(USER)).id
        assert "K-4711" in await chat(app, session, FACT, *sums(1, 20), QUESTION)
        made = await records(app, session, k.HistorySummarized)
        assert {(each.how, each.model) for each in made} == {("call", COMPACTS)}


async def test_the_model_for_summaries_can_be_chosen():
    async with scripted_app(history_tokens=300, summary_model="claude-haiku-5-5") as (app, _):
        session = (await app.create_session(USER)).id
        assert "K-4711" in await chat(app, session, FACT, *sums(1, 20), QUESTION)
        made = await records(app, session, k.HistorySummarized)
        assert {(each.how, each.model) for each in made} == {("call", "claude-haiku-5-5")}


# whatever is said


@tool(writes=False)
async def look(what: str = "") -> str:
    """Looks."""
    return what * 50


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
said = st.one_of(
    st.just([]),
    words.filter(str.strip).map(lambda text: [Text(text * 5)]),
    words.map(lambda text: [Thinking(text), Text("Well.")]),
    words.map(lambda text: [ToolCall("look", {"what": text}), ToolCall("look", {})]),
)
summaries = st.sampled_from([
    None, None, overloaded(60.0), Reply("Short."), Reply(ToolCall("look", {})),
    Reply(RawBlock({"type": "compaction", "content": None, "encrypted_content": None})),
    Failure(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
])  # fmt: skip


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from([COMPACTS, OLDER]), st.booleans())
async def test_every_request_is_valid_whatever_leaves_the_window(data, model, thinks):
    def answer(body):
        if is_summary(body):
            broken = data.draw(summaries)
            return broken if broken is not None else converse(body)
        results = [b for m in body["messages"][-1:] for b in m["content"] if "tool_use_id" in b]
        return Reply("Seen.") if results else Reply(*data.draw(said))

    store = MemoryStore()
    agents = [Agent("assistant", tools=[look])]
    options = {"agents": agents, "store": store, "history_tokens": 1_000, "model": model}
    async with scripted_app(**options) as (app, sim):
        sim._answer = answer
        session = (await app.create_session(USER)).id
        await app.change_session(USER, session, thinking_enabled=thinks)
        for question in data.draw(st.lists(words.filter(str.strip), min_size=5, max_size=25)):
            result = await app.run_turn(question * 9, session_id=session, user_id=USER)
            assert result.success, result.error
        assert sim.refused == []
        for body in sim.requests:
            assert lint(Request(body)) == []
        evidence = await store.evidence(session)
        assert prove(evidence).problems == []
        assert any(isinstance(stamped(row).event, k.Message) for row in evidence.log)
