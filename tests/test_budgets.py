"""Budgets: a call that would exceed one is refused, said so, and nothing that was said is lost."""

import asyncio
from decimal import Decimal

import httpx2
import pytest

from turnlog import Agent, tool
from turnlog.config import load
from turnlog.errors import BudgetUsedUp, ConfigError, EngineFailed
from turnlog.ports import Decision, Prompt, Spent
from turnlog.projections.billing.budgets import Budget, budgets_of, read_budgets, state_of
from turnlog.simulator import Reply, ToolCall
from turnlog.simulator.listener import listen
from turnlog.simulator.script import Usage
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import kept_events, scripted_app
from turnlog.turns.questions.budgets import Budgets

DIME = Usage(input_tokens=25_000, output_tokens=5_000)  # 0.05 + 0.05 dollars with Sonnet 5.5


@tool
async def look() -> str:
    """Look."""
    return "seen"


def running(*entries, budgets, **settings):
    agents = [Agent("a", tools=[look])]
    return scripted_app(*entries, agents=agents, budgets=tuple(budgets), **settings)


async def log_of(app, session_id):
    return await kept_events(app.store, session_id)


def budget(per="day", **limits):
    return Budget(per=per, **{n: Decimal(v) if n == "usd" else v for n, v in limits.items()})


async def test_a_turn_beyond_the_budget_is_refused_and_the_question_stays():
    async with running(Reply("One.", usage=DIME), budgets=[budget(usd="0.1")]) as (app, sim):
        first = await app.run_turn("One?")
        second = await app.run_turn("Two?", session_id=first.session_id)
        assert (first.success, second.success) == (True, False)
        assert second.error.startswith("The budget for today is used up: $0.1000 of $0.1000.")
        asked, exceeded, error = (await log_of(app, first.session_id))[-3:]
        assert (asked.content, error.code, error.retryable) == ("Two?", "budget_exceeded", False)
        assert (exceeded.per, exceeded.spent_usd, exceeded.limit_usd) == (
            "day", Decimal("0.1"), Decimal("0.1"))  # fmt: skip
        assert exceeded.next_call_tokens > 0
        assert [stamped_event.event.type for stamped_event in second.events] == [
            "user_message_sent",
            "error",
        ]
        assert sim.accepted == 1


async def test_a_turn_is_ended_between_two_calls_and_what_was_said_stays():
    calls = Reply("Let me look.", ToolCall("look", {}), usage=DIME)
    async with running(calls, budgets=[budget("session", usd="0.05")]) as (app, sim):
        result = await app.run_turn("Look!")
        kept = await log_of(app, result.session_id)
        types = "user_message_sent message tool_use budget_exceeded tool_result error"
        assert [event.type for event in kept] == types.split()
        assert kept[1].content == "Let me look." and kept[4].success is False
        assert result.cost_usd == Decimal("0.1") and sim.accepted == 1


async def test_an_answer_that_used_the_budget_up_is_still_an_answer():
    async with running(Reply("All of it.", usage=DIME), budgets=[budget(tokens=100)]) as (app, _):
        result = await app.run_turn("Go")
        assert (result.success, result.text) == (True, "All of it.")


async def test_a_request_that_does_not_fit_is_not_sent():
    async with running(Reply("Never."), budgets=[budget(tokens=5_000)]) as (app, sim):
        result = await app.run_turn("long " * 6_000)
        assert "too small for this" in result.error and "0 tokens of 5000 tokens" in result.error
        assert sim.accepted == 0


async def test_most_of_a_budget_is_warned_of_once():
    replies = [Reply("Hi.", usage=DIME)] * 4
    async with running(*replies, budgets=[budget("month", usd="0.45")]) as (app, _):
        session = (await app.create_session("local")).id
        for _ in range(4):
            assert (await app.run_turn("Hi", session_id=session)).success
        kept = await log_of(app, session)
        warned = [event for event in kept if event.type == "budget_warned"]
        assert [(w.per, w.spent_usd) for w in warned] == [("month", Decimal("0.4"))]
        (state,) = await app.budgets("local")
        assert (state["state"], state["used"]) == ("warned", Decimal("0.8889"))


async def test_a_bill_says_how_far_the_budgets_are_used_up():
    entry = Reply("Hi.", usage=DIME)
    limits = [budget("session", tokens=60_000), budget("month", usd="0.1")]
    async with running(entry, budgets=limits) as (app, _), listen(app, "127.0.0.1", 0) as url:
        session = (await app.run_turn("Hi")).session_id
        async with httpx2.AsyncClient(timeout=60, base_url=url) as http:
            told = (await http.get(f"/api/billing/sessions/{session}")).json()["budgets"]
    assert [(row["per"], row["used"], row["state"]) for row in told] == [
        ("session", 0.5, "ok"),
        ("month", 1, "exceeded"),
    ]


async def test_a_sessions_budget_is_for_that_session():
    async with running(*[Reply("Hi.", usage=DIME)] * 2, budgets=[budget("session", usd="0.1")]) as (
        app,
        _,
    ):
        first = await app.run_turn("Hi")
        assert not (await app.run_turn("Hi", session_id=first.session_id)).success
        assert (await app.run_turn("Hi")).success
        assert await app.budgets("local") == []
        (state,) = await app.budgets("local", first.session_id)
        assert state["state"] == "exceeded"


