"""Below a turn: how it ended, what is offered then, and the space to the next question."""

import pytest
from web.browser import NARROW, WIDE
from web.office import opened

from turnlog.simulator import Break, Reply, Stall, ToolCall
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
SILENT = Reply("Never said.", ending=Stall(after=0, seconds=60))
WHOLE = Reply("An answer that is whole.")
GAPS = """
() => [...document.querySelectorAll('.row[data-kind="question"]')].slice(1).map((question) => {
  const before = question.previousElementSibling.firstElementChild;
  return Math.round(question.getBoundingClientRect().top - before.getBoundingClientRect().bottom);
})
"""


async def test_a_question_stands_as_far_below_a_turn_however_that_ended(browser):
    broken, failed = Reply("Half of it", chunk=4, ending=Break(after=4)), Break(after=0)
    says = [WHOLE, broken, Reply("Nothing", ending=failed), SILENT, WHOLE]
    async with opened(browser, *says) as (_, one):
        for turns, question in enumerate(["Whole?", "Half?", "Refused?"], start=1):
            await one.ask(question)
            await one.ended(turns)
        await one.ask("Stopped?")
        await one.page.locator('.row[data-kind="waiting"]').wait_for()
        await one.page.keyboard.press("Escape")
        await one.ended(4)
        await one.ask("Whole again?")
        await one.ended(5)
        for size in (WIDE, NARROW):
            await one.page.set_viewport_size({"width": size[0], "height": size[1]})
            assert set(await one.page.evaluate(GAPS)) == {24}


async def test_a_turn_that_was_stopped_before_a_word_offers_to_ask_again(browser, request):
    async with opened(browser, SILENT, WHOLE) as (here, one):
        await one.ask("What is due?")
        await one.page.locator('.row[data-kind="waiting"]').wait_for()
        await one.page.keyboard.press("Escape")
        await one.ended()
        live = await one.screen()
        assert "tokens" not in live and "$" not in live  # it cost nothing
        assert await one.page.get_by_role("button", name="Copy answer").count() == 0
        assert await one.page.get_by_role("button", name="Continue").count() == 0
        await pictures.check(one, "stopped at once", request, among=pictures.FEW)
        await one.page.reload()
        await one.page.get_by_text("Stopped by you.").wait_for()
        assert await one.screen() == live
        await one.page.get_by_role("button", name="Ask again").click()
        await one.page.get_by_text("An answer that is whole.").wait_for()
        assert await one.page.get_by_text("What is due?", exact=True).count() == 2


async def test_a_turn_that_was_stopped_in_a_tool_offers_to_continue(browser):
    async with opened(browser, Reply(ToolCall("wait"))) as (_, one):
        await one.ask("Wait")
        await one.page.locator('[data-outcome="running"]').wait_for()
        await one.page.keyboard.press("Escape")
        await one.ended()
        await one.page.get_by_role("button", name="Continue").wait_for()
        assert await one.page.get_by_role("button", name="Copy answer").count() == 0
        assert "tokens" in await one.screen()  # the call was billed
