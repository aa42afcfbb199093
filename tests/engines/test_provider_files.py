"""The Files API: a file is left there once, named after that, and removed with the user's own."""

import asyncio

import pytest

from turnlog import Agent, create_app
from turnlog.config import Settings
from turnlog.engines.claude.provider_files import LEAST, account_of
from turnlog.errors import ConfigError
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import made_files as made
from turnlog.testing.apps import scripted_app
from turnlog.tools.tool import tool

pytestmark = pytest.mark.slow  # each starts processes that read files
BIRDS = made.pdf("Ducks swim.", "Geese fly.")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("turnlog.engines.claude.provider_files.LEAST", 100)
    (tmp_path / "birds.pdf").write_bytes(BIRDS)
    (tmp_path / "photo.png").write_bytes(made.noise(size=(64, 64)))
    return tmp_path


async def until(is_so):
    async with asyncio.timeout(60):
        while not await is_so():
            await asyncio.sleep(0.005)


def rows(app):
    return app.store.deposits.every(account_of("test", app.settings.base_url), limit=9)


async def until_left(app, sim, count):
    async def is_so():
        return len(sim.files) == count == len(await rows(app))

    await until(is_so)


def sources(sim):
    """As the model reads them: the simulation puts bytes where a request names a file."""
    first = sim.requests[-1]["messages"][0]["content"]
    return [block["source"] for block in first if "source" in block]


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "Nothing."


async def test_a_file_is_left_once_and_named_in_every_call(folder):
    script = (Reply(ToolCall("look", {}, "toolu_1")), Reply("A."), Reply("B."))
    options = {"agents": [Agent("a", tools=[look])], "deposit_days": 7}
    async with scripted_app(*script, **options) as (app, sim):
        files = [folder / "birds.pdf", folder / "photo.png"]
        first = await app.run_turn("What is it?", files=files)
        await app.run_turn("And?", session_id=first.session_id)
        assert (sim.files.uploads, len(sim.files.named)) == (2, 6)
        assert len(set(sim.files.named)) == 2
        pdf, image = sources(sim)
        assert (pdf["media_type"], image["media_type"]) == ("application/pdf", "image/jpeg")
        left = await rows(app)
        assert {row.provider_id for row in left} == set(sim.files.named)
        parts = {(row.user_id, row.part) for row in left}
        assert parts == {("local", "original"), ("local", "model")}


async def test_without_the_setting_nothing_is_left(folder):
    async with scripted_app(Reply("A.")) as (app, sim):
        await app.run_turn("What is it?", files=[folder / "birds.pdf"])
        assert (sim.files.uploads, sim.files.named) == (0, [])


async def test_what_is_small_is_sent(folder, monkeypatch):
    monkeypatch.setattr("turnlog.engines.claude.provider_files.LEAST", LEAST)
    async with scripted_app(Reply("A."), deposit_days=7) as (app, sim):
        await app.run_turn("What is it?", files=[folder / "birds.pdf"])
        assert (sim.files.uploads, sim.files.named) == (0, [])


async def test_a_file_that_the_provider_lost_is_sent_and_left_again(folder):
    async with scripted_app(Reply("A."), Reply("B."), Reply("C."), deposit_days=7) as (app, sim):
        first = await app.run_turn("What is it?", files=[folder / "birds.pdf"])
        sim.files.clear()
        second = await app.run_turn("And?", session_id=first.session_id)
        assert second.success and sources(sim)[0]["type"] == "base64"
        assert [refused.status for refused in sim.refused] == [404]
        assert (sim.files.uploads, len(sim.files.named)) == (1, 1)
        await app.run_turn("And now?", session_id=first.session_id)
        assert (sim.files.uploads, len(sim.files.named)) == (2, 2)


async def test_where_it_cannot_be_left_it_is_sent(folder, monkeypatch):
    """Nobody tries again with the next call: that would double what is sent."""
    tries = []

    async def refused(request):
        tries.append(1)
        raise RuntimeError("the disk is full")

    script = (Reply("A."), Reply("B."))
    async with scripted_app(*script, deposit_days=7) as (app, sim):
        monkeypatch.setattr(sim.files, "add", refused)
        first = await app.run_turn("What is it?", files=[folder / "birds.pdf"])
        second = await app.run_turn("And?", session_id=first.session_id)
        assert first.success and second.success and len(tries) == 1
        assert sources(sim)[0]["type"] == "base64" and sim.files.named == []


async def test_what_the_user_deletes_is_deleted_there(folder):
    async with scripted_app(Reply("A."), deposit_days=7) as (app, sim):
        await app.run_turn("What is it?", files=[folder / "birds.pdf", folder / "photo.png"])
        birds = next(f for f in await app.files.page("local", limit=5) if f.kind == "pdf")
        await app.files.delete("local", birds.id)
        await until_left(app, sim, 1)


async def test_without_the_setting_what_was_left_before_is_removed(folder):
    store, sim = MemoryStore(), SimulatedClaude(Reply("A."), pace=0)
    async with sim.serve() as url:
        for days, left in ((7, 1), (0, 0)):
            settings = Settings(api_key="test", base_url=url, deposit_days=days)
            app = create_app([Agent("a")], settings=settings, store=store)
            async with app:
                if days:
                    await app.run_turn("What is it?", files=[folder / "birds.pdf"])
                await until_left(app, sim, left)


async def test_two_users_with_the_same_file_leave_one_each(folder):
    async with scripted_app(Reply("A."), Reply("B."), deposit_days=7) as (app, sim):
        for user in ("ann", "bob"):
            await app.run_turn("What is it?", user_id=user, files=[folder / "birds.pdf"])
        assert len(set(sim.files.named)) == 2
        (anns,) = await app.files.page("ann", limit=5)
        await app.files.delete("ann", anns.id)
        await until_left(app, sim, 1)
        assert [row.provider_id for row in await rows(app)] == [sim.files.named[1]]


async def test_two_turns_at_once_leave_it_once(folder):
    async with scripted_app(Reply("A."), Reply("B."), deposit_days=7) as (app, sim):
        session = await app.create_session("local")
        file = await app.files.add("local", session.id, folder / "birds.pdf")
        await asyncio.gather(*(app.run_turn("What is it?", files=[file.id]) for _ in range(2)))
        assert (sim.files.uploads, len(sim.files.named)) == (1, 2)


def test_another_provider_has_no_such_place():
    with pytest.raises(ConfigError, match="deposit_days"):
        Settings(provider="bedrock", deposit_days=7)
