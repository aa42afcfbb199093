"""Going on from where one was: between the disk and the screen, after a crash, over a wait."""

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest
from test_live import OVER, pieces, read_events, reload, types, up_to, watched, watching
from test_sockets import served as sockets_served

from turnlog.events import kinds as k
from turnlog.events.cursor import cursor_of
from turnlog.ports import Question
from turnlog.projections.transcript import transcript
from turnlog.simulator import Reply, Stall, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing.apps import STREAM, events, scripted_app, served
from turnlog.testing.office import office
from turnlog.testing.tabs import tab


class SlowToSay(MemoryStore):
    """Stores a question, or an end, and takes its time to say so: a reader is quicker."""

    def __init__(self):
        super().__init__()
        self.stored, self.go = asyncio.Event(), asyncio.Event()

    async def say(self):
        self.stored.set()
        await self.go.wait()


class SlowToBegin(SlowToSay):
    async def begin_turn(self, *args):
        begun = await super().begin_turn(*args)
        await self.say()
        return begun


class SlowToEnd(SlowToSay):
    async def append(self, turn, events, complete=None):
        number = await super().append(turn, events, complete)
        if complete is not None:
            await self.say()
        return number


async def test_what_is_stored_and_not_shown_yet_is_no_reason_to_reload():
    store = SlowToBegin()
    store.go.set()
    async with served(Reply("One."), Reply("Two."), store=store) as server:
        session = await server.session()
        await server.ask(session)
        await server.ended()
        cursor = (await reload(server, session))["cursor"]
        server.app.bus.channels.clear()  # as after a restart
        store.stored.clear()
        store.go.clear()
        asking = asyncio.create_task(server.ask(session))
        await store.stored.wait()
        async with watching(server, session, after=cursor) as shown:
            store.go.set()
            seen = await up_to(shown, *OVER)
        assert (await asking).status_code == 202
        assert types(seen)[0] == "user_message_sent" and types(seen)[-1] == "complete"


async def test_an_end_that_is_stored_and_not_shown_yet_is_no_reason_to_reload():
    store = SlowToEnd()
    async with served(Reply("One."), store=store) as server:
        session = await server.session()
        await server.ask(session)
        await store.stored.wait()
        newest = server.app.bus.channels[session].events[-1].entry
        async with watching(server, session, after="{}.{}".format(*cursor_of(newest))) as shown:
            store.go.set()
            seen = await up_to(shown, *OVER)
        assert types(seen) == ["message", "complete"]


# without a cursor: the newest turn from its start

YES = Reply("Yes.")
STUCK = Reply("one two three four", chunk=4, ending=Stall(8, 60))


class WithoutDrafts(MemoryStore):
    """Of a process that dies before its first draft is due, however busy the machine is."""

    async def add_draft(self, turn, piece):
        pass


@asynccontextmanager
async def crashed():
    """A store whose process died in mid-answer, with the session that it answered."""
    store = WithoutDrafts("dead")
    async with served(STUCK, store=store) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session, "Hi")
            await up_to(shown, "message_chunk")
            await store.close()  # nobody tells the others, and its turn is theirs
            yield MemoryStore("heir", store), session
            await server.app._turns.end(0)


async def test_after_a_crash_one_who_joins_sees_the_newest_turn_and_all_that_follow():
    async with (
        crashed() as (store, session),
        sockets_served(YES, YES, store=store) as server,
        tab(server.url) as one,
    ):
        await one.join(session)
        assert types(await one.until("error")) == ["user_message_sent", "error"]
        for question in ("And?", "And now?"):
            await one.ask("chat:message", {"sessionId": session, "message": question})
            await one.until("complete")
        assert invariants.broken(one.seen, await server.log(session)) == []


async def test_after_a_crash_a_stream_begins_with_the_newest_turn():
    async with crashed() as (store, session), served(YES, store=store) as server:
        async with watching(server, session) as shown:
            seen = await up_to(shown, *OVER)
            asked = events(await server.ask(session, headers=STREAM))
            assert pieces(await up_to(shown, *OVER)) == pieces(asked)
        assert types(seen) == ["user_message_sent", "error"]
        assert await watched(server, session, seen[-1]["cursor"]) == asked


