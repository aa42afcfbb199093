"""Stop: from any client, at any moment, as often as one likes."""

import asyncio

from test_live import OVER, WAITING, YES, reload, types, up_to, watching

from turnlog.errors import Busy
from turnlog.simulator import Reply
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing.apps import is_problem, served


async def stop(server, session):
    response = await server.http.post(f"/api/sessions/{session}/stop")
    assert response.status_code == 200
    return response.json()["stopped"]


async def test_a_turn_can_be_stopped_by_another_client():
    async with served(*WAITING, YES) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            seen = await up_to(shown, "tool_use")
            assert await stop(server, session) is True
            seen += await up_to(shown, *OVER)
        assert types(seen)[-3:] == ["tool_result", "message", "complete"]
        result, message, complete = seen[-3:]
        assert (result["success"], message["stopReason"]) == (False, "cancelled")
        assert complete["reason"] == "cancelled"
        assert invariants.broken(seen, (await reload(server, session))["events"]) == []
        assert (await server.ask(session)).status_code == 202


async def test_a_stop_may_say_which_turn_it_means():
    """Whoever presses it as an answer ends does not mean the message that was next in line."""
    async with served(*WAITING, *WAITING) as server:
        session = await server.session()
        turns = []
        for message in ("First", "Next"):
            asked = await server.ask(session, message, onBusy="enqueue")
            turns.append(asked.json()["turnId"])
        path = f"/api/sessions/{session}/stop"

        async def stop_named(turn_id):
            answer = await server.http.post(path, params={"turnId": turn_id})
            return answer.json()["stopped"]

        assert await stop_named(turns[0]) is True
        while (await server.app.store.newest_turn("local", session)).id != turns[1]:
            await asyncio.sleep(0.01)
        assert await stop_named(turns[0]) is False
        assert (await server.app.store.newest_turn("local", session)).state == "running"
        assert await stop_named(turns[1]) is True


async def test_a_stop_while_no_model_is_asked_is_no_call_on_the_bill():
    async with served(*WAITING) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            asked, *_ = [e for e in await up_to(shown, "tool_use") if e["type"] == "message"]
            assert await stop(server, session)
            (complete,) = (await up_to(shown, *OVER))[-1:]
        assert (complete["reason"], complete["model"]) == ("cancelled", asked["model"])
        bill = f"/api/billing/sessions/{session}"
        models = (await server.http.get(bill)).json()["by_model"]
        assert [(m["model"], m["calls"]) for m in models] == [(asked["model"], 1)]
        rows = (await server.http.get(bill, params={"format": "csv"})).text.splitlines()
        assert len(rows) == 2  # the names of the columns, and one call


async def test_stopping_again_or_nothing_is_no_problem():
    async with served(*WAITING) as server:
        session = await server.session()
        assert await stop(server, session) is False
        async with watching(server, session) as shown:
            await server.ask(session)
            await up_to(shown, "tool_use")
        stops = [server.app.stop_turn("local", session) for _ in "abc"]  # in one step of the loop
        assert await asyncio.gather(*stops) == [True] * 3
        assert await stop(server, session) is False
        kept = [event.type for event in await server.kept(session)]
        assert kept.count("tool_result") == 1


async def test_when_stop_has_answered_the_next_question_may_be_asked():
    async with served(Reply("word " * 5000, delay=0.001), YES) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            seen = await up_to(shown, "message_chunk")
            assert await stop(server, session)
            assert (await server.ask(session)).status_code == 202
            seen += await up_to(shown, "complete")
        assert seen[-2]["content"] == "".join(
            event["content"] for event in seen if event["type"] == "message_chunk"
        )


async def test_a_stop_does_not_wait_for_a_question_that_was_refused():
    class Slow(MemoryStore):  # a store that takes its time to say that the session is busy
        asked, go = asyncio.Event(), asyncio.Event()

        async def begin_turn(self, *args):
            self.asked.set()
            await self.go.wait()
            raise Busy("other")

    async with served(store=Slow()) as server:
        session = await server.session()
        asking = asyncio.create_task(server.ask(session))
        await Slow.asked.wait()
        stopping = asyncio.create_task(server.app.stop_turn("local", session))
        await asyncio.sleep(0)  # let it find the turn
        Slow.go.set()
        is_problem(await asking, 409, "busy")
        async with asyncio.timeout(60):
            await stopping
