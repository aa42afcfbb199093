"""The contract of Line."""

import asyncio
from typing import Any

import msgspec
import pytest

from turnlog.errors import AlreadyAsked, Busy, NotFound, TooMany
from turnlog.ports import MOST_IN_LINE, Question, Store, Turn, Waiting
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, Opened, numbers


def waiting(turn_id: str, session_id: str = "s", **more: Any) -> Waiting:
    question = Question(message=f"What is {turn_id}?", on_busy="enqueue", **more)
    return Waiting(
        turn_id=turn_id,
        session_id=session_id,
        user_id="alice",
        question=question,
        created_at="2026-11-17T09:00:00.000Z",
    )


async def begun(store: Store, turn_id: str, **more: str) -> Turn:
    return await store.begin_turn(s.new_turn(turn_id, **more), s.placed(s.asked()))


class LineContract(Contract):
    """Questions are asked in their order, once, and not forgotten."""

    async def test_who_waits_is_kept_in_order(self, store: Store) -> None:
        await self.begun(store)
        full = waiting("b", request_id="r", file_ids=["f"], thinking_budget=2_000)
        for each in (full, waiting("a"), waiting("c")):
            assert await store.line.join(each) == each
        assert await store.line.turn_ids("s") == ["b", "a", "c"]
        assert await store.line.get("b") == full == await store.line.of_request("s", "r")
        assert await store.line.get("x") is None is await store.line.of_request("s", "x")
        assert await store.line.turn_ids("elsewhere") == []

    async def test_another_process_sees_the_same_line(self, opened: Opened) -> None:
        one, other = await opened(), await opened()
        await self.begun(one)
        await one.line.join(waiting("a"))
        await other.line.join(waiting("b"))
        assert await one.line.turn_ids("s") == await other.line.turn_ids("s") == ["a", "b"]

    async def test_only_the_first_in_line_begins_and_leaves_it(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.line.join(waiting("a"))
        await store.line.join(waiting("b"))
        with pytest.raises(Busy):
            await begun(store, "a")
        assert await store.line.sessions() == []
        await store.finish_turn(turn)
        assert await store.line.sessions() == ["s"]
        for other in ("b", "new"):
            with pytest.raises(Busy) as busy:
                await begun(store, other)
            assert (busy.value.turn_id, busy.value.waiting) == ("a", False)
        assert numbers(await store.read("alice", "s")) == [0]
        first = await begun(store, "a")
        assert await store.line.turn_ids("s") == ["b"] and await store.line.get("a") is None
        await store.finish_turn(first)
        await begun(store, "b")

    async def test_of_many_who_begin_the_first_in_line_one_does(self, opened: Opened) -> None:
        stores = [await opened(), await opened()]
        turn = await self.begun(stores[0])
        await stores[0].line.join(waiting("a"))
        await stores[0].finish_turn(turn)
        tries = (begun(stores[n % 2], "a") for n in range(10))
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        kinds = sorted(type(each).__name__ for each in outcomes)
        assert kinds == ["AlreadyAsked"] * 9 + ["Turn"]
        found = await stores[1].find_turn("alice", "s", "a")
        assert found is not None and (found.state, found.first_seq) == ("running", 1)
        assert await stores[1].find_turn("alice", "s", "b") is None

    async def test_a_message_that_waits_is_no_reason_to_withdraw_an_approval(
        self, store: Store
    ) -> None:
        turn = await self.begun(store)
        await store.suspend_turn(turn)
        await store.line.join(waiting("a"))
        with pytest.raises(Busy) as first:
            await begun(store, "a")
        with pytest.raises(Busy) as other:
            await begun(store, "new")
        assert (first.value.waiting, other.value.waiting) == (True, False)

    async def test_a_request_has_one_place(self, store: Store) -> None:
        turn = await self.begun(store)
        first = await store.line.join(waiting("a", request_id="r"))
        assert await store.line.join(waiting("b", request_id="r")) == first
        assert await store.line.turn_ids("s") == ["a"]
        await store.finish_turn(turn)
        await store.finish_turn(await begun(store, "a", request_id="r"))
        with pytest.raises(AlreadyAsked) as asked:
            await store.line.join(waiting("b", request_id="r"))
        assert asked.value.turn_id == "a"

    async def test_a_question_may_leave(self, store: Store) -> None:
        await store.finish_turn(await self.begun(store))
        await store.line.join(waiting("a"))
        await store.line.leave("a")
        await store.line.leave("a")
        await begun(store, "new")

    async def test_the_line_is_bounded_and_ones_own(self, store: Store) -> None:
        await self.begun(store)
        for n in range(MOST_IN_LINE):
            await store.line.join(waiting(f"w{n}"))
        with pytest.raises(TooMany):
            await store.line.join(waiting("one more"))
        for stranger in (
            msgspec.structs.replace(waiting("x"), user_id="bob"),
            waiting("x", "nowhere"),
        ):
            with pytest.raises(NotFound):
                await store.line.join(stranger)
        for user_id, session_id in (("bob", "s"), ("alice", "nowhere")):
            with pytest.raises(NotFound):
                await store.find_turn(user_id, session_id, "w0")
