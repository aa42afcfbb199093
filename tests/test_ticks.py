"""Ticks: one timer for all, and nobody is held up by many."""

import asyncio

from turnlog import ticks
from turnlog.ticks import Ticks


async def test_all_are_called_at_one_tick_and_once():
    shared, calls = Ticks(0.01), []
    done = asyncio.Event()
    for name in "abc":
        shared.call(lambda name=name: calls.append(name))
    shared.call(done.set)
    await asyncio.wait_for(done.wait(), 60)
    assert calls == ["a", "b", "c"]


async def test_one_that_fails_leaves_the_others_their_tick(caplog):
    shared, done = Ticks(0.01), asyncio.Event()
    shared.call(lambda: 1 / 0)
    shared.call(done.set)
    await asyncio.wait_for(done.wait(), 60)
    assert "ZeroDivisionError" in caplog.text


async def test_who_asks_at_a_tick_is_called_at_the_next_one():
    shared, calls = Ticks(0.01), []
    done = asyncio.Event()

    def first():
        calls.append("first")
        shared.call(second)

    def second():
        calls.append("second")
        done.set()

    shared.call(first)
    await asyncio.wait_for(done.wait(), 60)
    assert calls == ["first", "second"]


async def test_others_have_their_turn_between_many(monkeypatch):
    monkeypatch.setattr(ticks, "BREATH", -1.0)  # every call takes long
    shared, order = Ticks(0.01), []
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    shared.call(lambda: (order.append("first"), loop.call_soon(order.append, "other")))
    shared.call(lambda: (order.append("second"), done.set()))
    await asyncio.wait_for(done.wait(), 60)
    assert order == ["first", "other", "second"]


def test_ticks_outlive_a_loop_that_was_closed_before_they_came():
    shared, calls = Ticks(0.01), []

    async def leave():
        shared.call(lambda: calls.append("never"))

    async def stay():
        done = asyncio.Event()
        shared.call(done.set)
        await asyncio.wait_for(done.wait(), 60)

    asyncio.run(leave())
    asyncio.run(stay())
    assert calls == []
