"""What a message would cost, before it is sent: nothing is kept, and nobody answers."""

from decimal import Decimal

from turnlog.events import kinds as k
from turnlog.projections.billing.budgets import Budget
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import SECRET, as_user, is_problem, served
from turnlog.testing.office import office

ALICE, BOB = as_user("alice"), as_user("bob")


async def estimate(desk, session, message="Hi", headers=None, **more):
    path = f"/api/sessions/{session}/estimate"
    return await desk.http.post(path, json={"message": message, **more}, headers=headers)


async def test_an_estimate_is_what_the_model_is_then_told():
    async with office(Reply("Hello."), Reply("Again.")) as desk:
        session = await desk.session()
        for message in ("Hi", "And now?"):
            told = (await estimate(desk, session, message)).json()
            assert told.keys() == {"inputTokens", "estimatedCostUsd", "wouldExceedBudget"}
            await desk.ask(session, message)
            await desk.rest()
            last = [e for e in await desk.kept(session) if isinstance(e, k.Message)][-1]
            usage = last.token_usage
            read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            assert abs(told["inputTokens"] - read) <= 0.1 * read
            assert 0 < Decimal(str(told["estimatedCostUsd"])) <= last.cost_usd * 2
            assert told["wouldExceedBudget"] is False


async def test_an_estimate_keeps_nothing_and_asks_nobody():
    async with office(Reply("Hello.")) as desk:
        session = await desk.session()
        assert (await estimate(desk, session, requestId="one")).status_code == 200
        assert (await desk.kept(session), desk.sim.accepted) == ([], 0)
        assert (await desk.ask(session, "Hello?", requestId="one")).status_code == 202
        await desk.rest()


async def test_a_longer_message_costs_more():
    async with office() as desk:
        session = await desk.session()
        short, long = [(await estimate(desk, session, "x " * n)).json() for n in (1, 5000)]
        assert long["inputTokens"] > short["inputTokens"] + 2000
        assert long["estimatedCostUsd"] > short["estimatedCostUsd"]


async def test_an_estimate_says_that_a_budget_would_be_exceeded():
    async with office(budgets=(Budget(per="session", tokens=3000),)) as desk:
        session = await desk.session()
        told = [(await estimate(desk, session, "x " * n)).json() for n in (1, 9000)]
        assert [each["wouldExceedBudget"] for each in told] == [False, True]


async def test_a_model_without_a_price_has_an_unknown_cost():
    async with office(model="claude-without-price") as desk:
        told = (await estimate(desk, await desk.session())).json()
        assert told["estimatedCostUsd"] is None and told["inputTokens"] > 0


async def test_an_estimate_refuses_what_sending_refuses():
    async with office(secret=SECRET) as desk:
        session = await desk.session(ALICE)
        is_problem(await estimate(desk, session, headers=BOB), 404, "not_found")
        is_problem(await estimate(desk, session, " ", ALICE), 400, "bad_input")
        is_problem(await estimate(desk, session, "x" * 300_000, ALICE), 413, "too_large")


async def test_an_estimate_is_given_while_a_turn_waits():
    call = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
    async with office(call) as desk:
        session, (question,) = await desk.asked()
        before = await desk.kept(session)
        assert (await estimate(desk, session)).json()["inputTokens"] > 0
        assert await desk.kept(session) == before
        assert await desk.pending() == [question]


async def test_a_budget_for_a_message_that_does_not_think_is_refused():
    async with served() as server:
        session = await server.session()
        body = {"message": "Hi", "thinkingBudget": 60_000}
        for route in ("messages", "estimate"):
            refused = await server.http.post(f"/api/sessions/{session}/{route}", json=body)
            is_problem(refused, 400, "bad_input")
            assert "enableThinking" in refused.json()["detail"]


async def test_a_page_with_a_switch_sends_its_budget_while_that_is_off():
    async with served() as server:
        session = await server.session()
        body = {"message": "Hi", "enableThinking": False, "thinkingBudget": 60_000}
        answer = await server.http.post(f"/api/sessions/{session}/messages", json=body)
        assert answer.status_code == 202