async def test_after_a_restart_a_turn_that_was_answered_is_seen_with_its_end():
    store = MemoryStore()
    async with served(YES, YES, store=store) as server:
        session = await server.session()
        await server.ask(session, headers=STREAM)
        live = events(await server.ask(session, headers=STREAM))
    async with served(YES, store=store) as server:
        async with watching(server, session) as shown:
            seen = await up_to(shown, *OVER)
            asked = events(await server.ask(session, headers=STREAM))
            assert pieces(await up_to(shown, *OVER)) == pieces(asked)
        assert seen[:-1] == [event for event in live if "sequenceNumber" in event]
        assert transcript(seen) == transcript(live)


async def test_what_only_an_audit_sees_is_no_reason_to_reload():
    async with office(Reply(ToolCall("pay", {"amount": 5})), YES, YES) as desk:
        session, (approval,) = await desk.asked()
        await desk.answer(approval)
        await desk.rest()
        cursor = (await desk.http.get(f"/api/sessions/{session}/messages")).json()["cursor"]
        assert (await desk.answer(approval)).status_code == 409  # the log keeps that, for audits
        assert types(await watched(desk, session, cursor)) == ["complete"]


# the stream of a question


@asynccontextmanager
async def asking(desk, session, **more):
    """The events of a question's own stream, as they come."""
    path = f"/api/sessions/{session}/messages"
    body = {"message": "Pay", **more}
    async with desk.http.stream("POST", path, json=body, headers=STREAM) as response:
        yield read_events(response)


PAYS = (Reply(ToolCall("pay", {"amount": 5})), Reply("Paid."))


async def test_the_stream_of_a_question_stays_open_while_a_person_decides():
    async with office(*PAYS) as desk:
        session = await desk.session()
        async with asking(desk, session) as shown:
            seen = await up_to(shown, "approval_requested")
            await desk.rest()  # nobody works on the turn
            (approval,) = await desk.pending()
            await desk.answer(approval)
            seen += await up_to(shown, *OVER)
            assert [event async for event in shown] == []  # it ends there
        assert types(seen)[-2:] == ["message", "complete"]
        log = (await reload(desk, session))["events"]
        assert invariants.broken(seen, log) == []


@pytest.mark.parametrize("restarted", [False, True])
async def test_one_who_repeats_a_request_while_it_waits_sees_all_of_it(restarted):
    async with office(*PAYS) as desk:
        session = await desk.session()
        async with asking(desk, session, requestId="r") as shown:
            seen = await up_to(shown, "approval_requested")
        await desk.rest()
        if restarted:
            desk.app.bus.channels.clear()
        async with asking(desk, session, requestId="r") as shown:
            again = await up_to(shown, "approval_requested")
            (approval,) = await desk.pending()
            await desk.answer(approval)
            again += await up_to(shown, *OVER)
        kept = [event["eventId"] for event in seen if not event["type"].endswith("_chunk")]
        assert [event["eventId"] for event in again][: len(kept)] == kept
        assert invariants.broken(again, (await reload(desk, session))["events"]) == []


async def test_a_question_that_is_withdrawn_ends_its_stream():
    async with office(*PAYS[:1], YES) as desk:
        session = await desk.session()
        async with asking(desk, session) as shown:
            await up_to(shown, "approval_requested")
            assert (await desk.ask(session, "Never mind")).status_code == 202
            assert (await up_to(shown, *OVER))[-1]["reason"] == "cancelled"


async def test_a_program_gets_its_turn_back_when_a_person_must_decide():
    async with office(*PAYS) as desk:
        result = await desk.app.run_turn("Pay")
        (approval,) = await desk.pending()
        assert (result.success, result.waiting) == (False, [approval["id"]])
        assert result.events[-1].event.type == "approval_requested"


async def test_a_turn_that_begins_while_one_joins_is_seen_from_its_start(monkeypatch):
    """The newest turn is looked up, the next one begins, and only then the log is read."""
    store = MemoryStore()
    async with scripted_app(Reply("One."), store=store) as (app, _):
        session = (await app.run_turn("First")).session_id
    look_up, begun = store.newest_turn, []

    async with scripted_app(Reply("Two."), store=store) as (app, _):

        async def newest_turn(user_id, session_id):
            found = await look_up(user_id, session_id)
            if not begun:
                begun.append(True)
                await app.start_turn(user_id, session_id, Question(message="Second"))
            return found

        monkeypatch.setattr(store, "newest_turn", newest_turn)
        seen = []
        async with aclosing(app.follow("local", session, None)) as batches:
            async for batch in batches:
                seen += [each.entry.envelope.event for each in batch]
                if sum(isinstance(event, k.Complete) for event in seen) == 2:
                    break
    asked = [event.content for event in seen if isinstance(event, k.UserMessageSent)]
    assert asked == ["First", "Second"]
