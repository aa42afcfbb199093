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


async def test_the_log_is_walked_by_keyboard_through_what_is_listed(browser):
    async with office(*[Reply(f"Answer {n}.") for n in range(30)]) as here:
        session = await here.session()
        for n in range(30):
            await here.app.run_turn(f"Question {n}", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}/audit")
            chosen = one.page.locator(".timeline").get_by_role("option", selected=True)
            await chosen.get_by_text("Answer 29.").wait_for()
            await one.page.get_by_role("searchbox", name="Filter text or id").fill("question")
            await one.page.locator(".timeline").focus()
            steps = {"ArrowUp": 29, "PageUp": 19, "Home": 0, "ArrowDown": 1, "PageDown": 11}
            for key, question in (steps | {"End": 29}).items():
                await one.page.keyboard.press(key)
                await chosen.get_by_text(f"Question {question}", exact=True).wait_for()


async def test_a_replay_shows_the_newest_of_its_moment(browser):
    async with office(*[Reply(f"Answer {n}. " + "On. " * 200) for n in range(6)]) as here:
        session = await here.session()
        for n in range(6):
            await here.app.run_turn(f"Question {n}", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}/audit")
            await one.page.get_by_role("tab", name="As shown").click()
            shown = one.page.locator(".as-shown")
            await shown.get_by_text("Answer 5.").wait_for()
            await one.page.wait_for_function(NEWEST_IN_VIEW)
            await one.page.get_by_role("option").filter(has_text="Answer 2.").click()
            await shown.get_by_text("Answer 3.").wait_for(state="detached")
            await one.page.wait_for_function(NEWEST_IN_VIEW)
            await one.page.keyboard.press("ArrowRight")
            await shown.get_by_text("Question 3").wait_for()
            await one.page.wait_for_function(NEWEST_IN_VIEW)


NEWEST_IN_VIEW = """() => {
  const box = document.querySelector('.inspector-body').getBoundingClientRect();
  const last = document.querySelector('.as-shown > :last-child').getBoundingClientRect();
  return last.bottom <= box.bottom + 1 && last.bottom > box.top;
}"""
LONG = "Customer for the Lyon branch, with the credit limit that was agreed in October 2026"
UNFOUNDED = "I have deleted the 3 invoices of Adatum."


@pytest.mark.parametrize("width", [1280, 1024, 820, 768, 390, 320])
async def test_a_long_title_leaves_the_head_of_an_audit_in_order(browser, width):
    async with office(Reply(UNFOUNDED)) as here:
        session = await here.session(LONG)
        await here.app.run_turn("Delete them", session_id=session, user_id=USER)
        async with tab(browser, here.url, size=(width, 800)) as one:
            await one.go(f"/s/{session}/audit")
            await one.page.get_by_role("button", name="1 claim to check").wait_for()
            await one.page.get_by_text("Log verified").wait_for()
            head = await one.page.locator(".audit > .top").bounding_box()
            back = await one.page.get_by_role("link", name="Session").bounding_box()
            title = await one.page.get_by_role("heading", name=LONG).bounding_box()
            export = await one.page.get_by_role("button", name="Export JSONL").bounding_box()
            assert {middle(back), middle(title), middle(export)} == {middle(title)}  # one line
            assert title["width"] >= 120
            assert export["x"] + export["width"] == width - (20 if width >= 768 else 12)
            assert export["y"] - head["y"] >= 6
            assert head["y"] + head["height"] - export["y"] - export["height"] >= 6
            if width >= 768:
                assert head["height"] == 52  # as everywhere
            await pictures.fits(one.page)


def middle(box):
    return round(box["y"] + box["height"] / 2)


async def test_a_log_that_is_not_whole_is_told_in_words_that_can_be_read(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url, size=(820, 1100)) as one:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        problems = [f"the row of number {n} is not what was sealed" for n in range(5)]
        broken = {"ok": False, "first": 0, "last": 9, "problems": problems}
        await one.page.route("**/verify", lambda route: route.fulfill(json=broken))
        await one.go(f"/s/{session}/audit")
        await one.page.get_by_text("Log not whole").wait_for()
        told = one.page.get_by_text("The log is not whole: the row of number 0")
        assert (await told.inner_text()).endswith("number 2 is not what was sealed, and 2 more.")
        assert await offences(one.page) == []


async def test_an_audit_says_when_its_log_could_not_be_verified(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        problem = {"type": "urn:turnlog:problem:busy", "detail": "The store does not answer."}
        await one.page.route("**/verify", lambda route: route.fulfill(status=503, json=problem))
        await one.go(f"/s/{session}/audit")
        await one.page.get_by_role("alert").get_by_text("The store does not answer.").wait_for()