async def test_another_user_has_a_budget_of_their_own():
    async with running(*[Reply("Hi.", usage=DIME)] * 2, budgets=[budget(usd="0.1")]) as (app, _):
        assert (await app.run_turn("Hi", user_id="alice")).success
        assert not (await app.run_turn("Hi", user_id="alice")).success
        assert (await app.run_turn("Hi", user_id="bob")).success


def test_a_users_own_budget_stands_in_the_place_of_everybodys():
    rows = [
        budget(usd="1"),
        budget("month", usd="9"),
        Budget(who="alice", per="day", usd=Decimal(5)),
    ]
    assert [b.usd for b in budgets_of("alice", rows)] == [9, 5]
    assert [b.usd for b in budgets_of("bob", rows)] == [1, 9]


def test_the_tighter_of_two_limits_counts():
    both = budget(usd="1", tokens=100)
    assert both.used(Spent(50, 10**11)) == Decimal("0.5")
    assert both.used(Spent(50, 9 * 10**11)) == Decimal("0.9")
    assert not both.allows(Spent(50, 0), Spent(51, 0))
    assert both.allows(Spent(50, 0), Spent(50, 0))
    assert not budget(usd="0").allows(Spent(), Spent())
    assert [state_of(Decimal(n)) for n in ("0.79", "0.8", "1")] == ["ok", "warned", "exceeded"]


class Counting:
    """A model that counts; it is asked only when it matters."""

    def __init__(self, tokens):
        self.tokens, self.asked = tokens, 0

    async def count(self, prompt):
        self.asked += 1
        if self.tokens is None:
            raise EngineFailed("overloaded", "Busy.")
        return self.tokens


async def is_refused(model, tokens):
    """Whether the first call of a turn is, where only so many tokens may be used."""
    messages = [{"role": "user", "content": "x" * 400}]
    prompt = Prompt(model="m", system="", messages=messages, max_tokens=1)
    guard = Budgets([budget(tokens=tokens)], MemoryStore()).guard(s.new_turn())
    verdict = await guard.before(prompt, model)
    assert isinstance(verdict.refusal, BudgetUsedUp | None)
    assert [record.type for record in verdict.records] == ["budget_exceeded"] * bool(
        verdict.refusal
    )
    return verdict.refusal is not None


async def test_near_a_limit_the_model_counts_and_its_count_holds():
    far, near, failing = Counting(1), Counting(50), Counting(None)
    assert not await is_refused(far, 10_000) and far.asked == 0
    assert not await is_refused(near, 60) and near.asked == 1
    assert not await is_refused(failing, 300) and failing.asked == 1
    assert await is_refused(near, 40)
    assert await is_refused(far, 0)
    assert (near.asked, far.asked) == (2, 0)


FILE = """
[[budgets]]
per = "day"
usd = 2.50
[[budgets]]
who = "alice"
per = "month"
tokens = 1000
"""


def test_budgets_are_read_from_the_file_exactly(tmp_path):
    (tmp_path / "turnlog.toml").write_text(FILE)
    settings = load({}, tmp_path / "turnlog.toml")
    assert settings.budgets == (
        Budget(per="day", usd=Decimal("2.50")),
        Budget(who="alice", per="month", tokens=1000),
    )


BAD = [7, [7], [{}], [{"per": "week", "usd": 1}], [{"per": "day"}], [{"per": "day", "usd": "1"}],
       [{"per": "day", "usd": -1}], [{"per": "day", "tokens": 1.5}], [{"per": "day", "eur": 1}],
       [{"per": "day", "usd": True}], [{"per": "day", "usd": Decimal("nan")}],
       [{"per": "day", "usd": Decimal("inf")}], [{"per": "day", "usd": Decimal("0.0000001")}],
       [{"per": "day", "tokens": Decimal(5)}], [{"per": "day", "usd": "5"}],
       [{"per": "day", "usd": Decimal("1e300")}]]  # fmt: skip


@pytest.mark.parametrize("rows", BAD, ids=str)
def test_a_budget_that_cannot_be_is_refused(rows):
    with pytest.raises(ConfigError, match="[Bb]udget"):
        read_budgets(rows)


async def test_turns_at_once_are_each_checked():
    entries = [Reply("Hi.", usage=DIME)] * 8
    async with running(*entries, budgets=[budget(usd="0.2")]) as (app, sim):
        await asyncio.gather(*(app.run_turn("Hi") for _ in range(2)))
        late = await asyncio.gather(*(app.run_turn("Hi") for _ in range(3)))
        assert [result.success for result in late] == [False] * 3
        assert sim.accepted == 2


async def test_an_allowed_call_runs_also_when_the_budget_is_used_up_meanwhile():
    """What a person allowed is done; the model is not asked again."""
    asks = Reply("May I?", ToolCall("pay", {}), usage=DIME)
    paid = []

    @tool(approval="always")
    async def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    script, budgets = (asks, Reply("Other.", usage=DIME)), (budget(usd="0.2"),)
    agents = [Agent("a", tools=[pay])]
    async with scripted_app(*script, agents=agents, budgets=budgets) as (app, sim):
        waiting = await app.run_turn("Pay!")
        await app.run_turn("Something else")
        await app.answer_approval("local", waiting.waiting[0], Decision(approved=True))
        await asyncio.gather(*app._turns._live.tasks)
        kept = await log_of(app, waiting.session_id)
    assert paid == [1] and sim.accepted == 2
    assert [event.type for event in kept][-3:] == ["tool_result", "budget_exceeded", "error"]
