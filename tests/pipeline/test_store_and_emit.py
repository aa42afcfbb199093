"""What is stored is shown, whatever becomes of whoever waits for it."""

import asyncio

import pytest

from turnlog.errors import MessageIdTaken, NotStored
from turnlog.pipeline.store_and_emit import store_and_emit, to_the_end
from turnlog.pipeline.turn_state import TurnState
from turnlog.testing import samples as s


class Disk:
    """A store that answers when it is told to: with a future, or by a coroutine."""

    def __init__(self):
        self.answer = asyncio.get_running_loop().create_future()

    def future(self):
        return self.answer

    async def coroutine(self):
        return await self.answer


@pytest.fixture(params=["future", "coroutine"])
async def disk(request):
    disk = Disk()
    disk.write = getattr(disk, request.param)
    return disk


async def begun(disk, then):
    waiting = asyncio.create_task(to_the_end(disk.write(), then))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return waiting


async def test_what_follows_is_done_before_whoever_waits_goes_on(disk):
    done = []
    waiting = await begun(disk, done.append)
    disk.answer.set_result(7)
    await waiting
    assert done == [7]


def fail(_):
    raise ValueError("what follows")


async def test_whoever_waits_hears_that_what_follows_has_failed(disk):
    waiting = await begun(disk, fail)
    disk.answer.set_result(7)
    with pytest.raises(ValueError, match="what follows"):
        await waiting


async def test_the_operator_hears_of_it_where_nobody_waits(disk, caplog):
    waiting = await begun(disk, fail)
    waiting.cancel()
    await asyncio.sleep(0)
    disk.answer.set_result(7)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert "what follows" in caplog.text


async def test_whoever_is_cancelled_hears_of_it_when_it_is_stored(disk):
    done = []
    waiting = await begun(disk, done.append)
    waiting.cancel()
    await asyncio.sleep(0)
    assert (waiting.done(), disk.answer.done()) == (False, False)
    disk.answer.set_result(7)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == [7]


async def test_whoever_is_cancelled_twice_waits_no_more_and_it_is_done_all_the_same(disk):
    done = asyncio.Queue()
    waiting = await begun(disk, done.put_nowait)
    for _ in range(2):
        waiting.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done.empty()
    disk.answer.set_result(7)
    assert await done.get() == 7


async def test_a_cancel_at_the_moment_of_the_answer_does_it_once(disk):
    done = []
    waiting = await begun(disk, done.append)
    disk.answer.set_result(7)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == [7]


@pytest.mark.parametrize("stopped", [False, True])
async def test_nothing_follows_on_what_is_not_stored(disk, stopped):
    done = []
    waiting = await begun(disk, done.append)
    if stopped:
        waiting.cancel()
        await asyncio.sleep(0)
    disk.answer.set_exception(NotStored("The disk is full."))
    with pytest.raises(asyncio.CancelledError if stopped else NotStored):
        await waiting
    assert done == []


@pytest.mark.parametrize("stopped", [False, True])
async def test_an_answer_whose_id_is_taken_is_kept_under_another_also_by_who_is_stopped(stopped):
    answers, asked, shown = [], [], []

    def append(kept):
        asked.append([p.event.message_id for p in kept])
        answers.append(asyncio.get_running_loop().create_future())
        return answers[-1]

    state = TurnState(s.new_turn("t1"), s.AGENT)
    storing = store_and_emit(
        s.placed(s.said("Yes.", id="m1")), state, append, lambda p, n: shown.append((p, n))
    )
    waiting = asyncio.create_task(storing)
    await asyncio.sleep(0)
    if stopped:
        waiting.cancel()
        await asyncio.sleep(0)
    answers[0].set_exception(MessageIdTaken("m1"))
    async with asyncio.timeout(60):
        while len(answers) < 2:
            await asyncio.sleep(0)
    answers[1].set_result(7)
    await asyncio.wait([waiting])
    assert waiting.cancelled() is stopped
    [(placed, number)] = shown
    assert number == 7
    assert asked == [["m1"], [placed[0].event.message_id]] and asked[1] != ["m1"]
