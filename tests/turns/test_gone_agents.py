"""A message in line whose agent a server does not have: it waits for a server that has it."""

import pytest
from turns.test_line import USER, Place, claude

from turnlog import Agent, create_app
from turnlog.buses.memory import MemoryBus
from turnlog.errors import NotFound
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.transports import wire

__all__ = ["claude"]  # a fixture


class Elsewhere(Place):
    """Where servers have another agent than those before and after."""

    async def node_without_it(self, store):
        app = create_app(
            [Agent("b")], settings=self._settings, store=store, bus=MemoryBus(wire.encode)
        )
        await app.__aenter__()
        return app


async def test_a_message_in_line_waits_until_its_agent_is_there(claude, tmp_path, caplog):
    place = Elsewhere(claude)
    before = await place.node(SqliteStore(tmp_path))
    sessions = await place.left_in_line(before)
    await before.__aexit__()
    other = await place.node_without_it(SqliteStore(tmp_path))
    for _ in range(2):
        await other._healer.look()
    for session in sessions:
        assert len(await other.store.line.turn_ids(session)) == 1
    waiting = [record.getMessage() for record in caplog.records if "waits" in record.getMessage()]
    assert len(waiting) == len(sessions)  # each is told once, and not with every look
    assert all("'a'" in line for line in waiting)
    await other.__aexit__()
    after = await place.node(SqliteStore(tmp_path))
    for place.session in sessions:
        assert await place.asked(after, 2) == ["wait", "next"]
    await after.__aexit__()


async def test_whoever_sends_it_again_is_told_that_it_waits(claude, tmp_path):
    place = Elsewhere(claude)
    before = await place.node(SqliteStore(tmp_path))
    await place.ask(before, "wait")
    waits = place.enqueue(before, "next", request_id="r")
    await place.in_line(before, 1)
    await before.__aexit__()
    await waits_for_nothing(waits)
    other = await place.node_without_it(SqliteStore(tmp_path))
    with pytest.raises(NotFound, match="'a'.* in line .*stays there"):
        await place.ask(other, "next", request_id="r")
    assert len(await other.store.line.turn_ids(place.session)) == 1
    await other.__aexit__()
    after = await place.node(SqliteStore(tmp_path))
    again = await place.ask(after, "next", request_id="r")
    assert await place.asked(after, 2) == ["wait", "next"]
    assert (await after.store.newest_turn(USER, place.session)).id == again.turn_id
    await after.__aexit__()


async def waits_for_nothing(task):
    with pytest.raises(Exception, match="being stopped"):
        await task
