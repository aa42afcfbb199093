"""The other pages: a new session, the inbox, usage, the audit. Axe is silent on each of them."""

import asyncio

import pytest
from msgspec.structs import replace
from web.browser import NARROW, WIDE, chromium, offences, tab
from web.office import ANSWER, CREATE, PARALLEL, USER, office

from turnlog.ports import Decision, Question
from turnlog.simulator import Reply, ToolCall, Usage
from turnlog.tools.tool import tool
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DONE = Reply("The customer **Atelier Rhône** is created with number C00120.")
ASKED = Question(message="Create “Atelier Rhône” in Lyon.", enable_thinking=True)


async def test_a_new_session_offers_agents_and_things_to_try(browser, request):
    async with office(Reply("Hello.")) as here, tab(browser, here.url) as one:
        await one.go("/")
        await one.page.get_by_role("button", name="Create a customer called").wait_for()
        assert await one.page.locator(".suggestion").count() == 3
        await pictures.check(one, "empty", request, phone=True)
        await one.page.locator(".suggestion").first.click()  # fills, does not send
        field = one.page.get_by_label("Message", exact=True)
        assert (await field.input_value()).startswith("Create a customer")
        await field.press("Enter")
        await one.page.get_by_text("Hello.", exact=True).wait_for()
        await one.page.wait_for_url("**/s/*")


async def test_the_inbox_the_audit_and_the_usage_of_a_session(browser, request, tmp_path):
    kept = {"data": str(tmp_path), "keep_raw": True}
    async with office(PARALLEL, ANSWER, DONE, **kept) as here, tab(browser, here.url) as one:
        session = await here.session()
        asked = replace(ASKED, file_ids=[await here.terms(session, tmp_path)])
        await here.app.start_turn(USER, session, asked)
        await one.go("/approvals")
        await one.page.locator(".approval").wait_for()
        assert await offences(one.page) == []
        await one.go(f"/s/{session}")
        await one.page.locator(".approval").wait_for()
        await one.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        if request.config.getoption("--accept"):
            await pictures.take(one.page, "approval-phone")
        (approval,) = await here.app.store.list_approvals(USER, status="pending")
        decision = Decision(approved=True, args=approval.args | {"credit_limit": 25_000})
        await here.app.answer_approval(USER, approval.id, decision)
        await here.app.rest()
        async with asyncio.timeout(60):
            while len(list(tmp_path.glob("raw/*/*.gz"))) < 3:  # a thread writes them
                await asyncio.sleep(0.01)
        await one.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        await one.go("/usage")
        await one.page.locator(".bars .bar").first.wait_for()
        await pictures.check(one, "usage", request, phone=True)
        await one.go(f"/s/{session}/audit")
        await one.page.get_by_text("Log verified").wait_for()
        await one.page.get_by_label("Place in the log").fill("9")
        await pictures.check(one, "audit", request, phone=True)
        await one.page.get_by_role("tab", name="As shown").click()
        await one.page.locator(".as-shown .approval").wait_for()
        await pictures.check(one, "replay", request, among=[])
        await one.page.get_by_role("tab", name="Overview").click()
        assert await offences(one.page) == []
        await what_was_sent_is_what_was_shown(one, request)


async def what_was_sent_is_what_was_shown(one, request):
    """The raw answer behind a tool call, and the difference to what was made of it: none."""
    place = one.page.get_by_label("Place in the log")
    await place.fill("9")  # the approval: no model said it
    await one.page.get_by_role("tab", name="Raw").click()
    await one.page.get_by_text("No model said this").wait_for()
    await place.fill("8")
    await one.page.locator(".raw-events").get_by_text("message_stop").wait_for()
    assert "create_customer" in await one.page.locator(".raw-events").inner_text()
    await one.page.get_by_role("tab", name="Raw").press("ArrowRight")
    await one.page.get_by_role("tab", name="As shown").press("ArrowRight")
    await one.page.get_by_text("10 values, all the same").wait_for()
    assert await one.page.get_by_role("tab", name="Diff 0").count() == 1
    await pictures.check(one, "difference", request, among=pictures.FEW)


IN_VIEW = """([place, width]) => {
    const { left, right } = document.querySelector(place).getBoundingClientRect();
    return innerWidth === width && left >= 0 && right <= width;
}"""


