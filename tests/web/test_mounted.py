"""The web UI of a server that is mounted in somebody else's application."""

from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from web.browser import new_context, tab
from web.office import office
from web.test_embedding import embedded, hosted
from web.test_signing_in import provided

from turnlog.ports import Agent
from turnlog.simulator import Reply
from turnlog.testing.apps import SECRET, scripted_app
from turnlog.testing.tabs import serve_sockets

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PLACE = "/assistant"


def mounted(app):
    """Serves it as a part of another application."""
    return serve_sockets(Starlette(routes=[Mount(PLACE, app)]))


async def test_every_page_works_below_the_place_where_the_server_is_mounted(browser):
    async with (
        scripted_app(Reply("Hello."), agents=[Agent("a")]) as (app, _),
        mounted(app) as url,
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


async def test_a_wrong_address_leads_back_to_where_the_server_is_mounted(browser):
    async with (
        scripted_app(Reply("Hello."), agents=[Agent("a")]) as (app, _),
        mounted(app) as url,
        tab(browser, url) as one,
    ):
        await one.go(f"{PLACE}/seesions/1")
        await one.page.get_by_text(f"Nothing is at {PLACE}/seesions/1.").wait_for()
        await one.page.locator(".empty").get_by_role("link", name="New session").click()
        await one.page.get_by_label("Message", exact=True).wait_for()
        assert one.page.url.rstrip("/") == url + PLACE


async def test_a_user_signs_in_with_a_provider_below_that_place(browser):
    async with provided(serve=mounted) as (_, here):
        context = await new_context(browser)
        page = await context.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        await page.goto(f"{here.url}{PLACE}/usage")
        await page.get_by_role("button", name="Sign in…").click()
        await page.get_by_text("Cost by day").wait_for()
        assert urlsplit(page.url)[2:] == (f"{PLACE}/usage", "", "")
        own = [url.removeprefix(here.url) for url in asked if url.startswith(here.url)]
        assert any(path.startswith(f"{PLACE}/signin?code=") for path in own)
        assert [path for path in own if not path.startswith(f"{PLACE}/")] == []
        await context.close()


async def test_the_chat_is_embedded_from_below_that_place(browser):
    async with hosted() as (host, site):
        settings = {"auth_secret": SECRET, "cors_origins": site}
        async with office(Reply("From below."), serve=mounted, **settings) as here:
            host.server = here.url + PLACE
            context = await new_context(browser)
            await embedded(await context.new_page(), site, "From below.")
            await context.close()
