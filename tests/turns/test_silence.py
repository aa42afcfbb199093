"""One who watches a turn that has ended elsewhere is not left waiting: see Silence."""

import asyncio

import pytest
from raw_server import until

from turnlog.errors import NotStored
from turnlog.events.kinds import Complete
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.testing.office import office
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.turns.following import Silence


async def signs(silence, last, count=4):
    """What each of so many signs of life in a row tells."""
    return [await silence.hides_an_end(last) for _ in range(count)]


async def test_an_end_that_was_never_shown_is_noticed():
    async with scripted_app(Reply("Yes.")) as (app, _):
        result = await app.run_turn("Hi")
        *shown, end = result.events
        silence = Silence(app.store, LOCAL_USER, result.session_id)
        assert await signs(silence, shown[0]) == [False, False, True, True]
        assert await signs(silence, shown[1], 2) == [False, False]  # something was shown again
        assert await signs(silence, end) == [False] * 4


@pytest.mark.parametrize("has_seen", [True, False])
async def test_a_turn_that_waits_for_a_person_may_be_silent(has_seen):
    async with office(Reply(ToolCall("pay", {"amount": 5})), Reply("Paid.")) as desk:
        result = await desk.app.run_turn("Pay")
        last = result.events[-1] if has_seen else None
        silence = Silence(desk.app.store, LOCAL_USER, result.session_id)
        assert await signs(silence, last) == [False] * 4
        (approval,) = await desk.pending()
        await desk.answer(approval)
        await desk.rest()
        assert await signs(silence, last, 2) == [False, True]


async def test_where_no_turn_runs_the_store_is_asked_once(monkeypatch):
    async with scripted_app(Reply("Yes.")) as (app, _):
        result = await app.run_turn("Hi")
        look_up, asked = app.store.newest_turn, []

        async def newest_turn(*of):
            asked.append(of)
            return await look_up(*of)

        monkeypatch.setattr(app.store, "newest_turn", newest_turn)
        silence = Silence(app.store, LOCAL_USER, result.session_id)
        assert await signs(silence, None, 10) == [False] * 10
        assert len(asked) == 1


async def test_a_store_that_does_not_answer_says_nothing(monkeypatch):
    async with scripted_app(Reply("Yes.")) as (app, _):
        result = await app.run_turn("Hi")

        async def newest_turn(*of):
            raise NotStored("It is away.")

        monkeypatch.setattr(app.store, "newest_turn", newest_turn)
        silence = Silence(app.store, LOCAL_USER, result.session_id)
        assert await signs(silence, result.events[0]) == [False] * 4


async def test_an_end_that_was_given_is_known():
    given, batches = [], []

    async def watch(live):
        async for batch in live:
            batches.append(batch)

    async with scripted_app(Reply("Yes."), Reply("No.")) as (app, _):
        session = (await app.run_turn("Hi")).session_id
        live = app.follow(LOCAL_USER, session, None, lambda new: not given.extend(new))
        watching = asyncio.create_task(watch(live))
        await until(lambda: bool(batches))
        await app.run_turn("And?", session_id=session)
        assert type(given[-1].entry.event) is Complete
        for signs_of_life in range(1, 6):
            app.bus.publish(session, [])
            await until(lambda: batches.count([]) == signs_of_life)  # noqa: B023 it is called at once
        watching.cancel()
        await asyncio.wait([watching])
