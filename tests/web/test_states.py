"""Every state of the conversation, in both themes and widths: it is there, and axe is silent."""

import asyncio
import re

import pytest
from web.browser import tab
from web.office import ANSWER, CITED, CREATE, MARKDOWN, PARALLEL, USER, office

from turnlog.ports import Decision, Question
from turnlog.simulator import Break, RedactedThinking, Reply, Stall, Text, Thinking, ToolCall
from turnlog.testing.apps import Held
from turnlog.testing.golden.teams import lose
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DONE = Reply("The customer **Atelier Rhône** is created with number C00120.")
REJECTED = re.compile(r"Rejected by you, \d\d:\d\d, in another window: It exists already\.")
LONG = (
    "I have looked through the customers of all companies. None of them has an address in Lyon,"
    " and none is called Atelier Rhône. The nearest ones are in Grenoble and in Geneva, and both"
    " are blocked for new orders since October."
)
# (name, what Claude says, what is asked, whether it thinks, what must be in view)
# fmt: off
STATES = [
    ("answer",     [Reply(MARKDOWN)], False, ".md table"),
    ("streaming",  [Reply(LONG + "\n\n" + MARKDOWN, chunk=40, ending=Stall(after=14, seconds=60))],
                   False, ".with-caret"),
    ("thinking",   [Reply(Thinking("The user asks about Lyon. " * 30), "Yes.", chunk=60,
                   ending=Stall(after=10, seconds=60))], True, ".thought[data-live]"),
    ("thought",    [Reply(Thinking("A thought."), "Yes.")], True, '.row[data-kind="footer"]'),
    ("redacted",   [Reply(RedactedThinking("x"), "Yes.")], True, "text=hidden by the model"),
    ("tools",      [PARALLEL, Reply("Neither.")], True, '.row[data-kind="footer"]'),
    ("running",    [Reply("I wait.", ToolCall("wait")), DONE], False, '[data-outcome="running"]'),
    ("failed",     [Reply(ToolCall("fail", {"why": "The ERP is silent."})), Reply("It failed.")],
                   False, '[data-outcome="failed"]'),
    ("large",      [Reply(ToolCall("search_customers", {"many": True})), Reply("412 customers.")],
                   False, '.row[data-kind="footer"]'),
    ("approval",   [PARALLEL, ANSWER, DONE], True, ".approval"),
    ("destructive", [Reply(ToolCall("delete_invoices", {"numbers": ["1", "2", "3"]})), DONE],
                   False, ".button.destructive"),
    ("error",      [Reply("Half of it", chunk=4, ending=Break(after=4))], False, ".ending.bad"),
    ("max_tokens", [Reply("It goes on and", stop_reason="max_tokens")], False, ".ending.warn"),
    ("refusal",    [Reply("No.", stop_reason="refusal")], False, ".ending.warn"),
    ("cited",      [Reply(Text("The terms are **30 days net**", (CITED,)), Text(", as agreed."))],
                   False, ".cite"),
]
# fmt: on
CITING = {"approval", "cited"}


@pytest.mark.parametrize(("name", "says", "thinks", "view"), STATES, ids=[s[0] for s in STATES])
async def test_a_state_is_there_and_everybody_can_read_it(
    name, says, thinks, view, browser, request, tmp_path
):
    async with office(*says, data=str(tmp_path)) as here:
        session = await here.session()
        files = [await here.terms(session, tmp_path)] if name in CITING else []
        question = "Do we already have a customer in Lyon? If not, create “Atelier Rhône”."
        asked = Question(message=question, enable_thinking=thinks or None, file_ids=files)
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.page.locator('[data-state="live"]').wait_for()
            await here.app.start_turn(USER, session, asked)
            await one.page.locator(view).first.wait_for()
            await pictures.check(one, name, request)
            await one.page.set_viewport_size({"width": 320, "height": 640})  # or 640 at 200 %
            await pictures.fits(one.page)
            composer = await one.page.locator(".composer-box").bounding_box()
            assert composer["y"] + composer["height"] <= 640
        await here.app.stop_turn(USER, session)


async def test_an_approval_is_decided_by_keyboard_alone(browser, request):
    async with office(Reply(CREATE), DONE) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Create it")
            await one.page.locator(".approval").wait_for()
            focused = "() => document.activeElement.tagName"
            assert await one.page.evaluate(focused) == "TEXTAREA"  # nothing takes the focus
            await one.page.get_by_role("button", name="Change City: Lyon").focus()
            await one.page.keyboard.press("Enter")
            await one.page.keyboard.press("Control+a")
            await one.page.keyboard.type("Paris")
            await one.page.get_by_role("button", name="Approve with 1 change").wait_for()
            await pictures.check(one, "edited", request, among=[])
            assert await one.page.locator(".approval s").inner_text() == "Lyon"
            await one.page.keyboard.press("Control+Enter")
            await one.ended()
            focused = "() => document.activeElement.className"  # its buttons are gone
            assert await one.page.evaluate(focused) == "approval-line"
        assert here.made == [("Atelier Rhône", "Paris", 30000)]


async def test_the_buttons_of_an_approval_stay_in_view_when_it_grows(browser):
    async with office(Reply("Long before. " * 100), Reply(CREATE), DONE) as here:
        session = await here.session()
        async with tab(browser, here.url, size=(390, 700)) as one:
            await one.go(f"/s/{session}")
            await one.ask("Tell")
            await one.ended()
            await one.ask("Create it")
            await one.page.get_by_role("button", name="Reject…").click()
            reject = one.page.get_by_role("button", name="Reject", exact=True)
            below = await reject.bounding_box()
            composer = await one.page.locator(".composer").bounding_box()
            assert below["y"] + below["height"] <= composer["y"]
        await here.app.stop_turn(USER, session)


