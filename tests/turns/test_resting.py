"""A turn shows its question before it waits. A message that comes in between is answered."""

import asyncio

import pytest

from turnlog import Agent, tool
from turnlog.errors import Busy
from turnlog.events import kinds as k
from turnlog.events.clock import now
from turnlog.ports import Question, Waiting
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import kept_events, scripted_app

USER = "ann"
SLOW = pytest.param("openai_agents", marks=pytest.mark.slow)  # to import
ENGINES = pytest.mark.parametrize("engine", ["claude", "langgraph", SLOW])
PAY, SEE = ToolCall("pay", id="toolu_pay"), ToolCall("see", id="toolu_see")
ERP = ToolCall("transfer_to_erp", {"reason": "Pay."}, "toolu_erp")
TASKS = ToolCall("transfer_to_tasks", {"reason": "Pay."}, "toolu_tasks")
paid = []


@tool(approval="always")
async def pay() -> str:
    """A person is asked first."""
    paid.append(1)
    return "paid"


class LateStore(MemoryStore):
    """Here no turn waits before somebody was told that it is busy."""

    def __init__(self):
        super().__init__()
        self.was_busy = self.may_wait = asyncio.Event()

    async def begin_turn(self, *args):
        try:
            return await super().begin_turn(*args)
        except Busy:
            self.was_busy.set()
            raise

    async def suspend_turn(self, turn):
        await self.may_wait.wait()
        await super().suspend_turn(turn)


async def asked(app, session, questions=1):
    """Returns when a turn has shown so many questions."""
    turn = await app.start_turn(USER, session, Question(message="Pay"))
    async for batch in app.follow_turn(USER, turn):
        questions -= sum(isinstance(live.entry.event, k.ApprovalRequested) for live in batch)
        if not questions:
            return


async def never_mind(app, questions=1):
    """What becomes of approvals, and of a message that is sent as soon as they are seen."""
    session = (await app.create_session(USER)).id
    await asked(app, session, questions)
    async with asyncio.timeout(30):
        await app.start_turn(USER, session, Question(message="Never mind."))
    await app.rest()
    statuses = [approval.status for approval in await app.store.list_approvals(USER)]
    said = [e.content for e in await kept_events(app.store, session) if isinstance(e, k.Message)]
    return statuses, said[-1]


@ENGINES
async def test_a_message_right_after_the_question_withdraws_it(engine):
    agents = [Agent("a", tools=[pay])]
    scripted = scripted_app(
        Reply(PAY), Reply("Fine."), agents=agents, engine=engine, store=LateStore()
    )
    async with scripted as (app, _):
        assert await never_mind(app) == (["withdrawn"], "Fine.")
        assert paid == []


@ENGINES
async def test_so_it_does_where_another_agent_has_asked(engine):
    team = [Agent("boss", hands_over_to=["erp"]), Agent("erp", tools=[pay])]
    script = Reply(ERP), Reply(PAY), Reply("Fine.")
    scripted = scripted_app(*script, agents=team, engine=engine, store=LateStore())
    async with scripted as (app, _):
        assert await never_mind(app) == (["withdrawn"], "Fine.")


@ENGINES
async def test_and_where_two_agents_ask_at_the_same_time(engine):
    erp, tasks = Agent("erp", tools=[pay]), Agent("tasks", tools=[pay])
    team = [Agent("boss", hands_over_to=["erp", "tasks"]), erp, tasks]
    each_asks = Reply(ToolCall("pay")), Reply(ToolCall("pay"))
    script = Reply(ERP, TASKS), *each_asks, Reply("Fine.")
    async with scripted_app(*script, agents=team, engine=engine, store=LateStore()) as (app, _):
        assert await never_mind(app, questions=2) == (["withdrawn"] * 2, "Fine.")


async def test_beside_a_tool_that_runs_the_turn_is_busy_at_once(monkeypatch):
    monkeypatch.setattr("turnlog.turns.waiting.resting.WITHIN", 60)
    go = asyncio.Event()

    @tool(writes=False)
    async def see() -> str:
        """Returns when the test lets it go."""
        await go.wait()
        return "seen"

    agents = [Agent("a", tools=[pay, see])]
    async with scripted_app(Reply(PAY, SEE), agents=agents) as (app, _), asyncio.timeout(30):
        session = (await app.create_session(USER)).id
        await asked(app, session)
        with pytest.raises(Busy):
            await app.start_turn(USER, session, Question(message="Never mind."))
        go.set()


async def test_one_that_does_not_come_to_wait_is_busy_after_a_while(monkeypatch):
    monkeypatch.setattr("turnlog.turns.waiting.resting.WITHIN", 0.05)
    monkeypatch.setattr("turnlog.turns.waiting.resting.SOON", 0.01)
    store, refused = LateStore(), asyncio.Event()
    store.may_wait = refused
    agents = [Agent("a", tools=[pay])]
    async with scripted_app(Reply(PAY), agents=agents, store=store) as (app, _):
        session = (await app.create_session(USER)).id
        await asked(app, session)
        with pytest.raises(Busy):
            await app.start_turn(USER, session, Question(message="Never mind."))
        refused.set()


async def test_a_message_behind_others_in_line_withdraws_nothing():
    agents = [Agent("a", tools=[pay])]
    script = Reply(PAY), Reply("Paid."), Reply("Next.")
    async with scripted_app(*script, agents=agents, store=LateStore()) as (app, _):
        session = (await app.create_session(USER)).id
        await asked(app, session)
        waiting = Waiting(
            turn_id="t2",
            session_id=session,
            user_id=USER,
            question=Question(message="Next"),
            created_at=now(),
        )
        await app.store.line.join(waiting)
        with pytest.raises(Busy):
            await app.start_turn(USER, session, Question(message="Never mind."))
        (approval,) = await app.store.list_approvals(USER)
        assert approval.status == "pending"
