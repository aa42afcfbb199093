"""The other pages: a new session, the inbox, usage, the audit. Axe is silent on each of them."""

import pytest
from web.browser import NARROW, WIDE, chromium, offences, tab
from web.office import ANSWER, PARALLEL, USER, office

from turnlog.ports import Decision, Question
from turnlog.simulator import Reply
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DONE = Reply("The customer **Atelier Rhône** is created with number C00120.")
ASKED = Question(message="Create “Atelier Rhône” in Lyon.", enable_thinking=True)
LOOKS = [("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)]


async def looks(one, name, request, only=("light", "dark")):
    for theme, (width, height) in LOOKS:
        await one.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await one.page.set_viewport_size({"width": width, "height": height})
        await one.page.evaluate("t => document.documentElement.dataset.theme = t", theme)
        assert await offences(one.page) == []
        if request.config.getoption("--accept") and theme in only:
            await pictures.take(one.page, f"{name}-{theme}" + ("-phone" if width < 500 else ""))


async def test_a_new_session_offers_agents_and_things_to_try(browser, request):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        await one.go("/")
        await one.page.get_by_role("button", name="Create a customer called").wait_for()
        assert await one.page.locator(".suggestion").count() == 3
        await looks(one, "empty", request)
        await one.page.locator(".suggestion").first.click()  # fills, does not send
        field = one.page.get_by_label("Message", exact=True)
        assert (await field.input_value()).startswith("Create a customer")
        await field.press("Enter")
        await one.page.get_by_text("Hello.", exact=True).wait_for()
        await one.page.wait_for_url("**/s/*")


async def test_the_inbox_the_audit_and_the_usage_of_a_session(browser, request):
    async with office(PARALLEL, ANSWER, DONE) as here, tab(browser, here.url) as one:
        session = await here.session()
        await here.app.start_turn(USER, session, ASKED)
        await one.go("/approvals")
        await one.page.locator(".approval").wait_for()
        await looks(one, "inbox", request, only=())
        await one.go(f"/s/{session}")
        await one.page.locator(".approval").wait_for()
        await one.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        if request.config.getoption("--accept"):
            await pictures.take(one.page, "approval-phone")
        (approval,) = await here.app.store.list_approvals(USER, status="pending")
        decision = Decision(approved=True, args=approval.args | {"credit_limit": 25_000})
        await here.app.answer_approval(USER, approval.id, decision)
        await here.app.rest()
        await one.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        await one.go("/usage")
        await one.page.locator(".bars .bar").first.wait_for()
        await looks(one, "usage", request)
        await one.go(f"/s/{session}/audit")
        await one.page.get_by_text("Log verified").wait_for()
        await one.page.get_by_label("Place in the log").fill("9")
        await looks(one, "audit", request)
        await one.page.get_by_role("tab", name="Overview").click()
        assert await offences(one.page) == []


async def test_an_address_points_a_colleague_at_one_event(browser):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        session = await here.session()
        result = await here.app.run_turn("Hi", session_id=session)
        event_id = result.events[0].envelope.event_id
        await one.go(f"/s/{session}/audit?event={event_id}")
        await one.page.locator(f'[id="event-{event_id}"][aria-selected="true"]').wait_for()
        for key in ("ArrowRight", "ArrowLeft", "ArrowRight"):
            await one.page.keyboard.press(key)
        assert "Event 1 of" in await one.page.locator(".replay-place").inner_text()


async def test_a_machine_without_a_browser_has_the_one_that_npm_carries():
    async with (
        chromium(carried=True) as carried,
        office(Reply("Hello.")) as here,
        tab(carried, here.url) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        await one.ask("Hi")
        await one.page.get_by_text("Hello.", exact=True).wait_for()
