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


async def test_who_wants_more_is_called_at_each_tick_until_it_wants_no_more():
    shared, calls = Ticks(0.01), []
    done, after = asyncio.Event(), asyncio.Event()

    def thrice():
        calls.append("thrice")
        if len(calls) == 3:
            done.set()
        return len(calls) < 3

    shared.call(thrice)
    await asyncio.wait_for(done.wait(), 60)
    shared.call(after.set)
    await asyncio.wait_for(after.wait(), 60)
    assert calls == ["thrice"] * 3


async def test_who_comes_while_a_long_tick_goes_on_takes_nobodys_place(monkeypatch):
    monkeypatch.setattr(ticks, "BREATH", -1.0)
    shared, calls = Ticks(0.01), []
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def again():
        calls.append("again")
        if len(calls) > 1:
            done.set()
        return True

    def last():
        loop.call_soon(shared.call, lambda: False)
        return False

    shared.call(again)
    shared.call(last)
    shared.call(lambda: False)
    await asyncio.wait_for(done.wait(), 60)


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
