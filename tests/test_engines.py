"""Engines by name: a session is answered by the one that it names."""

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.events import kinds as k
from turnlog.events.content import TokenUsage
from turnlog.ports import CallStarted
from turnlog.stores.memory.store import MemoryStore


class Parrot:
    """A Model that always says the same."""

    def __init__(self, words):
        self.words = words
        self.is_open = False

    async def open(self):
        self.is_open = True

    async def close(self):
        self.is_open = False

    async def count(self, prompt):
        return 1

    async def call(self, prompt):
        yield [CallStarted(message_id="", model="parrot", reported={})]
        block = {"type": "text", "text": self.words}
        yield [
            k.MessageChunk(message_id="", content=self.words, block_index=0),
            k.Message(
                message_id="",
                blocks=[block],
                stop_reason="end_turn",
                model="parrot",
                token_usage=TokenUsage(),
            ),
        ]


def app_with(store=None, **engines):
    return create_app(
        [Agent("a")],
        settings=Settings(api_key="none"),
        store=store or MemoryStore(),
        engine=Parrot("first"),
        engines=engines,
    )


async def test_a_session_is_answered_by_the_engine_that_it_names():
    other = Parrot("other")
    async with (app := app_with(other=other)):
        named = await app.create_session("u", engine="other")
        assert (await app.store.get_session("u", named.id)).engine == "other"
        said = [
            (await app.run_turn("Hi", session_id=session_id, user_id="u")).text
            for session_id in (named.id, (await app.create_session("u")).id)
        ]
        assert said == ["other", "first"]
        assert other.is_open
    assert not other.is_open


async def test_an_unknown_engine_is_refused_with_the_names_of_those_that_are_there():
    async with (app := app_with(other=Parrot("other"))):
        with pytest.raises(BadInput, match="claude, langgraph, openai_agents, other"):
            await app.create_session("u", engine="oracle")
    with pytest.raises(ConfigError, match="There are: claude"):
        create_app([Agent("a")], settings=Settings(), engine="oracle")


async def test_a_session_whose_engine_is_gone_says_so():
    store = MemoryStore()
    async with (app := app_with(store, other=Parrot("other"))):
        session = await app.create_session("u", engine="other")
    async with (app := app_with(store)):
        with pytest.raises(NotFound, match="'other'"):
            await app.run_turn("Hi", session_id=session.id, user_id="u")
