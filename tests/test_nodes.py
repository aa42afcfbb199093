"""Two nodes on one store and one bus: whichever is asked, the one that runs the turn acts."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from turnlog import Agent, Settings, Turnlog, create_app, tool
from turnlog.buses.memory import MemoryBus
from turnlog.errors import AlreadyDecided, Busy, NotFound
from turnlog.events import kinds as k
from turnlog.ports import Decision, Question
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire
from turnlog.turns.people import decisions
from turnlog.turns.waiting import line, stopping

USER = "ann"
WAITS = [Reply("Let me see.", ToolCall("wait")), Reply("Done.")]
ASKS = [Reply(ToolCall("pay", id="toolu_1")), Reply("Paid.")]


@tool(approval="always")
async def pay() -> str:
    """A person is asked first."""
    return "paid"


@dataclass
class Nodes:
    one: Turnlog
    two: Turnlog
    go: asyncio.Event  # lets the tool `wait` end
    session: str = ""

    async def ask(self, node, message="Go", **more):
        return await node.start_turn(USER, self.session, Question(message=message, **more))

    async def kept(self):
        evidence = await self.one.store.evidence(self.session)
        assert prove(evidence).problems == []
        return [row.type for row in evidence.log]


@asynccontextmanager
async def nodes(*entries):
    go = asyncio.Event()

    @tool(writes=False)
    async def wait() -> str:
        """Waits until the test lets it go."""
        await go.wait()
        return "went"

    async with SimulatedClaude(*entries, pace=0).serve() as url, asyncio.timeout(60):
        settings = Settings(api_key="k", base_url=url, grace=5.0)
        stores = [MemoryStore("one")]
        stores.append(MemoryStore("two", stores[0]))
        buses = [MemoryBus(wire.encode)]
        buses.append(MemoryBus(wire.encode, beside=buses[0]))
        one, two = [
            create_app([Agent("a", tools=[wait, pay])], settings=settings, store=store, bus=bus)
            for store, bus in zip(stores, buses, strict=True)
        ]
        async with one, two:
            both = Nodes(one, two, go)
            both.session = (await one.create_session(USER)).id
            yield both
            go.set()


def make_deaf(node):
    """No signal reaches this node any more."""
    del node.bus._listeners[node.bus._line]


async def up_to(batches, kind):
    """What is shown up to the first event of this kind."""
    seen = []
    async for batch in batches:
        seen += [live.entry for live in batch]
        if any(isinstance(entry.event, kind) for entry in seen):
            return seen
    raise AssertionError("the stream ended")


def types(seen):
    return [entry.event.type for entry in seen if not entry.event.type.endswith("_chunk")]


async def test_a_turn_can_be_stopped_at_any_node():
    async with nodes(*WAITS, Reply("Yes.")) as both:
        turn = await both.ask(both.one)
        await up_to(both.one.follow_turn(USER, turn), k.ToolUse)
        assert await both.two.stop_turn(USER, both.session) is True
        assert (await both.kept())[-2:] == ["tool_result", "message"]
        assert await both.two.stop_turn(USER, both.session) is False
        await both.ask(both.two, "Next")  # the session is free


async def test_somebody_else_stops_nothing():
    async with nodes(*WAITS) as both:
        turn = await both.ask(both.one)
        with pytest.raises(NotFound):
            await both.two.stop_turn("bob", both.session)
        both.go.set()
        seen = await up_to(both.two.follow_turn(USER, turn), k.Complete)
        assert seen[-1].event.reason == "success"


async def test_a_turn_that_waits_can_be_stopped_at_any_node():
    async with nodes(*ASKS) as both:
        turn = await both.ask(both.one)
        await up_to(both.two.follow_turn(USER, turn), k.ApprovalRequested)
        assert await both.two.stop_turn(USER, both.session) is True
        assert (await up_to(both.one.follow_turn(USER, turn), k.Complete))[-1].event.reason == (
            "cancelled"
        )


async def test_a_stop_ends_the_turn_of_a_node_that_died():
    async with nodes(*WAITS) as both:
        turn = await both.ask(both.one)
        await up_to(both.one.follow_turn(USER, turn), k.ToolUse)
        make_deaf(both.one)
        await both.one.store.close()  # for the others it is dead
        assert await both.two.stop_turn(USER, both.session) is True
        seen = await up_to(both.two.follow_turn(USER, turn), k.Complete)
        assert seen[-1].event.reason == "cancelled"


async def test_a_stop_does_not_claim_what_did_not_happen(monkeypatch):
    monkeypatch.setattr(stopping, "WITHIN", 0)
    async with nodes(*WAITS) as both:
        await both.ask(both.one)
        make_deaf(both.one)
        with pytest.raises(Busy):
            await both.two.stop_turn(USER, both.session)
        both.go.set()


async def lost(both):
    """A turn of the first node, which hangs; the second one has taken it over, and stopped it."""
    turn = await both.ask(both.one)
    await up_to(both.one.follow_turn(USER, turn), k.ToolUse)
    make_deaf(both.one)
    await both.one.store.close()  # for the others it is dead
    await both.two.stop_turn(USER, both.session)
    return turn


async def test_a_stop_at_a_node_that_lost_its_turn_claims_nothing():
    async with nodes(*WAITS) as both:
        turn = await lost(both)
        await both.one.store.open()  # it comes back, and still believes in its turn
        assert both.one._turns.live(turn.turn_id) is not None
        assert await both.one.stop_turn(USER, both.session) is False
        assert both.one._turns.live(turn.turn_id) is None


async def test_a_turn_is_seen_at_every_node_as_it_happens():
    async with nodes(*WAITS) as both:
        turn = await both.ask(both.one)
        here, there = both.one.follow_turn(USER, turn), both.two.follow(USER, both.session, None)
        assert types(await up_to(here, k.ToolUse)) == types(await up_to(there, k.ToolUse))
        both.go.set()
        rest = await up_to(here, k.Complete)
        assert types(await up_to(there, k.Complete)) == types(rest)


async def test_a_request_that_is_repeated_at_another_node_is_the_same_turn():
    async with nodes(*WAITS) as both:
        turn = await both.ask(both.one, request_id="r")
        again = await both.ask(both.two, request_id="r")
        assert again == turn
        both.go.set()
        here = await up_to(both.one.follow_turn(USER, turn), k.Complete)
        there = await up_to(both.two.follow_turn(USER, again), k.Complete)
        assert [entry.envelope.event_id for entry in here if entry.seq is not None] == [
            entry.envelope.event_id for entry in there if entry.seq is not None
        ]
        assert (await both.kept()).count("tool_use") == 1


async def test_a_question_waits_in_line_for_a_turn_of_another_node(monkeypatch):
    monkeypatch.setattr(line, "LOOKS_EVERY", 60.0)  # it is told, and does not look by itself
    async with nodes(*WAITS, Reply("Yes.")) as both:
        await both.ask(both.one)
        in_line = asyncio.create_task(both.ask(both.two, "Next", on_busy="enqueue"))
        await asyncio.sleep(0)  # let it begin to wait
        both.go.set()
        seen = await up_to(both.two.follow_turn(USER, await in_line), k.Complete)
        assert seen[0].event.content == "Next"


async def test_a_decision_at_another_node_goes_on_with_the_turn():
    async with nodes(*ASKS) as both:
        turn = await both.ask(both.one)
        asking = both.one.follow_turn(USER, turn)
        await up_to(asking, k.ApprovalRequested)
        await both.one._turns.rest(turn.turn_id)
        (approval,) = await both.two.store.list_approvals(USER, status="pending")
        await both.two.answer_approval(USER, approval.id, Decision(approved=True))
        assert (await up_to(asking, k.Complete))[-2].event.content == "Paid."


async def test_a_program_at_another_node_waits_for_the_turn_that_it_repeats():
    async with nodes(*WAITS) as both:
        turn = await both.ask(both.one, request_id="r")
        again = asyncio.create_task(
            both.two.run_turn("Go", session_id=both.session, user_id=USER, request_id="r")
        )
        await up_to(both.two.follow_turn(USER, turn), k.ToolUse)
        both.go.set()
        result = await again
        assert (result.turn_id, result.text, result.success) == (turn.turn_id, "Done.", True)


async def test_a_program_at_another_node_is_told_that_a_person_must_decide():
    async with nodes(*ASKS) as both:
        await both.ask(both.one, request_id="r")
        result = await both.two.run_turn(
            "Go", session_id=both.session, user_id=USER, request_id="r"
        )
        assert len(result.waiting) == 1


async def test_a_node_that_lost_its_turn_shows_no_end_of_it():
    async with nodes(*WAITS) as both:
        await lost(both)
        both.go.set()
        await both.one.rest()
        shown = both.two.bus.channels[both.session].events
        assert [live.entry.event.type for live in shown][-2:] == ["message", "complete"]


PAYS = [Reply(ToolCall("wait"), ToolCall("pay", id="toolu_1")), Reply("Paid.")]


async def asked_beside_a_tool(both):
    """A turn of the first node that has asked, and has a tool running."""
    turn = await both.ask(both.one)
    asking = both.one.follow_turn(USER, turn)
    await up_to(asking, k.ApprovalRequested)
    (approval,) = await both.two.store.list_approvals(USER, status="pending")
    return asking, approval.id


def has_no_holes(seen):
    """Whether the events stand side by side on screen."""
    indexes = [entry.envelope.index for entry in seen]
    return indexes == list(range(indexes[0], indexes[0] + len(seen)))


async def test_a_decision_at_another_node_is_taken_while_a_tool_still_runs():
    async with nodes(*PAYS) as both:
        asking, approval = await asked_beside_a_tool(both)
        taken = await both.two.answer_approval(USER, approval, Decision(approved=True, reason="ok"))
        assert (taken.status, taken.reason, both.go.is_set()) == ("approved", "ok", False)
        both.go.set()
        seen = await up_to(asking, k.Complete)
        assert [e.event.result for e in seen if isinstance(e.event, k.ToolResult)] == [
            "went",
            "paid",
        ]
        assert (await both.kept()).count("approval_resolved") == 1
        assert has_no_holes(seen)


async def test_a_decision_that_comes_again_while_a_tool_runs_takes_no_place_on_screen():
    async with nodes(*PAYS) as both:
        asking, approval = await asked_beside_a_tool(both)
        await both.one.answer_approval(USER, approval, Decision(approved=True))
        for _ in range(3):
            with pytest.raises(AlreadyDecided):
                await both.one.answer_approval(USER, approval, Decision(approved=True))
        both.go.set()
        assert has_no_holes(await up_to(asking, k.Complete))


async def test_of_many_decisions_at_two_nodes_one_counts():
    async with nodes(*PAYS) as both:
        asking, approval = await asked_beside_a_tool(both)
        answers = await asyncio.gather(
            *(
                node.answer_approval(USER, approval, Decision(approved=True))
                for node in (both.two, both.one, both.two, both.two)
            ),
            return_exceptions=True,
        )
        kinds = sorted(type(answer).__name__ for answer in answers)
        assert kinds == ["AlreadyDecided"] * 3 + ["Approval"]
        both.go.set()
        seen = await up_to(asking, k.Complete)
        assert (await both.kept()).count("approval_resolved") == 1
        assert has_no_holes(seen)


def counted(monkeypatch, whose, name):
    """One item for each call."""
    calls, call = [], getattr(whose, name)

    def count(*args):
        calls.append(args)
        return call(*args)

    monkeypatch.setattr(whose, name, count)
    return calls


async def test_a_decision_that_nobody_takes_is_busy(monkeypatch):
    monkeypatch.setattr(decisions, "TAKES_WITHIN", 0.05)
    async with nodes(*PAYS) as both:
        asking, approval = await asked_beside_a_tool(both)
        make_deaf(both.one)
        tells = counted(monkeypatch, both.two._turns.telling, "tell")
        looks = counted(monkeypatch, both.two.store, "claim_waiting")
        with pytest.raises(Busy):
            await both.two.answer_approval(USER, approval, Decision(approved=True))
        assert len(looks) == decisions.TRIES + len(tells)  # whoever has told it looks once
        both.go.set()


async def test_a_decision_whose_signal_is_lost_is_kept_when_the_turn_waits():
    async with nodes(*PAYS) as both:
        asking, approval = await asked_beside_a_tool(both)
        make_deaf(both.one)
        answer = both.two.answer_approval(USER, approval, Decision(approved=True))
        deciding = asyncio.create_task(answer)
        both.go.set()
        assert (await deciding).status == "approved"
        await up_to(asking, k.Complete)
        assert (await both.kept()).count("approval_resolved") == 1
