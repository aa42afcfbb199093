"""Turns of dead processes are found without anybody asking."""

import asyncio

from turnlog import Agent, Settings, create_app
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.turns.healer import Healer


async def begun(store, name="s"):
    await store.create_session(s.new_session(name))
    return await store.begin_turn(s.new_turn(f"t-{name}", name), s.placed(s.asked()))


class Turns:
    """Stands in for the turns of a process: says when it was asked to heal, and may fail."""

    def __init__(self, *failures):
        self.asked = asyncio.Queue()
        self._failures = list(failures)

    async def heal(self):
        self.asked.put_nowait(None)
        if self._failures and (failure := self._failures.pop(0)):
            raise failure


async def test_it_looks_at_once_and_then_again_and_again():
    turns = Turns()
    async with asyncio.timeout(30), Healer(turns, every=0):
        for _ in range(5):
            await turns.asked.get()


async def test_it_looks_again_after_a_look_that_failed(caplog):
    turns = Turns(None, OSError("the disk is gone"))
    async with asyncio.timeout(30), Healer(turns, every=0):
        for _ in range(4):
            await turns.asked.get()
    assert caplog.text.count("could not be looked for") == 1


async def test_it_ends_with_the_server():
    turns = Turns()
    async with (healer := Healer(turns, every=0)):
        task = healer._task
    assert task.done()


async def test_a_turn_whose_process_died_meanwhile_is_ended():
    other = MemoryStore("other")
    await other.open()
    store = MemoryStore("ours", other)
    async with (app := create_app([Agent("assistant")], settings=Settings(), store=store)):
        await begun(other)
        healer = Healer(app._turns)
        await healer.look()
        assert (await store.evidence("s")).running == ["t-s"]  # the other one works on it
        await other.close()
        await healer.look()
        assert (await store.evidence("s")).running == []


async def test_where_nothing_is_open_nothing_is_written(tmp_path):
    store = SqliteStore(tmp_path)
    await store.open()
    turn = await begun(store)
    jobs = []
    change = store._change

    async def counted(work):
        jobs.append(work)
        return await change(work)

    store._change = counted
    assert await store.claim_abandoned(working_on={turn.id}) == []
    assert jobs == []
    assert [claimed.id for claimed in await store.claim_abandoned()] == [turn.id]
    assert len(jobs) == 1
    await store.close()
