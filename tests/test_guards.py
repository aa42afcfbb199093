"""Small doors that a stranger, or a hostile text, might come in by."""

from contextlib import asynccontextmanager

import httpx2
import pytest

from turnlog import Agent, Decision, Settings, create_app, tool
from turnlog.errors import ConfigError, NotFound, StoreUnusable
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.terminal import replay as playback
from turnlog.testing import samples as s

ASK = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
VERSION = {"anthropic-version": "2023-06-01"}


@tool(writes=False)
def look() -> str:
    """Look."""
    return ""


@asynccontextmanager
async def talking_to(sim):
    async with (
        sim.serve() as url,
        httpx2.AsyncClient(timeout=60, base_url=url) as http,
    ):
        yield http


async def test_a_simulation_with_a_key_answers_nobody_else():
    async with talking_to(SimulatedClaude(key="secret")) as http:
        asked = await http.post("/v1/messages", json=ASK, headers=VERSION | {"x-api-key": "k"})
        assert asked.status_code == 401
        assert (await http.get("/sim/state")).status_code == 404
        assert (await http.post("/sim/script", json={"entries": []})).status_code == 404


async def test_a_page_of_another_site_cannot_script_the_simulation():
    async with talking_to(SimulatedClaude()) as http:
        plain = {"content-type": "text/plain"}
        sent = await http.post("/sim/script", content='{"entries": []}', headers=plain)
        assert sent.status_code == 400


async def test_what_a_message_says_cannot_steer_the_terminal():
    said = []
    log = s.log_of([s.asked("\x1b[31mred\r    0 00:00:00 forged\nnext\x07")])
    await playback.play(log, said.append)
    assert not any(c in said[0] for c in "\x1b\r\x07")
    assert said[0].splitlines()[1].startswith(" " * 29 + "next")


async def test_the_folder_of_the_conversations_is_the_users_own(tmp_path):
    store = SqliteStore(tmp_path / "data")
    await store.open()
    await store.close()
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0


async def test_a_place_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnusable):
        await SqliteStore(tmp_path / "file").open()


async def test_a_session_whose_agent_is_gone_is_not_answered_by_another():
    store = MemoryStore()
    async with (app := create_app([Agent("new")], settings=Settings(), store=store)):
        await store.create_session(s.new_session("x", "ann"))
        with pytest.raises(NotFound, match="not here any more"):
            await app.run_turn("Hello", session_id="x", user_id="ann")


@tool(approval="always")
async def pay() -> str:
    """A person is asked first."""
    return "paid"


async def test_a_decision_is_not_kept_while_nobody_can_go_on_with_the_turn():
    script = Reply(ToolCall("pay")), Reply("Paid.")
    async with SimulatedClaude(*script, pace=0).serve() as url:
        settings, store = Settings(api_key="k", base_url=url), MemoryStore()

        def server(agent):
            return create_app([Agent(agent, tools=[pay])], settings=settings, store=store)

        async with server("old") as app:
            asked = await app.run_turn("Pay", user_id="ann")
        async with server("new") as app:
            with pytest.raises(NotFound, match="not here any more"):
                await app.answer_approval("ann", asked.waiting[0], Decision(approved=True))
            assert (await store.get_approval("ann", asked.waiting[0])).status == "pending"
        async with server("old") as app:
            await app.answer_approval("ann", asked.waiting[0], Decision(approved=True))
        assert (await store.evidence(asked.session_id)).log[-1].type == "message"


@pytest.mark.parametrize(
    ("agents", "options", "why"),
    [
        ([Agent("a"), Agent("a")], {}, "a name of its own"),
        ([Agent("a", tools=[look, look])], {}, "a name of its own"),
        ([Agent("a", tools=[print])], {}, "decorate it with @tool"),
        ([Agent("a")], {"store": "mysql:x"}, "'mysql' is no kind of store"),
        ([Agent("a")], {"engine": "parrot"}, "is not known here"),
    ],
)
def test_what_cannot_work_is_said_at_once(agents, options, why):
    with pytest.raises(ConfigError, match=why):
        create_app(agents, settings=Settings(), **options)
