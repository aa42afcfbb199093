"""The first moments of a turn: its question is on disk, and its model is asked."""

import asyncio
from contextlib import aclosing

import pytest
from own_model import OwnModel

from turnlog import Agent, Settings, create_app
from turnlog.events import kinds as k
from turnlog.events.content import TokenUsage
from turnlog.events.cursor import BEGINNING
from turnlog.ports import CallStarted, Question
from turnlog.stores.memory.store import MemoryStore
from turnlog.turns.healer import Healer

USER = "ann"


class Noting(OwnModel):
    """A Model that notes when it is asked."""

    def __init__(self, notes):
        self._notes = notes

    async def call(self, prompt):
        self._notes.append("asked")
        yield [CallStarted(message_id="", model="noting", reported={})]
        block = {"type": "text", "text": "Yes."}
        said = {"message_id": "", "blocks": [block], "model": "noting", "stop_reason": "end_turn"}
        yield [k.Message(**said, token_usage=TokenUsage())]


def app_with(notes, store=None):
    settings, model = Settings(api_key="none"), Noting(notes)
    return create_app([Agent("a")], settings=settings, store=store or MemoryStore(), engine=model)


async def test_the_model_is_asked_before_those_who_watch_are_woken():
    notes = []

    async def watch(batches):
        async with aclosing(batches):
            async for batch in batches:
                notes.extend(live.entry.event.type for live in batch)
                if "complete" in notes:
                    return

    async with (app := app_with(notes)):
        session = await app.create_session(USER)
        watching = asyncio.create_task(watch(app.follow(USER, session.id, BEGINNING)))
        await asyncio.sleep(0)  # it watches
        await app.start_turn(USER, session.id, Question(message="Go"))
        await watching
    assert notes == ["asked", "user_message_sent", "message", "complete"]


class SlowStore(MemoryStore):
    """It says later that a turn was begun."""

    def __init__(self):
        super().__init__()
        self.wrote, self.says_so = asyncio.Event(), asyncio.Event()

    async def begin_turn(self, *args):
        turn = await super().begin_turn(*args)
        self.wrote.set()
        await self.says_so.wait()
        return turn


async def test_the_models_of_all_who_ask_at_once_are_asked_before_a_question_is_shown():
    notes, store = [], SlowStore()

    async def watch(batches):
        async with aclosing(batches):
            async for batch in batches:
                types = [live.entry.event.type for live in batch]
                notes.extend(types)
                if "complete" in types:
                    return

    async with (app := app_with(notes, store)), asyncio.TaskGroup() as tasks:
        for user in ("ann", "bob", "cleo"):
            session = await app.create_session(user)
            tasks.create_task(watch(app.follow(user, session.id, BEGINNING)))
            tasks.create_task(app.start_turn(user, session.id, Question(message="Go")))
            await store.wrote.wait()
            store.wrote.clear()
        store.says_so.set()
    assert notes[:6] == ["asked"] * 3 + ["user_message_sent"] * 3


async def test_what_a_model_says_in_the_first_step_of_a_turn_is_shown_after_its_question():
    class Hasty(Noting):
        async def call(self, prompt):
            yield [CallStarted(message_id="m", model="hasty", reported={})]
            yield [k.MessageChunk(message_id="m", content="Ye", block_index=0)]
            async for outputs in super().call(prompt):
                yield outputs[1:] or [outputs[0]]

    notes = []
    settings = Settings(api_key="none")
    app = create_app([Agent("a")], settings=settings, store=MemoryStore(), engine=Hasty(notes))
    async with app:
        session = await app.create_session(USER)
        started = await app.start_turn(USER, session.id, Question(message="Go"))
        async with aclosing(app.follow_turn(USER, started)) as batches:
            events = [live.entry async for batch in batches for live in batch]
    types = [entry.event.type for entry in events]
    assert types == ["user_message_sent", "message_chunk", "message", "complete"]
    assert [entry.envelope.index for entry in events] == [0, 1, 2, 3]


async def test_a_question_on_disk_is_answered_though_whoever_asked_waits_no_more():
    async with (app := app_with([], store := SlowStore())):
        session = await app.create_session(USER)
        asking = asyncio.create_task(app.start_turn(USER, session.id, Question(message="Go")))
        await store.wrote.wait()
        asking.cancel()
        store.says_so.set()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await app._turns.all_at_rest()
        log = await store.read(USER, session.id)
        assert [type(entry.event) for entry in log] == [k.UserMessageSent, k.Message]
        assert not app._turns._limits._running  # nothing is left over


async def test_a_question_that_was_given_up_twice_ends_when_it_is_on_disk(monkeypatch):
    monkeypatch.setattr(Healer, "look", lambda self: asyncio.sleep(0))  # no look now and then
    notes = []
    async with (app := app_with(notes, store := SlowStore())):
        session = await app.create_session(USER)
        asking = asyncio.create_task(app.start_turn(USER, session.id, Question(message="Go")))
        await store.wrote.wait()
        for _ in range(2):  # the second does not wait for the disk
            asking.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asking
        store.says_so.set()
        shown = []
        async with (
            asyncio.timeout(30),
            aclosing(app.follow(USER, session.id, BEGINNING)) as batches,
        ):
            async for batch in batches:
                shown += [type(live.entry.event) for live in batch]
                if k.Error in shown:
                    break
        assert shown == [k.UserMessageSent, k.Error]
        log = await store.read(USER, session.id)
        assert [type(entry.event) for entry in log] == shown
        assert not notes and not app._turns._limits._running
