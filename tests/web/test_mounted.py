"""The web UI of a server that is mounted in somebody else's application."""

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from web.browser import tab

from turnlog.ports import Agent
from turnlog.simulator import Reply
from turnlog.testing.apps import scripted_app
from turnlog.testing.tabs import serve_sockets

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PLACE = "/assistant"


async def test_every_page_works_below_the_place_where_the_server_is_mounted(browser):
    async with (
        scripted_app(Reply("Hello."), agents=[Agent("a")]) as (app, _),
        serve_sockets(Starlette(routes=[Mount(PLACE, app)])) as url,
        tab(browser, url) as one,
    ):
        asked = []
        one.page.on("request", lambda request: asked.append(request.url.removeprefix(url)))
        one.page.on("websocket", lambda socket: asked.append("/" + socket.url.split("/", 3)[3]))
        await one.go(f"{PLACE}/")
        await one.ask("Hi")
        await one.page.get_by_text("Hello.", exact=True).wait_for()
        await one.page.locator('[data-state="live"]').wait_for()
        place = one.page.url.removeprefix(url)
        assert place.startswith(f"{PLACE}/s/")
        await one.page.reload()
        await one.ended()
        await one.page.get_by_label("Message", exact=True).fill("A draft")
        await one.page.get_by_role("link", name="Usage and cost").click()
        await one.page.locator(".bars .bar").first.wait_for()
        await one.page.get_by_role("link", name="Approvals").click()
        await one.page.get_by_text("Nothing waits for you").wait_for()
        await one.go(f"{place}/audit")
        await one.page.get_by_text("Log verified").wait_for()
        await one.page.get_by_role("link", name="Session", exact=True).click()
        assert await one.page.get_by_label("Message", exact=True).input_value() == "A draft"
        assert any("/socket.io/" in path for path in asked)
        assert [path for path in asked if not path.startswith(f"{PLACE}/")] == []
