"""kill -9 while clients watch: they come back, and see what somebody sees who only reloads."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from turnlog.engines.claude.sse import SseSplitter
from turnlog.projections.transcript import transcript
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow

APP = """
import asyncio
from pathlib import Path
from turnlog import Agent, create_app, tool

@tool(approval="never", timeout=1)
async def wait() -> str:
    "Waits for ever, but only once."
    waited = Path("waited")
    if not waited.exists():
        waited.touch()
        await asyncio.Event().wait()

app = create_app(agents=[Agent("waiter", tools=[wait])])
"""
REPLIES = {
    "write": Reply(" ".join(f"word-{n}" for n in range(2000))),
    "wait": Reply("Let me see.", ToolCall("wait")),
    "next": Reply("Fine."),
    "again": Reply("Again."),
}


def answer(body):
    last = body["messages"][-1]["content"][-1]
    return REPLIES[last["text"]] if last["type"] == "text" else Reply("I cannot tell.")


class Client:
    """Somebody with a page open: keeps what was shown, and goes on from there."""

    def __init__(self, http, session, cursor=None):
        self.http = http
        self.session = session
        self.cursor = cursor
        self.events = []
        self.resyncs = 0
        self._news = asyncio.Event()

    async def watch(self, url):
        """Until the server is gone."""
        path = f"{url}/api/sessions/{self.session}/stream"
        try:
            while True:
                after = {"after": self.cursor} if self.cursor else {}
                async with self.http.get(path, params=after) as response:
                    assert response.status == 200
                    await self._read(url, response)
        except aiohttp.ClientError:
            return

    async def seen(self, kind, times=1):
        """Wait until that many events of the kind have been shown."""
        async with asyncio.timeout(60):
            while sum(event["type"] == kind for event in self.events) < times:
                self._news.clear()
                await self._news.wait()

    async def saw_it_answered(self, text):
        """Wait until the turn that ends with this text is over."""
        async with asyncio.timeout(60):
            while not self._is_over(text):
                self._news.clear()
                await self._news.wait()

    def _is_over(self, text):
        done = {event["turnId"] for event in self.events if event["type"] == "complete"}
        said = [e for e in self.events if e["type"] == "message" and e["content"] == text]
        return bool(said) and said[-1]["turnId"] in done

    async def reload(self, url):
        page = await reloaded(self.http, url, self.session)
        self.events, self.cursor = page["events"], page["cursor"]
        self._news.set()

    async def _read(self, url, response):
        splitter = SseSplitter()
        async for piece in response.content.iter_any():
            for event in splitter.feed(piece):
                if event["type"] == "resync_required":
                    self.resyncs += 1
                    await self.reload(url)
                    return
                self.events.append(event)
                self.cursor = event["cursor"]
            self._news.set()


async def reloaded(http, url, session):
    async with http.get(f"{url}/api/sessions/{session}/messages?limit=1000") as response:
        return await response.json()


async def ask(http, url, session, message):
    path = f"{url}/api/sessions/{session}/messages"
    async with http.post(path, json={"message": message, "onBusy": "enqueue"}) as response:
        assert response.status == 202, await response.text()
        return await response.json()


@asynccontextmanager
async def watched(url, *clients):
    tasks = [asyncio.create_task(client.watch(url)) for client in clients]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def claude():
    async with SimulatedClaude(answer=answer, pace=0.01).serve() as url:
        yield url


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as http:
        yield http


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "waiting.py").write_text(APP)
    return tmp_path


async def two_clients(http, url):
    """One who was there from the start, and one who comes without a cursor."""
    async with http.post(f"{url}/api/sessions") as response:
        session = (await response.json())["id"]
    one, two = Client(http, session), Client(http, session)
    await one.reload(url)
    return one, two


# what is asked, when the server is killed, how the turn ends
KILLS = [
    ("write", "user_message_sent", "failed"),
    ("write", "message_chunk", "failed"),
    ("wait", "tool_use", "done"),  # another process goes on with it
    ("next", "complete", "done"),
]


@pytest.mark.parametrize(("message", "moment", "state"), KILLS)
async def test_who_watches_a_server_die_ends_with_the_same_screen_as_who_reloads(
    folder, claude, http, message, moment, state
):
    async with serving(folder, claude, "waiting:app") as server:
        one, two = await two_clients(http, server.url)
        async with watched(server.url, one, two):
            await ask(http, server.url, one.session, message)
            await asyncio.gather(one.seen(moment), two.seen(moment))
            await server.kill()
    async with serving(folder, claude, "waiting:app") as server:
        async with watched(server.url, one, two):
            await ask(http, server.url, one.session, "again")
            await asyncio.gather(*(each.saw_it_answered("Again.") for each in (one, two)))
        log = (await reloaded(http, server.url, one.session))["events"]
    assert transcript(one.events) == transcript(two.events) == transcript(log)
    assert [turn.state for turn in transcript(log)] == [state, "done"]
    if moment == "complete":
        assert (one.resyncs, two.resyncs) == (0, 0)


async def test_a_client_that_comes_back_is_shown_how_the_turn_ended(folder, claude, http):
    async with serving(folder, claude, "waiting:app") as server:
        one, two = await two_clients(http, server.url)
        async with watched(server.url, one, two):
            await ask(http, server.url, one.session, "write")
            await asyncio.gather(one.seen("message_chunk"), two.seen("message_chunk"))
            await server.kill()
    async with serving(folder, claude, "waiting:app") as server:
        async with watched(server.url, one, two):
            await asyncio.gather(one.seen("error"), two.seen("error"))
            assert (one.resyncs, two.resyncs) == (0, 0)
        log = (await reloaded(http, server.url, one.session))["events"]
    assert transcript(one.events) == transcript(two.events) == transcript(log)


async def test_messages_in_line_are_asked_under_the_ids_that_their_senders_were_told(
    folder, claude, http
):
    async with serving(folder, claude, "waiting:app") as server:
        one, _ = await two_clients(http, server.url)
        await ask(http, server.url, one.session, "write")
        told = [await ask(http, server.url, one.session, text) for text in ("next", "again")]
        await server.kill()
    assert [each["place"] for each in told] == [1, 2]
    async with serving(folder, claude, "waiting:app") as server:
        async with watched(server.url, one):
            await one.saw_it_answered("Again.")
        log = (await reloaded(http, server.url, one.session))["events"]
    asked = {e["content"]: e["turnId"] for e in log if e["type"] == "user_message_sent"}
    assert list(asked) == ["write", "next", "again"]
    assert [asked["next"], asked["again"]] == [each["turnId"] for each in told]
