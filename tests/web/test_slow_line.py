"""While answers are on their way, a page does not say what nobody knows yet."""

import asyncio

import pytest
from web.browser import tab
from web.office import CREATE, USER, office

from turnlog.simulator import Reply

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
# (the page, what of it is there at once, what answers late, what would be wrong, what comes)
# fmt: off
LATE = [
    ("/s/{}",       ".composer-box", "**/messages*",       "$0.00",                 "Here I am."),
    ("/approvals",  "h1",            "**/api/approvals*",  "Nothing waits for you", "Atelier"),
    ("/usage",      "h1",            "**/billing/**",      "Cost by day",           "Cost by day"),
    ("/audit",      ".usage .table", "**/audit/sessions*", "No sessions.",          "Lyon branch"),
    ("/s/{}/audit", ".filters",      "**/events?*",        "Turn 1 ·",              "Turn 1 ·"),
]
# fmt: on


@pytest.mark.parametrize(
    ("path", "there", "late", "wrong", "right"),
    LATE,
    ids=["session", "inbox", "usage", "audits", "audit"],
)
async def test_a_page_whose_answer_is_on_its_way_says_that_it_loads(
    browser, path, there, late, wrong, right
):
    async with office(Reply("Here I am."), Reply(CREATE)) as here:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        await here.app.run_turn("Create it", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:
            may_go = asyncio.Event()

            async def slow(route):
                await may_go.wait()
                await route.continue_()

            await one.page.route(late, slow)
            await one.go(path.format(session))
            await one.page.locator(there).first.wait_for()
            main = one.page.locator("main")
            await main.get_by_text("Loading…").first.wait_for()
            assert await main.get_by_text(wrong).count() == 0
            may_go.set()
            await main.get_by_text(right).first.wait_for()
            await main.get_by_text("Loading…").wait_for(state="detached")
            await one.page.unroute_all(behavior="wait")
        await here.app.stop_turn(USER, session)


async def test_figures_are_never_called_those_of_another_range(browser):
    async with office(Reply("Here I am.")) as here, tab(browser, here.url) as one:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        await one.go("/usage")
        await one.page.get_by_text("30 days", exact=True).wait_for()
        may_go = asyncio.Event()

        async def slow(route):
            await may_go.wait()
            await route.continue_()

        await one.page.route("**/billing/**", slow)
        await one.page.locator(".top .menu-place button").first.click()
        await one.page.get_by_role("button", name="7 days").click()
        await one.page.get_by_text("Loading…").wait_for()
        assert await one.page.locator(".figure").get_by_text("30 days", exact=True).is_visible()
        may_go.set()
        await one.page.locator(".figure").get_by_text("7 days", exact=True).wait_for()
        await one.page.get_by_text("Loading…").wait_for(state="detached")
        await one.page.unroute_all(behavior="wait")


async def test_a_session_without_a_word_says_so(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        empty = one.page.get_by_text("Nothing has been said here yet.")
        await empty.wait_for()
        await one.ask("Hi")
        await one.ended()
        assert await empty.count() == 0


async def test_an_agent_has_one_colour_in_a_conversation_and_in_the_chart(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        session = (await here.app.create_session(USER, agent="erp")).id
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        await one.go(f"/s/{session}")
        await one.page.locator(".head .badge.a2").wait_for()
        await one.go("/usage")
        await one.page.locator(".legend", has_text="Erp").locator("i.a2").wait_for()
