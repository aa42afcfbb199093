"""Rules that users of other chat UIs have asked for: scrolling, selecting, drafts, signing in."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from web.browser import NARROW, tab
from web.office import office

from turnlog.simulator import Reply
from turnlog.testing.apps import SECRET, Held
from turnlog.tokens import mint

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
LONG = "\n\n".join(
    f"Paragraph {n} with enough words to fill a line of the page." for n in range(80)
)
TOP = "() => document.querySelector('.scroll').scrollTop"
FROM_END = """() => { const box = document.querySelector('.scroll');
    return Math.round(box.scrollHeight - box.clientHeight - box.scrollTop); }"""

AT_THE_END = f"() => ({FROM_END})() <= 24"
# Where the page is scrolled to, once it has been there for ten frames: a wheel runs down.
STANDS = f"""() => {{ const top = ({TOP})();
    window.frames_there = top === window.top_before ? window.frames_there + 1 : 0;
    window.top_before = top;
    return window.frames_there >= 10 ? [top] : null; }}"""


async def growing(one, least):
    """Wait until the conversation has this many paragraphs."""
    await one.page.wait_for_function(
        "n => document.querySelectorAll('.md p').length >= n", arg=least
    )


@asynccontextmanager
async def half_written(browser, **options):
    """A page at the end of an answer that is not finished, and what lets the rest of it come."""
    held = Held(after=60)
    async with (
        office(Reply(LONG, chunk=60, ending=held)) as here,
        tab(browser, here.url, **options) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        await one.ask("Tell me")
        await growing(one, 40)
        await one.page.wait_for_function(AT_THE_END)
        yield one, held.go.set


async def test_the_end_is_followed_until_the_user_scrolls_up_and_again_after(browser):
    async with office(Reply(LONG, chunk=60, delay=0.01)) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Tell me")
            await growing(one, 35)  # higher than the page and a turn of the wheel
            await one.page.wait_for_function(AT_THE_END)
            await one.page.locator(".scroll").hover()
            await one.page.mouse.wheel(0, -300)
            await one.page.get_by_role("button", name="To the end").wait_for()
            (top,) = await (await one.page.wait_for_function(STANDS)).json_value()
            await growing(one, 60)
            assert await one.page.evaluate(TOP) == top
            await one.page.get_by_role("button", name="To the end").click()
            await growing(one, 70)
            await one.page.wait_for_function(AT_THE_END)
            await one.ended()
            await one.page.wait_for_function(AT_THE_END)


async def test_a_little_up_is_up_where_fingers_scroll_by_a_few_pixels(browser):
    async with half_written(browser) as (one, go_on):
        await one.page.locator(".scroll").hover()
        await one.page.mouse.wheel(0, -10)
        to_end = one.page.get_by_role("button", name="To the end")
        await to_end.wait_for()
        (top,) = await (await one.page.wait_for_function(STANDS)).json_value()
        go_on()
        await one.ended()
        assert await one.page.evaluate(TOP) == top
        await one.page.mouse.wheel(0, 5000)  # the end is the end
        await to_end.wait_for(state="detached")


async def test_a_finger_that_rests_at_the_end_does_not_leave_it(browser):
    async with half_written(browser, size=NARROW, has_touch=True) as (one, go_on):
        finger = await one.page.context.new_cdp_session(one.page)
        for kind, y in [("touchStart", 400), ("touchMove", 380), ("touchMove", 360)]:
            points = [{"x": 200, "y": y}]
            await finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        await one.page.get_by_role("button", name="To the end").wait_for()
        await finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        go_on()
        await one.ended()
        await one.page.wait_for_function(AT_THE_END)


# As a mouse that takes hold of the scrollbar, which a browser without a window does not draw.
GRAB = """() => {
    const box = document.querySelector('.scroll'), {right, top} = box.getBoundingClientRect();
    const place = {clientX: right, clientY: top + 50, bubbles: true};
    box.dispatchEvent(new PointerEvent('pointerdown', place));
}"""


async def test_whoever_holds_the_scrollbar_is_not_pulled_back_to_the_end(browser):
    async with half_written(browser) as (one, go_on):
        await one.page.evaluate(GRAB)
        await one.page.evaluate("() => document.querySelector('.scroll').scrollTop = 100")
        go_on()
        await one.ended()
        assert await one.page.evaluate(TOP) == 100


async def test_selected_words_stay_selected_while_the_answer_grows(browser):
    async with office(Reply(LONG, chunk=60, delay=0.01)) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Tell me")
            await growing(one, 3)
            await one.page.get_by_text("Paragraph 1 with").dblclick(position={"x": 20, "y": 8})
            chosen = await one.page.evaluate("String(getSelection())")
            assert chosen.strip() == "Paragraph"
            await one.ended()
            assert await one.page.evaluate("String(getSelection())") == chosen


# The rows in view, each with its place on the screen; null until they have stood still for five
# frames. (A row that is new is hidden for a frame, until the list has measured it.)
AT_REST = """() => {
    const places = [...document.querySelectorAll('.bubble')]
        .map((row) => [row.innerText, Math.round(row.getBoundingClientRect().top)])
        .filter(([text, top]) => text && top > 60 && top < 700);
    const now = JSON.stringify(places);
    window.frames_at_rest = now === window.places_before ? window.frames_at_rest + 1 : 0;
    window.places_before = now;
    return places.length >= 3 && window.frames_at_rest >= 5 ? Object.fromEntries(places) : null;
}"""


async def at_rest(one):
    return await (await one.page.wait_for_function(AT_REST)).json_value()


async def test_older_messages_come_above_and_move_nothing(browser):
    turns = 170
    says = [Reply(f"Answer {n}.") for n in range(turns)]
    async with office(*says, messages_a_minute=10_000) as here:
        session = await here.session()
        for n in range(turns):
            await here.app.run_turn(f"Question {n}", session_id=session)
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            assert "Question 169" in await at_rest(one)
            assert await one.page.evaluate(FROM_END) <= 24
            assert await one.page.get_by_text("Beginning of the session").is_hidden()
            assert await one.page.locator(".column *").count() < 500  # only what is in view
            await one.page.locator(".scroll").hover()
            await one.page.mouse.wheel(0, -100)
            await one.page.get_by_role("button", name="To the end").wait_for()
            await at_rest(one)
            await one.page.evaluate("() => document.querySelector('.scroll').scrollTop = 700")
            before = await at_rest(one)
            await one.page.evaluate("() => document.querySelector('.scroll').scrollTop -= 105")
            await one.page.get_by_text("Beginning of the session").wait_for()
            after = await at_rest(one)
            both = before.keys() & after.keys()
            assert len(both) >= 3
            assert {after[row] - before[row] for row in both} == {105}


async def test_in_a_long_session_a_new_answer_and_the_line_under_it_are_in_view(browser):
    turns = 60  # more rows than are drawn at once
    says = [Reply(f"Answer {n}. " + LONG[:900]) for n in range(turns + 2)]
    async with office(*says) as here, tab(browser, here.url) as one:
        session = await here.session()
        for n in range(turns):
            await here.app.run_turn(f"Question {n}", session_id=session)
        await one.go(f"/s/{session}")
        await one.page.locator(".answer", has_text="Answer 59.").wait_for()
        may_answer = asyncio.Event()

        async def late(route):
            """The turn is over before the page knows that its message has arrived."""
            answer = await route.fetch()
            await may_answer.wait()
            await route.fulfill(response=answer)

        await one.page.route("**/messages", late)
        await one.ask("And now?")
        await one.page.locator(".answer", has_text="Answer 60.").wait_for()
        at_rest = f"() => {{ window.still = ({FROM_END})() ? 0 : (window.still ?? 0) + 1; "
        await one.page.wait_for_function(at_rest + "return window.still > 10; }")
        stop = one.page.get_by_role("button", name="Stop")
        await stop.wait_for(state="detached")  # what is sent in mid-turn waits, and moves nothing
        await one.page.locator(".scroll").hover()
        await one.page.mouse.wheel(0, -1500)
        await one.page.get_by_role("button", name="To the end").wait_for()
        await one.ask("And then?")  # what one has just sent is in view
        may_answer.set()
        await one.page.unroute_all(behavior="wait")
        await one.page.locator(".answer", has_text="Answer 61.").wait_for()
        await one.page.wait_for_function(at_rest + "return window.still > 10; }")


async def test_enter_in_an_input_method_does_not_send(browser):
    async with office(Reply("Hello.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            field = one.page.get_by_label("Message", exact=True)
            await field.fill("にほん")
            await field.evaluate("""field => field.dispatchEvent(new KeyboardEvent("keydown",
                {key: "Enter", isComposing: true, bubbles: true, cancelable: true}))""")
            await field.evaluate("""field => field.dispatchEvent(new KeyboardEvent("keydown",
                {key: "Enter", keyCode: 229, bubbles: true, cancelable: true}))""")
            assert await field.input_value() == "にほん"
            await field.press("Enter")
            await one.ended()
            assert await one.page.locator(".bubble").all_inner_texts() == ["にほん"]


async def test_a_draft_survives_a_reload_and_a_switch(browser):
    async with office() as here:
        first = await here.session("First")
        await here.session("Second")
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{first}")
            field = one.page.get_by_label("Message", exact=True)
            await field.fill("Half a sentence")
            await one.page.get_by_role("link", name="Second").click()
            assert await field.input_value() == ""
            await one.page.reload()
            await one.page.get_by_role("link", name="First").click()
            assert await field.input_value() == "Half a sentence"


async def test_a_reload_in_mid_answer_goes_on_where_it_was(browser):
    rest = Held(after=40)
    async with office(Reply(LONG, chunk=60, ending=rest)) as here:
        session = await here.session()
        async with tab(browser, here.url) as one, tab(browser, here.url) as other:
            await one.go(f"/s/{session}")
            await other.go(f"/s/{session}")
            await one.ask("Tell me")
            await growing(one, 10)
            await one.page.reload()
            await growing(one, 10)
            assert await one.page.locator(".with-caret").count() == 1
            rest.go.set()
            await one.ended()
            await other.ended()
            expected = await other.screen()
            assert await one.shows(expected) == expected
            assert "Paragraph 79" in expected


async def test_a_page_that_is_signed_out_keeps_its_text(browser):
    async with (
        office(Reply("Hello, Anna."), auth_secret=SECRET) as here,
        tab(browser, here.url) as one,
    ):
        await one.go("/")
        await one.page.get_by_label("Token", exact=True).fill("nonsense")
        await one.page.get_by_role("button", name="Sign in").click()
        await one.page.get_by_role("dialog").get_by_role("alert").wait_for()
        await one.page.get_by_label("Token", exact=True).fill(mint(SECRET, "anna"))
        await one.page.get_by_role("button", name="Sign in").click()
        await one.page.get_by_role("dialog").wait_for(state="detached")
        await one.page.get_by_text("What should get done?").wait_for()
        assert "token" not in one.page.url
        await one.ask("Hi")
        await one.page.get_by_text("Hello, Anna.", exact=True).wait_for()
        await one.page.get_by_label("Message", exact=True).fill("A draft")
        await one.page.get_by_role("button", name="Sign out anna").click()
        await one.page.get_by_label("Token", exact=True).fill(mint(SECRET, "anna"))
        await one.page.get_by_role("button", name="Sign in").click()
        await one.page.get_by_role("dialog").wait_for(state="detached")
        assert await one.page.get_by_label("Message", exact=True).input_value() == "A draft"


async def test_a_refusal_that_comes_after_the_signing_in_asks_nobody(browser):
    async with (
        office(Reply("Hello, Anna."), auth_secret=SECRET) as here,
        tab(browser, here.url) as one,
    ):
        refusals = asyncio.Queue()

        def connected(client):
            server = client.connect_to_server()

            def received(message):
                if message.startswith("44") and refusals.empty():  # a connection without a token
                    refusals.put_nowait(lambda: client.send(message))
                else:
                    client.send(message)

            server.on_message(received)

        await one.page.route_web_socket("**/socket.io/**", connected)
        await one.go("/")
        say_it = await refusals.get()
        refusals.put_nowait(None)
        await one.page.get_by_label("Token", exact=True).fill(mint(SECRET, "anna"))
        await one.page.get_by_role("button", name="Sign in").click()
        await one.page.get_by_role("dialog").wait_for(state="detached")
        say_it()
        await one.page.locator('[data-state="live"]').wait_for()
        assert await one.page.get_by_role("dialog").count() == 0
