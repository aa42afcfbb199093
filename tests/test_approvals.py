"""Approvals: the first answer counts, once and in time, and nothing else ever runs a write."""

import asyncio
from functools import reduce

import pytest

from turnlog.errors import AlreadyDecided
from turnlog.events import kinds as k
from turnlog.events.content import hash_of
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET, as_user, is_problem
from turnlog.testing.office import office
from turnlog.turns.live_turn import LiveTurn

PAY = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
DONE = Reply("Done.")
ALICE, BOB = as_user("alice"), as_user("bob")


def refusals(events):
    return [event.why for event in events if isinstance(event, k.DecisionRefused)]


async def test_a_person_is_told_what_they_are_asked_to_allow():
    async with office(PAY) as desk:
        session, (asked,) = await desk.asked()
        assert (asked["description"], asked["args"]) == ("Pay 5 to Bob", {"amount": 5})
        assert asked["sessionId"] == session and asked["status"] == "pending"
        assert asked["argsHash"] == hash_of({"amount": 5})
        assert desk.world.paid == []


async def test_a_person_is_not_shown_whom_the_model_wished_to_act_for():
    """It is dropped before the call runs: so it is not among what is allowed."""
    wishes = {"amount": 5, "user_id": "bob", "USER-ID": "bob"}
    async with office(Reply(ToolCall("pay", wishes, "toolu_pay")), DONE) as desk:
        session, (asked,) = await desk.asked()
        assert (asked["args"], asked["argsHash"]) == ({"amount": 5}, hash_of({"amount": 5}))
        assert "bob" not in asked["description"]
        await desk.answer(asked)
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]
        await desk.kept(session)


async def test_an_allowed_call_runs_once_and_the_turn_goes_on():
    async with office(PAY, DONE) as desk:
        session, (asked,) = await desk.asked()
        decided = (await desk.answer(asked, reason="Fine.")).json()
        assert (decided["status"], decided["decidedBy"]) == ("approved", "local")
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]
        assert (await desk.kept(session))[-1].content == "Done."
        assert await desk.pending() == []


@pytest.mark.parametrize("first", [True, False])
async def test_the_second_answer_is_refused_and_recorded(first):
    async with office(PAY, DONE) as desk:
        session, (asked,) = await desk.asked()
        assert (await desk.answer(asked, approved=first)).status_code == 200
        for again in (True, False):
            is_problem(await desk.answer(asked, approved=again), 409, "already_decided")
        await desk.rest()
        assert len(desk.world.paid) == first
        assert len(refusals(await desk.kept(session))) == 2


async def test_of_many_clicks_at_once_one_counts():
    async with office(PAY, DONE) as desk:
        session, (asked,) = await desk.asked()
        answers = await asyncio.gather(*(desk.answer(asked) for _ in range(10)))
        await desk.rest()
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
        assert desk.world.paid == [("Bob", 5)]
        await desk.kept(session)


async def test_a_late_answer_is_refused():
    async with office(PAY, DONE, approval_timeout=0.05) as desk:
        session = await desk.session()
        await desk.ask(session)
        asked = await desk.until(lambda: desk.pending(status="expired"))
        is_problem(await desk.answer(asked[0]), 409, "already_decided")
        await desk.rest()
        assert desk.world.paid == []
        said = [e.content for e in await desk.kept(session) if isinstance(e, k.Message)]
        assert said[-1] == "Done."


async def test_a_forged_answer_finds_nothing():
    async with office(PAY) as desk:
        session, _ = await desk.asked()
        before = await desk.kept(session)
        is_problem(await desk.answer({"id": "appr_forged"}), 404, "not_found")
        assert await desk.kept(session) == before


async def test_nobody_answers_for_somebody_else():
    async with office(PAY, secret=SECRET) as desk:
        session, (asked,) = await desk.asked(headers=ALICE)
        assert await desk.pending(BOB, status=None) == []
        is_problem(await desk.answer(asked, BOB), 404, "not_found")
        (still,) = await desk.pending(ALICE)
        assert still == asked and desk.world.paid == []


async def test_edited_arguments_run_under_their_own_hash():
    async with office(PAY, DONE) as desk:
        session, (asked,) = await desk.asked()
        decided = (await desk.answer(asked, args={"amount": 3, "to": "Eve"})).json()
        await desk.rest()
        assert decided["argsHash"] == hash_of({"amount": 3, "to": "Eve"}) != asked["argsHash"]
        assert desk.world.paid == [("Eve", 3)]
        assert (asked["description"], decided["description"]) == ("Pay 5 to Bob", "Pay 3 to Eve")
        told = desk.sim.requests[-1]["messages"][-1]["content"][0]["content"]
        assert "The user changed the arguments" in told and "Eve" in told
        await desk.kept(session)


async def test_arguments_that_do_not_fit_are_refused_and_the_question_stays():
    async with office(PAY) as desk:
        _, (asked,) = await desk.asked()
        answer = await desk.answer(asked, args={"amount": "much"})
        assert "amount" in is_problem(answer, 400, "bad_input")
        assert await desk.pending() == [asked]


