"""The handle of a running turn: whenever it is stopped, it ends once, with what stopped it."""

import asyncio
import gc

import pytest

from turnlog.errors import TimedOut
from turnlog.simulator import Reply
from turnlog.testing.apps import STREAM, served
from turnlog.turns.live_turn import LiveTurn

FOR_EVER = 3600.0
WHY = ValueError("because")


async def ended(work, *, limit=FOR_EVER, before=None):
    """What the turn ends with. Its end awaits something, as every end does."""
    live, ends = LiveTurn("t", "s", "alice"), []
    live.stop(before) if before else None

    async def end(failure):
        await asyncio.sleep(0)
        ends.append(failure)

    await live.run(lambda: work(live), end, limit)
    (failure,) = ends
    return failure


async def test_what_the_work_raises_ends_the_turn():
    async def fails(live):
        raise WHY

    async def works(live):
        await asyncio.sleep(0)

    assert (await ended(fails), await ended(works)) == (WHY, None)


async def test_a_stop_interrupts_the_work():
    async def waits(live):
        asyncio.get_running_loop().call_soon(live.stop, WHY)
        await asyncio.Event().wait()

    assert await ended(waits) is WHY


async def test_a_stop_in_the_last_step_of_the_work_does_not_interrupt_the_end():
    async def stops_itself(live):
        live.stop(WHY)

    assert await ended(stops_itself) is WHY


async def test_work_that_was_stopped_before_it_began_does_not_begin():
    async def works(live):
        pytest.fail("it began")

    assert await ended(works, before=WHY) is WHY


async def test_work_that_takes_too_long_is_stopped():
    async def waits(live):
        await asyncio.Event().wait()

    assert isinstance(await ended(waits, limit=0.0), TimedOut)


async def test_something_cancelled_inside_the_work_ends_the_turn():
    async def waits_for_one_who_was_cancelled(live):
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    assert isinstance(await ended(waits_for_one_who_was_cancelled), asyncio.CancelledError)


async def test_a_loop_that_ends_takes_the_turn_along():
    async def waits(live):
        await asyncio.Event().wait()

    task = asyncio.create_task(ended(waits))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_turn_that_is_over_leaves_nothing_in_a_circle():
    """Or it would stay in memory until the collector of cycles comes by, which is rarely."""
    async with served(Reply("Hi."), Reply("Bye.")) as server:
        session = await server.session()
        await server.ask(session, headers=STREAM)
        await server.ended()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await server.ask(session, headers=STREAM)
            await server.ended()
            await asyncio.sleep(0)
            gc.collect()
            left = {type(each).__name__ for each in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert left & {"LiveTurn", "TurnState", "TurnWatch", "Parts", "ModelSummarizer"} == set()
