"""A server that is being stopped takes up nothing: what waits in line is left to another one."""

import asyncio

import pytest
from turns.test_line import USER, Place, claude

from turnlog.errors import Closing, NotStored
from turnlog.ports import Question
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore

__all__ = ["claude"]  # a fixture


def begun(log):
    return [event.content for event in (e.event for e in log) if event.type == "user_message_sent"]


@pytest.mark.parametrize("end", ["end_turns", "__aexit__"])
async def test_a_server_that_looks_at_the_lines_while_it_is_stopped_begins_no_message(claude, end):
    """It has found two of them when the signal to stop comes."""
    place = Place(claude)
    node = await place.node(MemoryStore())
    sessions = await place.left_in_line(node)
    looks, go, sessions_in_line = asyncio.Event(), asyncio.Event(), node.store.line.sessions

    async def found():
        there = await sessions_in_line()
        looks.set()
        await go.wait()
        return there

    node.store.line.sessions = found
    looking = asyncio.create_task(node._healer.look())
    await looks.wait()
    ending = asyncio.create_task(getattr(node, end)())
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(looking, ending)
    for session in sessions:
        assert len(await node.store.line.turn_ids(session)) == 1
        assert begun(await node.store.read(USER, session)) == ["wait"]
    await node.__aexit__()


async def test_a_message_whose_turn_has_come_while_the_server_is_stopped_stays_in_line(
    claude, tmp_path
):
    """Its line is looked at when the signal to stop comes."""
    place = Place(claude)
    node = await place.node(SqliteStore(tmp_path))
    await place.ask(node, "wait")
    in_line = await node.accept(USER, place.session, Question(message="next", on_busy="enqueue"))
    waits = asyncio.create_task(node.begun(in_line))
    looks, go, look = asyncio.Event(), asyncio.Event(), node.store.line.turn_ids

    async def look_late(session_id):
        there = await look(session_id)
        if (await node.store.get_session(USER, session_id)).state == "idle":
            looks.set()
            await go.wait()
        return there

    await asyncio.sleep(0)
    node.store.line.turn_ids = look_late
    await node.stop_turn(USER, place.session)
    await looks.wait()
    ending = asyncio.create_task(node.end_turns())
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(Closing):
        await waits
    await ending
    assert await look(place.session) == [in_line.turn_id]
    assert begun(await node.store.read(USER, place.session)) == ["wait"]
    await node.__aexit__()


async def test_a_turn_that_is_being_written_when_the_server_ends_is_ended_in_the_log(claude):
    """Without a grace period: nobody has to find it unfinished at the next start."""
    place = Place(claude)
    node = await place.node(MemoryStore())
    writes, go, begin = asyncio.Event(), asyncio.Event(), node.store.begin_turn

    async def slowly(*given):
        writes.set()
        await go.wait()
        return await begin(*given)

    node.store.begin_turn = slowly
    asking = asyncio.create_task(place.ask(node, "Go"))
    await writes.wait()
    ending = asyncio.create_task(node.end_turns())
    await asyncio.sleep(0.05)  # it has come as far as it comes without the turn
    go.set()
    await ending
    log = [entry.event for entry in await node.store.read(USER, place.session)]
    assert [(log[0].content, log[-1].code)] == [("Go", "interrupted")]
    await asking
    await node.__aexit__()


async def test_a_store_that_does_not_answer_does_not_keep_the_server_from_ending(
    claude, monkeypatch
):
    monkeypatch.setattr("turnlog.turns.running_turns.WRITTEN_WITHIN", 0.05)
    place = Place(claude)
    node = await place.node(MemoryStore())
    writes, go = asyncio.Event(), asyncio.Event()

    async def hangs(*given):
        writes.set()
        await go.wait()
        raise NotStored("The database did not answer.")

    node.store.begin_turn = hangs
    asking = asyncio.create_task(place.ask(node, "Go"))
    await writes.wait()
    await node.end_turns()
    go.set()
    with pytest.raises(NotStored):
        await asking
    await node.__aexit__()


async def test_a_server_that_is_stopped_leaves_the_turns_of_a_dead_one_to_others(claude):
    place = Place(claude)
    node = await place.node(MemoryStore())
    await place.ask(node, "wait")
    claimed, claim = [], node.store.claim_abandoned

    async def claims(*where, **how):
        claimed.append(where)
        return await claim(*where, **how)

    node.store.claim_abandoned = claims
    await node.end_turns()
    await node._healer.look()
    assert claimed == []
    await node.__aexit__()
