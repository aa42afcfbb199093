"""States that come from outside: slow models, files on their way, budgets, clients."""

import asyncio
import csv
import re
from decimal import Decimal

import pytest
from web.browser import NARROW, tab
from web.office import ANSWER, CITED, CREATE, PARALLEL, USER, office, opened

from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.ports import Decision, Question
from turnlog.projections.billing.budgets import Budget
from turnlog.simulator import Reply, Stall, Text, Usage
from turnlog.simulator.script import ToolCall
from turnlog.testing.made_files import pdf
from turnlog.testing.tabs import serve_sockets
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
FEW = pictures.FEW


async def test_a_file_says_how_far_it_is_and_why_it_failed_and_is_sent_again(
    browser, request, tmp_path
):
    async with opened(browser, Reply("Read."), data=str(tmp_path)) as (_, one):
        routes = asyncio.Queue()
        await one.page.route("**/files/pdf", routes.put)
        terms = {"name": "terms.pdf", "mimeType": "application/pdf", "buffer": pdf("30 days.")}
        await one.page.locator("input[type=file]").set_input_files([terms])
        held = await routes.get()
        chip = one.page.locator(".file")
        assert await chip.get_by_text("terms.pdf").is_visible()
        await one.field.fill("Read it")
        await one.page.get_by_text("Sends when 1 file is ready").wait_for()
        await pictures.check(one, "upload", request, among=FEW)
        await one.field.press("Enter")
        assert await one.page.locator(".bubble").count() == 0  # it waits for the file
        await held.abort()
        await chip.get_by_text("No connection to the server.").wait_for()
        assert await one.page.locator(".bubble").count() == 0  # nor is it sent without the file
        assert await one.field.input_value() == "Read it"
        await one.page.get_by_role("button", name="Try terms.pdf again").click()
        await (await routes.get()).continue_()
        await chip.get_by_text("1 page").wait_for()
        await one.page.get_by_role("button", name="Send", exact=True).click()
        await one.ended()


async def test_nothing_is_drawn_that_who_looks_and_what_is_there_would_change_later(browser):
    async with office(Reply(CREATE), Reply("Done.")) as here:
        session = await here.session()
        await here.app.start_turn(USER, session, Question(message="Create it"))
        async with tab(browser, here.url) as one:
            await one.go("/approvals")
            await one.page.locator(".approval").wait_for()
            (approval,) = await here.app.store.list_approvals(USER, status="pending")
            await here.app.answer_approval(USER, approval.id, Decision(approved=True))
            await here.app.rest()
            held, known = asyncio.Queue(), asyncio.Event()

            async def late(route):
                held.put_nowait(route)
                await known.wait()
                await route.continue_()

            await one.page.route("**/api/config", late)
            async with one.page.expect_response("**/messages?**"):
                await one.go(f"/s/{session}")
            await held.get()
            assert await one.page.locator(".row").count() == 0
            known.set()
            await one.page.get_by_text(re.compile("Approved by you, ")).wait_for()
            known.clear()
            await one.go("/")
            await held.get()
            assert await one.page.locator(".suggestion").count() == 0
            known.set()
            await one.page.locator(".suggestion").nth(2).wait_for()


async def test_a_model_that_is_silent_is_waited_for_in_words(browser):
    async with office(Reply("Late.", ending=Stall(after=0, seconds=600))) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.page.clock.install()
            await one.go(f"/s/{session}")
            await one.ask("Hello?")
            await one.page.locator(".awaited").wait_for()
            await one.page.clock.fast_forward(12_000)
            await one.page.get_by_text("Still waiting for the model (").wait_for()
            await here.app.stop_turn(USER, session)


IN_VIEW = """width => {
    const card = document.querySelector(".cite-card"); // null where its row is drawn anew
    if (!card) return false;
    const { left, right } = card.getBoundingClientRect();
    return innerWidth === width && left >= 0 && right <= width;
}"""


async def test_the_card_of_a_citation_is_there_for_mouse_and_keyboard(browser, request, tmp_path):
    says = Reply(Text("The terms are **30 days net**", (CITED,)), Text(", as agreed."))
    async with opened(browser, says, data=str(tmp_path)) as (here, one):
        files = [await here.terms(one.session, tmp_path)]
        await here.app.start_turn(
            USER, one.session, Question(message="Which terms?", file_ids=files)
        )
        await one.ended()
        mark = one.page.get_by_role("button", name="Source 1: terms-2026.pdf, page 3").first
        card = one.page.get_by_role("tooltip")
        await mark.hover()
        await card.get_by_text(CITED["cited_text"]).wait_for()
        await one.page.mouse.move(0, 0)
        await card.wait_for(state="detached")
        await mark.focus()
        await card.wait_for()
        await pictures.check(one, "citation", request, among=FEW)
        for width in (NARROW[0], 320):
            await one.page.set_viewport_size({"width": width, "height": 640})
            await mark.focus()
            await one.page.wait_for_function(IN_VIEW, arg=width)


