"""The chat as a web component in a page of another site, as docs/embedding.md has it."""

import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from web.browser import new_context
from web.office import office

from turnlog.simulator import Reply
from turnlog.simulator.listener import listen
from turnlog.testing.apps import SECRET
from turnlog.tokens import mint

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DOCS = Path(__file__).parent.parent.parent / "docs" / "embedding.md"


class Host:
    """A site of somebody else: the example of the documentation."""

    def __init__(self):
        example = re.search(r"```html\n(.*?)```", DOCS.read_text(), re.S)[1]
        self.example = example
        self.server = ""

    async def page(self, request):
        return HTMLResponse(self.example.replace("https://turnlog.example", self.server))

    async def token(self, request):
        return PlainTextResponse(mint(SECRET, "anna"))


@asynccontextmanager
async def hosted():
    host = Host()
    routes = [Route("/", host.page), Route("/turnlog-token", host.token)]
    async with listen(Starlette(routes=routes), "127.0.0.1", 0) as url:
        yield host, url


async def embedded(page, site, answer):
    """Ask in the chat on somebody's page, until it is answered."""
    await page.goto(site)
    chat = page.frame_locator("turnlog-chat iframe")
    await chat.get_by_label("Message", exact=True).fill("Hi")
    await chat.get_by_label("Message", exact=True).press("Enter")
    await chat.get_by_text(answer, exact=True).wait_for()
    return chat


async def test_the_example_of_the_documentation_works(browser):
    async with hosted() as (host, site):
        settings = {"auth_secret": SECRET, "cors_origins": site}
        async with office(Reply("Hello from the frame."), **settings) as here:
            host.server = here.url
            context = await new_context(browser)
            page = await context.new_page()
            chat = await embedded(page, site, "Hello from the frame.")
            root = chat.locator("html")
            accent = "root => getComputedStyle(root).getPropertyValue('--accent')"
            assert await root.evaluate(accent) == "#0d6b64"
            assert await chat.get_by_role("navigation").count() == 0
            assert "eyJ" not in "".join(frame.url for frame in page.frames)  # no token
            await context.close()


async def test_a_site_that_is_not_named_cannot_show_the_chat(browser):
    settings = {"auth_secret": SECRET, "cors_origins": "https://other.example"}
    async with hosted() as (host, site), office(**settings) as here:
        host.server = here.url
        context = await new_context(browser)
        page = await context.new_page()
        async with page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            await page.goto(site)
        await page.locator("turnlog-chat iframe").wait_for()
        assert await page.frame_locator("turnlog-chat iframe").locator("#root").count() == 0
        await context.close()
