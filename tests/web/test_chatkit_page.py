"""The page at `/chatkit`, in a real browser: it speaks the protocol by itself."""

import pytest
from web.browser import PATIENCE, WATCH

from turnlog.simulator import Reply, ToolCall
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET
from turnlog.testing.office import office
from turnlog.tokens import mint

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
SCRIPT = [Reply("Sure. ", ToolCall("pay", {"amount": 3})), Reply("Done."), Reply("Bye.")]


async def test_a_person_asks_allows_reloads_and_goes_on(browser):
    async with office(*SCRIPT, secret=SECRET) as bureau:
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE)
        await page.add_init_script(WATCH)
        await page.goto(f"{str(bureau.http.base_url).rstrip('/')}/chatkit")
        await page.locator("#token").fill(mint(SECRET, "alice"))
        await page.get_by_label("Message").fill("Pay")
        await page.get_by_role("button", name="Send").click()
        await page.get_by_role("button", name="Allow").click()
        await page.get_by_text("Done.", exact=True).wait_for()
        await page.locator("#stop").wait_for(state="hidden")  # the answer is kept
        assert bureau.world.paid == [("Bob", 3)]
        shown = await page.locator("#thread .item").all_inner_texts()
        await page.reload()
        await page.locator("#token").fill(mint(SECRET, "alice"))
        await page.locator("#token").press("Tab")
        await page.get_by_text("Done.", exact=True).wait_for()
        assert await page.locator("#thread .item").all_inner_texts() == shown
        assert any("Allowed by alice" in text for text in shown)
        picture = {"name": "a.png", "mimeType": "image/png", "buffer": made.picture("PNG", (9, 9))}
        await page.get_by_label("Files").set_input_files([picture])
        await page.get_by_label("Message").fill("And?")
        await page.get_by_role("button", name="Send").click()
        await page.get_by_text("Bye.", exact=True).wait_for()
        await page.get_by_text("[a.png]").wait_for()
        assert await page.evaluate("window.refused") == []
        await page.close()