async def test_the_usage_is_saved_as_csv(browser, tmp_path):
    async with opened(
        browser, Reply("Hello.", usage=Usage(input_tokens=1000, output_tokens=200))
    ) as (_, one):
        await one.ask("Hi")
        await one.ended()
        await one.page.get_by_role("link", name="Usage and cost").click()
        await one.page.locator(".bars .bar").first.wait_for()
        async with one.page.expect_download() as saved:
            await one.page.get_by_role("button", name="CSV").click()
        download = await saved.value
        assert download.suggested_filename.startswith("usage-20")
        await download.save_as(tmp_path / "usage.csv")
        rows = list(csv.DictReader((tmp_path / "usage.csv").read_text().splitlines()))
        assert sum(int(row["input_tokens"]) for row in rows) == 1000


async def test_a_simulated_model_says_so_and_cannot_be_told_to_be_quiet(browser, request, tmp_path):
    app = create_app(settings=Settings(data=str(tmp_path)))
    async with app, serve_sockets(app) as url, tab(browser, url) as one:
        await one.go("/")
        banner = one.page.get_by_role("note").filter(has_text="Simulated model")
        await banner.get_by_text("Answers come from rules on this machine").wait_for()
        assert await banner.get_by_role("button").count() == 0
        for n in range(3):  # what is offered is understood
            await one.go("/")
            await one.page.locator(".suggestion").nth(n).click()
            await one.field.press("Enter")
            await one.page.locator('.row[data-kind="footer"], .approval').first.wait_for()
            assert "I have no rule" not in await one.page.locator(".column").inner_text()
        assert await banner.is_visible()
        await pictures.check(one, "simulated", request, among=FEW)


# What text-only zoom does: every size doubles, boxes stay.
DOUBLE = """() => {
    const all = [...document.querySelectorAll("body *")];
    const sizes = all.map((one) => parseFloat(getComputedStyle(one).fontSize) * 2);
    all.forEach((one, n) => {
        one.style.fontSize = `${sizes[n]}px`;
        one.style.lineHeight = "1.4";
    });
}"""


async def test_text_of_twice_the_size_fits_a_phone(browser):
    async with opened(browser, PARALLEL, ANSWER) as (here, one):
        await here.app.start_turn(USER, one.session, Question(message="Create it"))
        await one.page.locator(".approval").wait_for()
        for width, height in (NARROW, (320, 640)):
            await one.page.set_viewport_size({"width": width, "height": height})
            await one.page.evaluate(DOUBLE)
            await pictures.fits(one.page)
            for name in ("Approve", "Stop"):
                button = one.page.get_by_role("button", name=name).first
                await button.scroll_into_view_if_needed()
                box = await button.bounding_box()
                assert box["x"] >= 0 and box["x"] + box["width"] <= width
            await one.page.reload()
            await one.page.locator(".approval").wait_for()


async def test_what_a_message_would_cost_is_said_before_it_is_sent(browser):
    spent = Usage(input_tokens=20_000, output_tokens=4_500)  # 0.085 dollars
    budget = Budget(per="session", usd=Decimal("0.1"))
    says = [Reply("Hello.", usage=spent)]
    async with opened(browser, *says, budgets=(budget,)) as (here, one):
        await one.field.fill("Hi")
        await one.page.locator(".estimate").filter(has_text="tokens, $0.0").wait_for()
        assert here.sim.requests == []
        await one.field.press("Enter")
        await one.ended()
        warning = one.page.get_by_text("% of the budget of this session is used: $0.0")
        await warning.wait_for()
        await one.field.fill("A very long question. " * 4000)
        await one.page.get_by_text("Would exceed the budget").wait_for()
        await one.page.get_by_role("button", name="Put this away").click()
        await one.page.reload()
        await one.page.get_by_text("Would exceed the budget").wait_for()
        assert await warning.count() == 0  # once a session


async def test_a_session_that_no_longer_fits_goes_on_in_a_new_one(browser, tmp_path):
    full = Reply("Half of", stop_reason="model_context_window_exceeded")
    async with opened(browser, full, Reply("We spoke of ducks."), data=str(tmp_path)) as (
        here,
        one,
    ):
        await one.ask("Tell me about ducks")
        await one.page.get_by_role("button", name="New session with a summary").click()
        await one.page.get_by_role(
            "button", name="Remove Customer for the Lyon branch.md"
        ).wait_for()
        assert (await one.field.input_value()).startswith("Summarize the attached conversation")
        await one.field.press("Enter")
        await one.page.get_by_text("We spoke of ducks.", exact=True).wait_for()
        assert one.session not in one.page.url
        assert "Tell me about ducks" in str(here.sim.requests[-1]["messages"])


async def test_a_call_that_the_client_runs_is_no_question_to_the_user(browser):
    call = ToolCall("show_map", {"city": "Lyon"})
    shows_map = {"name": "show_map", "description": "Shows a map.", "parameters": {}}
    async with opened(browser, Reply(call), Reply(CREATE)) as (here, one):
        asked = Question(message="Show Lyon", client_tools=[shows_map])
        await here.app.start_turn(USER, one.session, asked)
        card = one.page.locator('.card[data-outcome="running"]')
        await card.get_by_text("The app that asked runs this").wait_for()
        await one.page.get_by_text("Waiting for the app that asked").wait_for()
        assert await one.page.locator(".approval").count() == 0
        await one.follow("/approvals")
        for _ in range(2):  # when the second one comes, the first one is drawn
            async with one.page.expect_response("**/api/approvals?*"):
                pass
        assert await one.page.get_by_text("Nothing waits for you").is_visible()
