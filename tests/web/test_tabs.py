"""Two tabs of one browser at one session: what waits in line is the same in both."""

from contextlib import asynccontextmanager

import pytest
from web.browser import new_context, new_tab
from web.office import office

from turnlog.simulator import Reply, ToolCall

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
WAITS = Reply(ToolCall("wait"))


@asynccontextmanager
async def two_tabs(browser, *says):
    """At a session whose turn waits."""
    async with office(WAITS, *says) as here:
        session = await here.session()
        context = await new_context(browser)
        tabs = [await new_tab(context, here.url) for _ in range(2)]
        for each in tabs:
            await each.go(f"/s/{session}")
            await each.page.locator('[data-state="live"]').wait_for()
        await tabs[0].ask("Wait")
        for each in tabs:
            await each.page.locator('[data-outcome="running"]').wait_for()
        yield here, *tabs
        for each in tabs:
            await each.is_fine()
        await context.close()


async def test_what_is_taken_out_of_the_line_in_one_tab_is_sent_by_none(browser):
    async with two_tabs(browser, Reply("It went."), Reply("Hello.")) as (here, one, two):
        await one.ask("Pay Adatum")
        await one.ask("Say hello")
        await two.page.get_by_text("Say hello").wait_for()
        await two.page.get_by_role("button", name="Remove").first.click()
        await one.page.get_by_text("Pay Adatum").wait_for(state="detached")
        here.go.set()
        for each in (one, two):
            await each.ended(2)
            assert await each.page.locator(".queued").count() == 0
            assert await each.page.locator(".bubble").all_inner_texts() == ["Wait", "Say hello"]


async def test_what_waits_in_line_is_sent_once_and_in_its_order(browser):
    says = [Reply("It went."), *[Reply(f"Answer {n}.") for n in range(3)]]
    async with two_tabs(browser, *says) as (here, one, two):
        asked = ["First", "Second", "Third"]
        for text in asked:
            await one.ask(text)
        await two.page.get_by_text("Third").wait_for()
        here.go.set()
        for each in (one, two):
            await each.ended(4)
            assert await each.page.locator(".bubble").all_inner_texts() == ["Wait", *asked]


async def test_a_line_goes_on_in_the_tab_that_is_left(browser):
    async with two_tabs(browser, Reply("It went."), Reply("Hello.")) as (here, one, two):
        await one.ask("Say hello")
        await two.page.get_by_text("Say hello").wait_for()
        await one.page.close()
        here.go.set()
        await two.ended(2)
        one.page = two.page  # it is looked at in the end
