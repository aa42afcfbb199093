"""A turn of which something was erased is not gone on with: what stands there is only shown."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.errors import ContentErased, Reused
from turnlog.events import kinds as k
from turnlog.events.rows.record import ERASED
from turnlog.pipeline.turn_state import resumed
from turnlog.ports import Decision, Question
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import client_of, is_problem, scripted_app
from turnlog.tools.tool import tool
from turnlog.transports.access.auth import LOCAL_USER as USER
from turnlog.turns.follow_ups import ClaimNotes


def erase(store, session, *numbers):
    log = store._log[session]
    for number in numbers:
        log[number] = log[number]._replace(body=ERASED, salt=ERASED)


@asynccontextmanager
async def waiting(*erased):
    """A turn of ten events that waits for a person; these of them were erased."""
    ran = []

    @tool(approval="always")
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(f"pay {amount}")
        return "paid"

    @tool(approval="never")
    async def book(what: str) -> str:
        """Book."""
        ran.append(f"book {what}")
        return "booked"

    @tool(writes=False)
    async def look(at: str) -> str:
        """Look."""
        ran.append(f"look {at}")
        return at

    replies = [
        Reply("I look.", ToolCall("look", {"at": "it"}), ToolCall("book", {"what": "it"})),
        Reply("I pay.", ToolCall("pay", {"amount": 5})),
        Reply("Done."),
    ]
    agents = [Agent("a", tools=[pay, book, look])]
    async with scripted_app(*replies, agents=agents) as (app, _):
        session = (await app.create_session(USER)).id
        await app.run_turn("Go", session_id=session, user_id=USER)
        types = [entry.event.type for entry in await app.store.read(USER, session)]
        assert types[2:4] == ["tool_use"] * 2 and types[4:6] == ["tool_result"] * 2
        assert types[6:] == ["message", "tool_use", "approval_requested"]
        assert sorted(ran) == ["book it", "look it"]
        erase(app.store, session, *erased)
        yield app, session
        assert sorted(ran) == ["book it", "look it"]  # nothing ran again, and `pay` never


async def was_ended(app, session):
    """With an error that says why; every call has one result at most, and nothing is open."""
    evidence = await app.store.evidence(session)
    assert (prove(evidence).problems, evidence.running) == ([], [])
    read = await app.store.read(USER, session)
    turn = [entry for entry in read if entry.turn_id == read[0].turn_id]
    error = next(entry.event for entry in turn if isinstance(entry.event, k.Error))
    assert (error.code, error.retryable) == ("content_erased", False)
    assert "erased" in error.error
    told = [entry.event for entry in turn if isinstance(entry.event, k.ToolResult)]
    lost = [entry for entry in turn if entry.erased == "tool_result"]
    assert len(told) + len(lost) == 3
    assert [result.tool_name for result in told if not result.success] == ["pay"]
    assert not any(result.in_doubt for result in told)
    assert [each.status for each in await app.store.list_approvals(USER)] == ["withdrawn"]


@pytest.mark.parametrize("args", [None, {"amount": 6}], ids=["as it is", "changed"])
@pytest.mark.parametrize("number", range(9))
async def test_approving_in_a_turn_with_an_erased_event_is_refused_and_ends_it(number, args):
    async with waiting(number) as (app, session), client_of(app) as http:
        (asked,) = await app.store.list_approvals(USER)
        answer = {"approved": True} | ({"args": args} if args else {})
        path = f"/api/approvals/{asked.id}"
        problem = await http.post(path, json=answer)
        assert "erased" in is_problem(problem, 409, "content_erased")
        await was_ended(app, session)
        is_problem(await http.post(path, json=answer), 409, "already_decided")


async def test_rejecting_is_refused_alike():
    async with waiting(8) as (app, session):
        (asked,) = await app.store.list_approvals(USER)
        with pytest.raises(ContentErased):
            await app.answer_approval(USER, asked.id, Decision(approved=False))
        await was_ended(app, session)


@pytest.mark.parametrize("number", [0, 4, 7, 8])
async def test_a_new_question_and_a_stop_end_such_a_turn(number):
    async with waiting(number) as (app, session):
        result = await app.run_turn("Next", session_id=session, user_id=USER)
        assert (result.error, result.text) == (None, "Done.")
        await was_ended(app, session)
    async with waiting(number) as (app, session):
        await app.stop_turn(USER, session)
        await was_ended(app, session)


# a process that died


async def left_behind(*events, begun=(), erased=(), suspended=False):
    """The store of a process that lives, beside one that died in mid-turn."""
    dead = MemoryStore("dead")
    await dead.open()
    await dead.create_session(s.new_session())
    turn = await dead.begin_turn(s.new_turn(request_id="r"), s.placed(s.asked("Hello")))
    await dead.append(turn, s.placed(*events, first_index=1))
    for call in begun:
        await dead.start_tools(turn, [s.started(call)])
    if suspended:
        await dead.suspend_turn(turn)
    erase(dead, "s", *erased)
    await dead.close()
    return MemoryStore("living", dead)


def app_on(store):
    return create_app([Agent("assistant")], settings=Settings(grace=0.0), store=store)


CALLS = (s.said(s.call("a"), s.call("b"), stop="tool_use"), s.used("a"), s.used("b"))


@pytest.mark.parametrize(
    ("events", "begun", "erased", "closed"),
    [
        ((*CALLS, s.result("a")), "b", [4], [("b", True)]),
        ((*CALLS, s.result("a")), "b", [3], [("b", True)]),  # its call is gone
        ((*CALLS, s.result("a")), "b", [0, 1, 2, 3, 4], [("b", True)]),
        ((*CALLS, s.result("a")), "", [4], []),  # `b` may be the one that was answered
        ((*CALLS, s.result("a")), "", [1], [("b", False)]),
        ((*CALLS, s.result("a"), s.result("b"), s.said("Done.")), "", [4], []),
    ],
)
async def test_a_turn_that_a_dead_process_left_ends_with_writes_in_doubt(
    events, begun, erased, closed
):
    store = await left_behind(*events, begun=begun, erased=erased)
    async with app_on(store):
        new = await store.read("alice", "s", after=len(events))
        results = [e.event for e in new if isinstance(e.event, k.ToolResult)]
        assert [(each.tool_use_id, each.in_doubt) for each in results] == closed
        assert new[-1].event.code == "content_erased"
        doubts = await store.list_doubts("alice")
        assert [each.tool_use_id for each in doubts] == list(begun)
        evidence = await store.evidence("s")
        assert (prove(evidence).problems, evidence.running) == ([], [])


async def test_a_question_that_expires_in_such_a_turn_ends_it():
    asked = (s.approval("ok-a", "a"), s.approval("ok-b", "b"))  # their time is over
    store = await left_behind(*CALLS, *asked, erased=[4], suspended=True)
    async with app_on(store), asyncio.timeout(60):
        while (await store.newest_turn("alice", "s")).state != "failed":
            await asyncio.sleep(0.01)
        approvals = await store.list_approvals("alice")
        assert [each.status for each in approvals] == ["withdrawn", "withdrawn"]


async def test_a_request_whose_message_was_erased_is_not_taken_for_another():
    store = await left_behind(s.said("Hi."), erased=[0])
    async with app_on(store) as app:
        with pytest.raises(Reused, match="was erased"):
            await app.start_turn("alice", "s", Question(message="Hello", request_id="r"))


@pytest.mark.parametrize(("erased", "notes"), [([], 1), ([0], 0)], ids=["whole", "erased"])
async def test_of_a_claim_nothing_is_said_where_its_ground_may_be_gone(erased, notes):
    store = MemoryStore()
    await store.open()
    await store.create_session(s.new_session())
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked("Delete the order 7.")))
    await store.append(turn, s.placed(s.said("I have deleted the order 7."), first_index=1))
    await store.finish_turn(turn)
    state = resumed(turn, await store.read("alice", "s"))
    erase(store, "s", *erased)
    async with ClaimNotes(store, lambda session, batch: None) as checking:
        checking.add(state)
        await checking.done()
    assert await store.last_number("alice", "s") == 1 + notes
