"""Writes of which nobody knows whether they took effect: said so, and settled by a person."""

import asyncio

from turnlog import Agent, tool
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET, as_user, is_problem, kept_events, scripted_app
from turnlog.testing.office import office
from turnlog.tools.tool import NotDone

DONE = Reply("Done.")
ALICE, BOB = as_user("alice"), as_user("bob")


def calls(name):
    return Reply(ToolCall(name, {"amount": 5}, "toolu_pay"))


async def doubts(desk, headers=None):
    return (await desk.http.get("/api/doubts", headers=headers)).json()["doubts"]


async def settle(desk, doubt, headers=None, **found):
    path = f"/api/sessions/{doubt['sessionId']}/doubts/{doubt['toolUseId']}"
    return await desk.http.post(path, json={"happened": True, **found}, headers=headers)


def results(events):
    return [event for event in events if isinstance(event, k.ToolResult)]


async def test_a_write_that_takes_too_long_is_in_doubt():
    async with office(calls("pay_late"), DONE) as desk:
        session, _ = await desk.asked()
        (result,) = results(await desk.kept(session))
        assert result.in_doubt and result.error.startswith("In doubt:")
        (doubt,) = await doubts(desk)
        assert (doubt["toolName"], doubt["args"]) == ("pay_late", {"amount": 5})
        assert desk.world.paid == [("late", 5)]


async def test_a_write_that_says_itself_that_it_failed_is_in_no_doubt():
    async with office(calls("pay_nobody"), DONE) as desk:
        session, _ = await desk.asked()
        (result,) = results(await desk.kept(session))
        assert (result.in_doubt, result.error) == (False, "There is nobody to pay.")
        assert await doubts(desk) == []


async def test_a_write_that_was_stopped_is_in_doubt():
    async with office(calls("pay_slowly")) as desk:
        session = await desk.session()
        await desk.ask(session)
        await desk.until(lambda: asyncio.sleep(0, desk.world.paid))
        await desk.http.post(f"/api/sessions/{session}/stop")
        (result,) = results(await desk.kept(session))
        assert result.in_doubt and "may or may not" in result.error
        assert len(await doubts(desk)) == 1


async def test_a_person_settles_a_doubt_once_and_the_model_is_told():
    async with office(calls("pay_late"), DONE, Reply("I see.")) as desk:
        session, _ = await desk.asked()
        (doubt,) = await doubts(desk)
        assert (await settle(desk, doubt, note="It is on the statement.")).status_code == 200
        is_problem(await settle(desk, doubt, happened=False), 404, "not_found")
        assert await doubts(desk) == []
        await desk.ask(session, "And now?")
        await desk.rest()
        told = desk.sim.requests[-1]["messages"][-1]["content"]
        assert "it took effect" in told[0]["text"] and "on the statement" in told[0]["text"]
        await desk.kept(session)


async def test_nobody_settles_what_is_somebody_elses():
    async with office(calls("pay_late"), DONE, secret=SECRET) as desk:
        await desk.asked(headers=ALICE)
        (doubt,) = await doubts(desk, ALICE)
        assert await doubts(desk, BOB) == []
        is_problem(await settle(desk, doubt, BOB), 404, "not_found")
        assert await doubts(desk, ALICE) == [doubt]


async def left_in_mid_write(reconcile):
    """A turn whose process died while its tool wrote; what the next process makes of it."""
    ran = []

    @tool(approval="never", reconcile=reconcile)
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)

    dead = MemoryStore("dead")
    await dead.open()
    await dead.create_session(s.new_session())
    turn = await dead.begin_turn(s.new_turn(), s.placed(s.asked()))
    call = s.call("toolu_1", "pay", amount=5)
    said = [s.said(call, stop="tool_use"), s.used("toolu_1", "pay", amount=5)]
    await dead.append(turn, s.placed(*said, first_index=1))
    await dead.start_tools(turn, [s.started("toolu_1", "pay", amount=5)])
    await dead.close()
    store = MemoryStore("living", dead)
    async with scripted_app(DONE, agents=[Agent("assistant", tools=[pay])], store=store) as (
        app,
        _,
    ):
        await asyncio.gather(*app._turns._live.tasks)
    events = await kept_events(store, "s")
    assert ran == []
    assert events[-1].content == "Done."
    return results(events)[0]


async def test_a_write_that_a_crash_cut_off_is_never_run_again():
    result = await left_in_mid_write(None)
    assert result.in_doubt and not result.success


async def test_a_tool_that_knows_tells_what_became_of_the_call():
    result = await left_in_mid_write(lambda args, context: f"paid {args['amount']}")
    assert (result.success, result.result) == (True, "paid 5")


async def test_a_tool_that_knows_tells_that_nothing_happened():
    def look(args, context):
        raise NotDone

    result = await left_in_mid_write(look)
    assert (result.success, result.in_doubt) == (False, False)
    assert "took no effect" in result.error


async def test_a_tool_that_cannot_tell_leaves_it_in_doubt():
    def look(args, context):
        raise OSError("/etc/secret")

    result = await left_in_mid_write(look)
    assert result.in_doubt and "secret" not in result.error
