"""The list of sessions: in reach at every width, for archived ones too, and by keyboard."""

import pytest
from web.browser import tab
from web.office import USER, office

from turnlog.simulator import Reply, ToolCall
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
TABLET, PHONE = (900, 700), (390, 844)


@pytest.mark.parametrize("size", [TABLET, PHONE], ids=["tablet", "phone"])
async def test_where_the_list_has_no_room_it_is_a_sheet_and_a_key_opens_it(browser, size):
    async with office(Reply("Hello.")) as here:
        session = await here.session(title="An older one")
        async with tab(browser, here.url, size=size) as one:
            await one.go("/")
            search = one.page.get_by_label("Search sessions")
            assert not await search.is_visible()
            await one.page.get_by_role("button", name="Sessions").click()
            await search.wait_for()
            await pictures.fits(one.page)
            await one.page.keyboard.press("Escape")
            await search.wait_for(state="hidden")
            await one.page.keyboard.press("Control+k")
            await one.page.wait_for_function("() => document.activeElement.id === 'search'")
            await one.page.keyboard.type("older")
            await one.page.get_by_role("link", name="An older one").click()
            await one.page.wait_for_url(f"**/s/{session}")
            await search.wait_for(state="hidden")


async def test_escape_closes_the_sheet_before_it_stops_a_turn(browser):
    async with office(Reply(ToolCall("wait")), Reply("Done.")) as here:
        session = await here.session()
        async with tab(browser, here.url, size=TABLET) as one:
            await one.go(f"/s/{session}")
            await one.ask("Wait")
            await one.page.locator('[data-outcome="running"]').wait_for()
            await one.page.get_by_role("button", name="Sessions").click()
            await one.page.keyboard.press("Escape")
            await one.page.get_by_label("Search sessions").wait_for(state="hidden")
            assert await one.page.get_by_role("button", name="Stop").is_visible()
            here.go.set()
            await one.ended()


async def test_an_archived_session_is_found_read_and_brought_back(browser):
    async with office(Reply("The answer."), Reply("It goes on.")) as here:
        session = await here.session(title="Old business")
        await here.app.run_turn("Ask", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:
            await one.go("/")
            await one.page.get_by_role("link", name="Old business").hover()
            await one.page.get_by_role("button", name="Menu of Old business").click()
            await one.page.get_by_role("button", name="Archive", exact=True).click()
            await one.page.get_by_role("link", name="Old business").wait_for(state="detached")
            await one.page.get_by_role("button", name="Archived sessions").click()
            await one.page.get_by_role("link", name="Old business").click()
            await one.page.get_by_text("The answer.").wait_for()
            await one.page.reload()  # its title and its state are known without the list
            await one.page.get_by_role("heading", name="Old business").wait_for()
            assert await one.page.get_by_label("Message", exact=True).is_disabled()
            await one.page.get_by_role("button", name="Restore").click()
            await one.page.get_by_role("link", name="Old business").wait_for()
            await one.ask("Go on")
            await one.ended(2)


async def test_what_could_not_be_saved_or_looked_for_is_told_in_its_place(browser):
    async with office() as here:
        session = await here.session(title="Old")
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.page.locator('[data-state="live"]').wait_for()
            title = one.page.get_by_role("button", name="Old", exact=True)
            await title.wait_for()  # it comes by another way than the socket
            await one.page.context.set_offline(True)
            await title.click()
            field = one.page.get_by_label("Title", exact=True)
            await field.fill("New")
            await field.press("Enter")
            await one.page.locator(".title").get_by_text("No connection to the server.").wait_for()
            assert await field.input_value() == "New"
            await one.page.get_by_role("button", name="Archived sessions").click()
            told = one.page.locator(".sessions").get_by_text("No connection to the server.")
            await told.wait_for()
            await one.page.context.set_offline(False)
            await field.press("Enter")
            await one.page.get_by_role("button", name="New", exact=True).wait_for()
            await one.page.get_by_role("button", name="Archived sessions").click()
            await told.wait_for(state="detached")
        assert (await here.app.store.get_session(USER, session)).title == "New"


async def test_a_search_that_found_nothing_does_not_ask_to_search(browser):
    async with office() as here, tab(browser, here.url) as one:
        await one.go("/")
        await one.page.get_by_role("searchbox").fill("rhubarb")
        await one.page.get_by_text("Nothing found. Enter searches everything.").wait_for()
        await one.page.keyboard.press("Enter")
        await one.page.get_by_text("Nothing found.", exact=True).wait_for()


async def test_the_page_says_which_model_store_and_sequencer_are_in_use(browser):
    async with office() as here, tab(browser, here.url) as one:
        await one.go("/")
        await one.page.get_by_role("button", name="Keys").click()
        told = one.page.get_by_role("dialog")
        for words in (here.app.settings.model, "Memory (memory:)", "number and row in one step"):
            await told.get_by_text(words).wait_for()


async def test_whoever_renames_by_keyboard_goes_on_where_they_were(browser):
    async with office() as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session(title='Old')}")
        title = one.page.get_by_role("button", name="Old", exact=True)
        for key, expected in [("Escape", "Old"), ("Enter", "New")]:
            await title.press("Enter")
            await one.page.keyboard.type("New")
            await one.page.keyboard.press(key)
            title = one.page.get_by_role("heading").get_by_role("button", name=expected)
            await title.and_(one.page.locator(":focus")).wait_for()
        await one.page.get_by_role("button", name="Menu of New").press("Enter")
        await one.page.get_by_role("button", name="Rename").press("Enter")
        await one.page.keyboard.type("Newer")
        await one.page.keyboard.press("Enter")
        link = one.page.get_by_role("link", name="Newer")
        await link.and_(one.page.locator(":focus")).wait_for()


async def test_whoever_filters_the_list_is_told_that_there_may_be_more(browser):
    async with office(Reply("Rhubarb is due.")) as here, tab(browser, here.url) as one:
        said = await here.session(title="Invoices")
        await here.session(title="Rhubarb")
        await here.app.run_turn("What is due?", session_id=said, user_id=USER)
        await one.go("/")
        await one.page.get_by_role("searchbox").fill("rhubarb")
        await one.page.get_by_role("link", name="Rhubarb").wait_for()
        await one.page.get_by_text("Enter searches everything.").wait_for()
        await one.page.keyboard.press("Enter")
        await one.page.get_by_role("link", name="Invoices").wait_for()
        assert await one.page.get_by_text("Enter searches everything.").count() == 0
