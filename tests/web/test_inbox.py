"""The inbox: what is over stays in its place, so that no click meets another question."""

import asyncio

import pytest
from web.browser import NARROW, WIDE, offences, tab
from web.office import CREATE, USER, office

from turnlog.ports import Decision, Question
from turnlog.simulator import Reply, ToolCall

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DONE = Reply("Done.")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
async def test_a_question_that_is_over_leaves_the_others_where_they_are(browser, size):
    async with office(Reply(CREATE), Reply(CREATE), DONE, DONE) as here:
        for _ in range(2):
            await here.app.start_turn(USER, await here.session(), Question(message="Create it"))
        async with tab(browser, here.url, size=size) as one:
            await one.go("/approvals")
            first, second = (one.page.locator("article").nth(n) for n in range(2))
            await second.wait_for()
            before = await first.bounding_box(), await second.bounding_box()
            approve = first.get_by_role("button", name="Approve")
            place = await approve.bounding_box()
            await approve.click()
            await first.get_by_text("Approved by you, ").wait_for()
            assert (await first.bounding_box(), await second.bounding_box()) == before
            assert await first.get_by_role("button", name="Approve").count() == 0
            focused = "() => document.activeElement.tagName"
            assert await one.page.evaluate(focused) == "H3"  # its button is gone
            await one.page.mouse.click(place["x"] + 5, place["y"] + 5)  # out of impatience
            await one.page.keyboard.press("Control+Enter")
            (approval,) = await here.app.store.list_approvals(USER, status="pending")
            await here.app.answer_approval(USER, approval.id, Decision(approved=False))
            await second.get_by_text("Answered in another window, withdrawn or expired.").wait_for()
            assert (await first.bounding_box(), await second.bounding_box()) == before
            assert await second.get_by_role("button", name="Approve").count() == 0
            assert await offences(one.page) == []
            await one.page.reload()
            await one.page.get_by_text("Nothing waits for you").wait_for()
        assert len(here.made) == 1


async def test_whoever_comes_second_is_told_in_the_place_of_the_buttons(browser):
    async with office(Reply(CREATE), DONE) as here, tab(browser, here.url) as one:
        await here.app.start_turn(USER, await here.session(), Question(message="Create it"))
        await one.go("/approvals")
        card = one.page.locator(".approval")
        await card.wait_for()
        before = await card.bounding_box()

        async def late(route):
            (approval,) = await here.app.store.list_approvals(USER, status="pending")
            await here.app.answer_approval(USER, approval.id, Decision(approved=False))
            await route.continue_()

        await one.page.route("**/api/approvals/*", late)
        await card.get_by_role("button", name="Approve").click()
        await card.get_by_text("Answered in another window").first.wait_for()
        assert await card.bounding_box() == before
    assert here.made == []


async def test_a_question_is_found_behind_the_open_functions_of_a_program(browser):
    """These wait for their program, and nobody decides them here."""
    calls = [ToolCall("show_map", {"city": f"Lyon {number}"}) for number in range(120)]
    shows_map = {"name": "show_map", "description": "Shows a map.", "parameters": {}}
    async with office(Reply(*calls), Reply(CREATE)) as here:
        asked = Question(message="Show Lyon", client_tools=[shows_map])
        await here.app.start_turn(USER, await here.session(), asked)
        while len(await here.app.store.list_approvals(USER, status="pending", limit=200)) < 120:
            await asyncio.sleep(0.05)
        await here.app.start_turn(USER, await here.session(), Question(message="Create it"))
        async with tab(browser, here.url) as one:
            await one.go("/approvals")
            await one.page.locator("article").wait_for()
            assert await one.page.get_by_role("button", name="Approve").count() == 1
