"""A stop that comes late: it stops the turn that was meant, and not the next one."""

import asyncio
from types import SimpleNamespace

import pytest
from test_nodes import ASKS, USER, WAITS, nodes, up_to

from turnlog.events import kinds as k
from turnlog.ports import User
from turnlog.transports.mcp.agents import AgentTools
from turnlog.transports.protocols.chatkit.server import Context, Server


async def runs(both, message="Go"):
    """A turn of the first node whose tool waits."""
    turn = await both.ask(both.one, message)
    await up_to(both.one.follow_turn(USER, turn), k.ToolUse)
    return turn


async def ends(both, turn):
    """How it ends, when its tool does."""
    both.go.set()
    seen = await up_to(both.one.follow_turn(USER, turn), k.Complete)
    both.go.clear()
    return seen[-1].event.reason


async def test_a_stop_that_arrives_late_does_not_stop_the_next_turn(monkeypatch):
    async with nodes(*WAITS, *WAITS) as both:
        turn = await runs(both)
        late, signal = [], both.two.bus.signal
        monkeypatch.setattr(both.two.bus, "signal", lambda *told: late.append(told))
        stopping = asyncio.create_task(both.two.stop_turn(USER, both.session))
        while not late:
            await asyncio.sleep(0)
        await ends(both, turn)
        following = await runs(both, "Next")
        for told in late:
            signal(*told)
        assert await stopping is False  # it had ended by itself
        assert await ends(both, following) == "success"


async def test_a_stop_of_a_turn_that_is_over_leaves_the_one_that_runs_alone():
    async with nodes(*WAITS, *WAITS) as both:
        turn = await runs(both)
        await ends(both, turn)
        following = await runs(both, "Next")
        for node in (both.one, both.two):
            assert await node.stop_turn(USER, both.session, turn.turn_id) is False
        assert await ends(both, following) == "success"


async def test_a_stop_of_a_turn_that_is_over_leaves_the_one_that_waits_alone(monkeypatch):
    """It ends, and the next one asks a person, between two looks of whoever stops it."""
    async with nodes(*WAITS, *ASKS) as both:
        turn = await runs(both)
        monkeypatch.setattr(both.two.bus, "signal", lambda *told: None)
        heal, looks = both.two._turns.stop.__self__._heal, []

        async def next_one_waits(session_id):
            looks.append(session_id)
            await ends(both, turn)
            following = await both.ask(both.one, "Next")
            await up_to(both.one.follow_turn(USER, following), k.ApprovalRequested)
            await both.one._turns.rest(following.turn_id)
            await heal(session_id)

        monkeypatch.setattr(both.two._turns.stop.__self__, "_heal", next_one_waits)
        assert await both.two.stop_turn(USER, both.session) is False
        assert (await both.two.store.newest_turn(USER, both.session)).state == "waiting"
        assert len(looks) == 1


async def test_a_stream_of_chatkit_that_is_given_up_late_stops_its_own_turn():
    async with nodes(*WAITS, *WAITS) as both:
        turn = await runs(both)
        await ends(both, turn)
        following = await runs(both, "Next")
        chatkit = Server()
        context = Context(both.one, User(id=USER), turn)
        await chatkit.handle_stream_cancelled(SimpleNamespace(id=both.session), [], context)
        await asyncio.gather(*chatkit._stopping)
        assert await ends(both, following) == "success"


async def test_a_call_of_mcp_that_is_taken_back_late_stops_its_own_turn():
    """The task that stops it comes when its turn is over, and the next one runs."""
    async with nodes(*WAITS, *WAITS) as both:
        begun = asyncio.get_running_loop().create_future()
        begun.set_result(await runs(both))
        await ends(both, begun.result())
        following = await runs(both, "Next")
        await AgentTools(both.one, [])._stop(User(id=USER), begun)
        assert await ends(both, following) == "success"


@pytest.mark.parametrize("names_its_turn", [True, False])
async def test_a_turn_can_be_stopped_by_its_name_and_by_an_older_node(names_its_turn):
    async with nodes(*WAITS) as both:
        turn = await runs(both)
        if names_its_turn:
            assert await both.two.stop_turn(USER, both.session, turn.turn_id) is True
        else:
            both.two.bus.signal(both.session, "stop")
        seen = await up_to(both.one.follow_turn(USER, turn), k.Complete)
        assert seen[-1].event.reason == "cancelled"