async def test_the_chart_has_its_scale_in_view_and_readable_at_every_width(browser):
    says = Reply("Hello.", usage=Usage(input_tokens=20_000, output_tokens=3_000))
    async with office(says) as here, tab(browser, here.url) as one:
        await here.app.run_turn("Hi", session_id=await here.session(), user_id=USER)
        await one.go("/usage")
        for width, height in (WIDE, (820, 1100), NARROW):
            await one.page.set_viewport_size({"width": width, "height": height})
            await one.page.locator(".bars .bar").first.wait_for()
            await pictures.fits(one.page)
            for place in (".bars text", ".bar"):  # once the chart has moved into its width
                await one.page.wait_for_function(IN_VIEW, arg=[place, width])
            assert (await one.page.locator(".bars text").first.bounding_box())["height"] >= 11


async def test_a_wide_table_of_a_tool_has_all_its_columns(browser):
    @tool(writes=False)
    async def list_items() -> dict:
        """Items."""
        return {"value": [{f"field{n}": n for n in range(14)}], "total": 412}

    says = Reply(ToolCall("list_items")), Reply("Here.")
    async with office(*says, more=[list_items]) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        await one.ask("List")
        await one.ended()
        await one.page.get_by_role("button", name="List items").click()
        await one.page.locator(".pairs").get_by_text("412").wait_for()
        assert await one.page.get_by_role("columnheader").count() == 12
        await one.page.get_by_role("button", name="Show all 14 columns").click()
        assert await one.page.get_by_role("columnheader").count() == 14
        await pictures.fits(one.page)


async def test_the_slider_marks_what_was_asked_and_decided(browser):
    async with office(Reply(CREATE), DONE) as here, tab(browser, here.url) as one:
        session = await here.session()
        await one.go(f"/s/{session}")
        await one.ask("Create it")
        await one.page.get_by_role("button", name="Approve").click()
        await one.ended()
        await here.app.rest()
        log = await here.app.store.read(USER, session)
        places = [at for at, each in enumerate(log) if each.event.type.startswith("approval_")]
        await one.go(f"/s/{session}/audit")
        await one.page.locator(".tick").first.wait_for()
        titles = await one.page.locator(".tick title").all_text_contents()
        assert [title.split(": ")[0] for title in titles] == [
            f"Event {places[0]}, approval_requested",
            f"Event {places[1]}, approval_resolved",
        ]
        slider = await one.page.get_by_label("Place in the log").bounding_box()
        for at, tick in zip(places, await one.page.locator(".tick").all(), strict=True):
            box = await tick.bounding_box()
            middle = slider["x"] + 8 + at / (len(log) - 1) * (slider["width"] - 16)
            assert abs(box["x"] + box["width"] / 2 - middle) < 1  # where the thumb stands
        assert await offences(one.page) == []
        bar = await one.page.locator(".replay").bounding_box()
        await one.page.locator(".ticks").evaluate("ticks => ticks.style.display = 'none'")
        assert await one.page.locator(".replay").bounding_box() == bar  # they move nothing


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


INSIDE = """() => {
  const box = document.querySelector('.menu').getBoundingClientRect();
  return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
}"""


@pytest.mark.parametrize("size", [WIDE, NARROW, (320, 640)], ids=["wide", "phone", "narrow"])
async def test_what_opens_at_a_button_is_inside_of_the_window(browser, size):
    async with office(*[Reply(f"Answer {n}.") for n in range(40)]) as here:
        session = await here.session()
        for n in range(40):
            asked = f"What is the balance of customer {n}?"
            await here.app.run_turn(asked, session_id=session, user_id=USER)
        async with tab(browser, here.url, size=size) as one:
            await one.go(f"/s/{session}")
            await one.page.get_by_text("Answer 39.").wait_for()
            await one.page.get_by_role("button", name="by turn").click()
            await one.page.wait_for_function(INSIDE)
            assert await offences(one.page) == []
            rows = one.page.locator(".by-turn tbody tr")
            newest = await rows.first.locator("td").last.bounding_box()  # what it cost is in view
            assert newest["x"] + newest["width"] <= size[0]
            assert "customer 39" in await rows.first.text_content()
            await rows.last.scroll_into_view_if_needed()
            assert (await rows.last.bounding_box())["y"] < size[1] - 20
            await one.page.keyboard.press("Escape")
            await one.page.get_by_role("button", name="Thinking: off").click()
            await one.page.wait_for_function(INSIDE)
            await one.follow("/usage")
            await one.page.get_by_role("button", name="Days: ").click()
            await one.page.wait_for_function(INSIDE)
