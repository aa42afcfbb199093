"""Live, cut off, reloaded, in a second tab and replayed: every golden page looks the same."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from web.browser import House, Tab, new_context, new_tab

from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.simulator import SimulatedClaude
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.golden import flows, pages
from turnlog.testing.golden.stages import add_tasks, stage_for
from turnlog.testing.tabs import serve_sockets

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PAGES = sorted((Path(__file__).parent.parent / "flows").glob("*.md"))
assert len(PAGES) > 50
EVERY = 5  # events after which a connection is cut


async def cut_off(page):
    """Close the page's websocket after every few events. The page comes back by itself."""

    closing = []

    def connected(client):
        server = client.connect_to_server()
        left = EVERY

        def received(message):
            nonlocal left
            client.send(message)
            if isinstance(message, str) and '"agent:event"' in message:
                left -= 1
                if left == 0:
                    closing.append(asyncio.ensure_future(client.close()))

        server.on_message(received)

    await page.route_web_socket("**/socket.io/**", connected)


@dataclass
class Watchers:
    """Three tabs that stay open from page to page, and the house that they look at."""

    house: House
    live: Tab
    cut: Tab
    fresh: Tab

    def all(self):
        return self.live, self.cut, self.fresh


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def watchers(browser):
    house = House()
    async with serve_sockets(house) as url:
        context = await new_context(browser)
        live, cut, fresh = [await new_tab(context, url) for _ in range(3)]
        await cut_off(cut.page)
        yield Watchers(house, live, cut, fresh)
        await context.close()


@asynccontextmanager
async def staged(page, house):
    """The app of the page, in the house, with its Claude."""
    sim = SimulatedClaude(pace=0)
    async with sim.serve() as claude, stage_for(page) as stage:
        settings = Settings(
            api_key="t", base_url=claude, approval_timeout=flows.patience(page), **page.settings
        )
        app = create_app(
            stage.agents, settings=settings, store=MemoryStore(), connections=stage.connections
        )
        async with app:
            await add_tasks(page, app.tasks)
            house.app = app
            yield app, sim


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_a_page_looks_the_same_however_it_is_seen(path, watchers):
    page = pages.read_page(path)
    live, cut, fresh = watchers.all()
    async with staged(page, watchers.house) as (app, sim):
        session = await app.create_session(flows.USER)
        place = f"/s/{session.id}"
        await asyncio.gather(live.go(place), cut.go(place))
        await live.page.locator('[data-state="live"]').wait_for()
        await flows.play(page, app, sim, session.id, flows.by_library)
        await fresh.go(place)
        await fresh.page.locator(".row").first.wait_for()
        expected = await fresh.looks_like(live)  # and knows by now who looks at it
        assert "Loading" not in expected
        assert await live.screen() == expected
        assert await cut.shows(expected) == expected
        shown = await fresh.rows()
        await fresh.follow(f"{place}/audit")
        await fresh.page.get_by_role("tab", name="As shown").click()
        await fresh.page.locator(".as-shown .row").first.wait_for()
        assert await fresh.rows(".as-shown") == shown
        await asyncio.gather(*(one.leave() for one in watchers.all()))