UNFIT_ARGS = [
    {"amount": 3, "to": "Eve", "user_id": "bob"},
    {"amount": 3, "to": "Eve", "USER-ID": "bob"},
    {"amount": 3, "to": "E\0ve"},
    {"amount": 3, "to": reduce(lambda inner, _: [inner], range(100), "Eve")},
]


@pytest.mark.parametrize("args", UNFIT_ARGS)
async def test_an_edit_sets_neither_who_acts_nor_what_cannot_be_kept(args):
    async with office(PAY) as desk:
        _, (asked,) = await desk.asked()
        is_problem(await desk.answer(asked, args=args), 400, "bad_input")
        is_problem(await desk.answer(asked, approved=False, reason="no\0"), 400, "bad_input")
        assert await desk.pending() == [asked] and desk.world.paid == []


async def test_a_reason_reaches_the_model():
    async with office(PAY, DONE) as desk:
        _, (asked,) = await desk.asked()
        await desk.answer(asked, approved=False, reason="We paid already.")
        await desk.rest()
        (block,) = desk.sim.requests[-1]["messages"][-1]["content"]
        assert block["is_error"] and "User rejected" in block["content"]
        assert "We paid already." in block["content"]


async def test_a_new_message_withdraws_what_waits():
    async with office(PAY, DONE) as desk:
        session, (asked,) = await desk.asked()
        assert (await desk.ask(session, "Never mind.")).status_code == 202
        await desk.rest()
        (withdrawn,) = await desk.pending(status="withdrawn")
        assert withdrawn["id"] == asked["id"]
        assert withdrawn["reason"] == "The user sent another message instead."
        is_problem(await desk.answer(asked), 409, "already_decided")
        events = await desk.kept(session)
        assert desk.world.paid == [] and [e.type for e in events][-2:] != ["error"]


async def test_a_message_in_line_waits_for_the_decision():
    first = Reply(ToolCall("pay_slowly", {"amount": 1}), ToolCall("pay", {"amount": 5}))
    async with office(first, DONE, Reply("Later.")) as desk:
        session = await desk.session()
        await desk.ask(session)
        asked = await desk.until(desk.pending)
        in_line = await desk.ask(session, "Next", onBusy="enqueue")
        assert (in_line.status_code, in_line.json()["place"]) == (202, 1)
        desk.world.go.set()
        await desk.rest()
        await desk.answer(asked[0])

        async def said():
            texts = [e.content for e in await desk.kept(session) if isinstance(e, k.Message)]
            return texts if texts[-1] == "Later." else None

        assert (await desk.until(said))[-2:] == ["Done.", "Later."]


async def test_the_same_request_while_it_waits_shows_the_same_turn():
    async with office(PAY) as desk:
        session = await desk.session()
        first = (await desk.ask(session, requestId="r")).json()
        await desk.rest()
        again = (await desk.ask(session, requestId="r")).json()
        assert again == first
        assert len(await desk.pending()) == 1


async def test_a_program_sees_that_the_turn_waits():
    async with office(PAY, DONE) as desk:
        result = await desk.app.run_turn("Pay")
        assert (result.success, len(result.waiting)) == (False, 1)
        await desk.app.answer_approval("local", result.waiting[0], Decision(approved=True))
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]


async def test_calls_that_cannot_run_are_not_worth_a_question():
    bad = Reply(ToolCall("pay", {"amount": "x"}), ToolCall("nothing"))
    async with office(bad, DONE) as desk:
        session, pending = await desk.asked()
        assert pending == []
        results = [e for e in await desk.kept(session) if isinstance(e, k.ToolResult)]
        assert [r.success for r in results] == [False, False]


@pytest.mark.parametrize(("policy", "asks"), [("never", False), ("always", True)])
async def test_the_server_sets_what_holds_for_all(policy, asks):
    async with office(PAY, DONE, approval=policy) as desk:
        _, pending = await desk.asked()
        assert bool(pending) == asks


async def test_what_waits_survives_a_restart():
    store = MemoryStore()
    async with office(PAY, store=store) as desk:
        session, (asked,) = await desk.asked()
    async with office(DONE, store=store) as desk:
        assert await desk.pending() == [asked]
        await desk.answer(asked)
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]
        assert (await desk.kept(session))[-1].content == "Done."


async def test_what_expired_while_the_server_was_down_is_told_to_the_model():
    store = MemoryStore()
    async with office(PAY, store=store, approval_timeout=0.01) as desk:
        desk.app._decisions._watching.cancel()
        session, _ = await desk.asked()
    async with office(DONE, store=store) as desk:
        (expired,) = await desk.until(lambda: desk.pending(status="expired"))
        await desk.rest()
        assert (await desk.kept(session))[-1].content == "Done."
        with pytest.raises(AlreadyDecided):
            await desk.app.answer_approval("local", expired["id"], Decision(approved=True))
        assert desk.world.paid == []


async def test_a_decision_waits_for_a_turn_to_begin_and_not_for_its_end():
    live, delivered = LiveTurn("t", "s", "alice"), []
    deciding = asyncio.create_task(live.takes(k.TurnResumed()))
    await asyncio.sleep(0)

    async def deliver(event):
        delivered.append(event)

    live.begin(deliver)
    async with asyncio.timeout(60):
        assert await deciding
    assert delivered == [k.TurnResumed()]
