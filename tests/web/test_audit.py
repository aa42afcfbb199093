"""The audit of a session at every width, of long logs, and of what is not there."""

import pytest
from web.browser import NARROW, TRIES, WIDE, offences, tab
from web.office import USER, office

from turnlog.simulator import Reply
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("size", [WIDE, (820, 1100), NARROW], ids=["wide", "tablet", "phone"])
async def test_the_filter_is_in_reach_at_every_width(browser, size):
    async with office(*[Reply(f"Answer {n}.") for n in range(30)]) as here:
        session = await here.session()
        for n in range(30):
            await here.app.run_turn(f"Question {n}", session_id=session, user_id=USER)
        async with tab(browser, here.url, size=size) as one:
            await one.go(f"/s/{session}/audit")
            await one.page.get_by_text("Log verified").wait_for()
            field = one.page.get_by_role("searchbox", name="Filter text or id")
            box = await field.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= size[0]
            await pictures.fits(one.page)
            timeline = one.page.locator(".timeline")
            await timeline.get_by_role("option", selected=True).wait_for()  # the log came
            await timeline.hover()
            first = one.page.get_by_text("Question 0", exact=True)
            for _ in range(TRIES):  # the list may still be on its way to the chosen event
                await one.page.mouse.wheel(0, -5000)
                if await first.is_visible():
                    break
                await one.page.wait_for_timeout(50)
            assert await first.is_visible()
            assert await offences(one.page) == []
            await field.fill("question 17")
            await one.page.get_by_text("Question 17", exact=True).wait_for()
            assert await timeline.get_by_role("option").count() == 1


async def test_the_audit_of_a_session_that_is_not_there_says_so(browser):
    async with office() as here, tab(browser, here.url) as one:
        await one.go("/s/nobody/audit")
        await one.page.get_by_text("There is no such session").wait_for()


async def test_a_log_that_is_too_long_to_list_says_so(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        session = await here.session()
        result = await here.app.run_turn("Hi", session_id=session, user_id=USER)
        asked = []

        async def page(route):
            """The same event a thousand times, and more behind it."""
            if "internal=true" not in route.request.url:
                return await route.continue_()
            event = (await (await route.fetch()).json())["events"][0]
            asked.append(len(asked))
            events = [
                event | {"eventId": f"{asked[-1]}-{n}", "turnId": result.turn_id}
                for n in range(1000)
            ]
            return await route.fulfill(json={"events": events, "after": 0})

        await one.page.route("**/events?*", page)
        await one.go(f"/s/{session}/audit")
        await one.page.get_by_text("Only the first 20,000 events are listed.").wait_for()