async def test_a_decision_in_one_tab_takes_the_buttons_from_the_other(browser, request):
    async with office(Reply(CREATE), Reply("Then I leave it as it is.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as mine, tab(browser, here.url) as other:
            await asyncio.gather(mine.go(f"/s/{session}"), other.go("/approvals"))
            await mine.ask("Create it")
            await mine.page.locator(".approval").wait_for()
            await other.page.locator(".approval").wait_for()
            await other.page.wait_for_function("() => document.title === '(1) turnlog'")
            await other.page.get_by_role("button", name="Reject…").click()
            await other.page.get_by_label("Reason").fill("It exists already.")
            await other.page.keyboard.press("Enter")
            await mine.page.get_by_text(REJECTED).wait_for()
            assert await mine.page.get_by_role("button", name="Approve").count() == 0
            await mine.ended()
            await pictures.check(mine, "elsewhere", request, among=pictures.FEW)
            await mine.page.reload()  # who reloads cannot tell in which window it was
            await mine.page.get_by_text(re.compile(r"Rejected by you, \d\d:\d\d: It")).wait_for()
        assert here.made == []


async def test_stop_keeps_what_was_written(browser, request):
    story = Reply("Once upon a time there was", chunk=4, ending=Stall(after=6, seconds=600))
    async with office(story) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Tell me")
            await one.page.locator(".answer").get_by_text("Once upon").wait_for()
            await one.page.keyboard.press("Escape")
            await one.page.get_by_text("Stopped by you.").wait_for()
            assert "Once upon" in await one.page.locator(".answer").inner_text()
            await pictures.check(one, "stopped", request, among=pictures.FEW)
            await one.page.get_by_role("button", name="Continue").click()
            assert await one.page.get_by_label("Message", exact=True).input_value() == "Continue."


async def test_a_server_that_died_in_mid_answer_keeps_what_had_arrived(browser, request):
    held = Held(after=4)
    story = Reply("Once upon a time", "there was a king.", chunk=100, ending=held)
    async with office(story, Reply("A whole story."), Reply("The end.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Tell me")
            await one.page.locator(".answer").get_by_text("Once upon a time").wait_for()
            await is_saved(here.app.store, b"Once upon a time")
            await lose(here.app, session)
            await one.page.get_by_text("The server was restarted while this").wait_for()
            assert await one.page.locator(".answer").inner_text() == "Once upon a time"
            assert (await here.app.store.read(USER, session))[-1].event.code == "interrupted"
            await pictures.check(one, "interrupted", request, among=pictures.FEW)
            live = await one.screen()
            await one.page.reload()
            assert await one.shows(live) == live
            await one.page.get_by_role("button", name="Ask again").click()
            await one.ended()
            await one.ask("And then?")
            await one.ended(2)
            told = ["Once upon a time", "A whole story.", "The end."]
            assert await one.page.locator(".answer").all_inner_texts() == told
            asked = ["Tell me", "Tell me", "And then?"]
            assert await one.page.locator(".bubble").all_inner_texts() == asked
        held.go.set()


async def is_saved(store, words):
    """Wait until a process that goes on would find these words of the unfinished answer."""
    async with asyncio.timeout(60):
        while not any(words in (turn.draft or b"") for turn in store._turns.values()):
            await asyncio.sleep(0.01)


async def test_a_second_message_waits_for_the_turn_and_can_be_taken_back(browser):
    async with office(Reply(ToolCall("wait")), Reply("First."), Reply("Second.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("One")
            await one.page.locator('[data-outcome="running"]').wait_for()
            await one.ask("Two")
            await one.ask("Three")
            assert await one.page.get_by_text("Sends after this turn").count() == 2
            await one.page.get_by_role("button", name="Remove").last.click()
            await one.page.reload()  # what waits is kept
            await one.page.get_by_text("Sends after this turn").wait_for()
            here.go.set()
            await one.ended(2)
            assert await one.page.locator(".bubble").all_inner_texts() == ["One", "Two"]


async def test_expired_and_withdrawn_questions_have_no_buttons(browser):
    async with office(Reply(CREATE), DONE, approval_timeout=1.0) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Create it")
            await one.page.get_by_text("Nobody answered. Nothing was written.").wait_for()
            assert await one.page.get_by_role("button", name="Approve").count() == 0
    async with office(Reply(CREATE), DONE) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Create it")
            await one.page.locator(".approval").wait_for()
            await one.page.get_by_role("button", name="Stop").click()
            await one.page.locator(".approval").wait_for(state="detached")


async def test_the_first_answer_to_an_approval_wins_and_a_late_one_is_no_error(browser):
    async with office(Reply(CREATE), DONE) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Create it")
            await one.page.locator(".approval").wait_for()
            await one.page.route("**/api/approvals/*", lambda route: answer_first(route, here))
            await one.page.get_by_role("button", name="Approve").click()
            await one.ended()
            assert "".join(await one.page.get_by_role("alert").all_inner_texts()) == ""
        assert len(here.made) == 1


async def answer_first(route, here):
    """Somebody else decides while the request is on its way."""
    approval_id = route.request.url.rpartition("/")[2]
    await here.app.answer_approval(USER, approval_id, Decision(approved=True))
    await route.continue_()
