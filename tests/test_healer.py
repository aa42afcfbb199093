"""Turns of dead processes are found without anybody asking."""

import asyncio
import sys

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.events.rows.record import stamped
from turnlog.simulator import Reply, SimulatedClaude
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

    async def look_around(self):
        self.asked.put_nowait(None)
        if self._failures and (failure := self._failures.pop(0)):
            raise failure

    def leave(self):
        """It is told that the process ends."""


async def test_it_looks_again_and_again():
    turns = Turns()
    async with asyncio.timeout(60), Healer(turns, every=0):
        for _ in range(5):
            await turns.asked.get()


async def test_it_looks_again_after_a_look_that_failed(caplog):
    turns = Turns(OSError("the disk is gone"))
    async with asyncio.timeout(60), Healer(turns, every=0):
        for _ in range(4):
            await turns.asked.get()
    assert caplog.text.count("could not be looked for") == 1


async def test_what_is_being_healed_when_the_server_stops_is_healed_first():
    class Slow(Turns):
        healed = 0

        async def look_around(self):
            await super().look_around()
            await asyncio.sleep(0)
            self.healed += 1

    turns = Slow()
    async with asyncio.timeout(60), (healer := Healer(turns, every=0)):
        await turns.asked.get()
    assert (turns.healed, healer._task.done()) == (1, True)


async def test_an_app_heals_by_itself_while_it_is_open():
    other = MemoryStore("other")
    await other.open()
    ended = asyncio.Event()

    class Store(MemoryStore):
        async def append(self, turn, events, complete=None):
            number = await super().append(turn, events, complete)
            ended.set()
            return number

    app = create_app([Agent("assistant")], settings=Settings(), store=Store("ours", other))
    app._healer._every = 0
    async with asyncio.timeout(60), app:
        await begun(other)
        await other.close()
        await ended.wait()
        assert (await app.store.evidence("s")).running == []


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


HOLDER = """
import asyncio, sys
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

async def main(folder, session):
    store = SqliteStore(folder)
    await store.open()
    await store.begin_turn(s.new_turn("held", session, "local"), s.placed(s.asked()))
    print("held", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_a_living_server_ends_the_turn_of_a_process_that_was_killed(tmp_path):
    async with SimulatedClaude(Reply("Yes."), pace=0).serve() as url:
        settings = Settings(api_key="k", base_url=url, data=str(tmp_path))
        async with (app := create_app([Agent("a")], settings=settings)):
            session = (await app.create_session("local")).id
            holder = await asyncio.create_subprocess_exec(
                sys.executable, "-c", HOLDER, str(tmp_path), session,
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert await holder.stdout.readline() == b"held\n"
            await app._healer.look()
            assert (await app.store.evidence(session)).running == ["held"]
            holder.kill()
            await holder.wait()
            assert (await app.run_turn("Go on", session_id=session)).success
            log = [stamped(row) for row in (await app.store.evidence(session)).log]
    held = [entry.event.type for entry in log if entry.turn_id == "held"]
    assert held == ["user_message_sent", "error"]
