"""A network that goes, breaks off or is slow: what the page says, keeps and sends again."""

import asyncio
import re
from urllib.parse import urlsplit

import pytest
from web.browser import tab
from web.office import USER, office, opened

from turnlog.simulator import Reply, Stall, ToolCall
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_a_message_written_without_a_network_is_sent_when_it_is_back(browser, request):
    says = Reply("Good morning. What should get done?"), Reply("Here I am.")
    async with opened(browser, *says) as (here, one):
        await one.ask("Good morning")
        await one.ended()
        await one.page.context.set_offline(True)
        await one.page.get_by_text("No connection. Your text is kept here.").wait_for()
        await one.field.fill("Are you there?")
        await pictures.check(one, "offline", request, among=pictures.FEW)
        await one.page.get_by_role("button", name="Send when back").click()
        await one.page.locator(".bubble").get_by_text("Are you there?", exact=True).wait_for()
        await one.page.get_by_text("Waiting for the connection").wait_for()  # not for the model
        await one.page.context.set_offline(False)
        await one.page.get_by_text("Here I am.", exact=True).wait_for()
        await one.page.locator('[data-state="live"]').wait_for()
        assert len(here.sim.requests) == 2  # once each


async def test_a_socket_that_does_not_come_back_is_told_and_the_answer_keeps_its_text(browser):
    story = Reply("Once upon a time there was", chunk=4, ending=Stall(after=6, seconds=600))
    async with office(story) as here, tab(browser, here.url) as one:
        sockets, closed = [], []

        def connected(client):
            if closed:
                return  # it is taken, and nobody answers
            client.connect_to_server()
            sockets.append(client)

        await one.page.route_web_socket("**/socket.io/**", connected)
        session = await here.session()
        await one.go(f"/s/{session}")
        await one.ask("Tell me")
        await one.page.locator(".answer").get_by_text("Once upon").wait_for()
        await one.page.route("**/socket.io/**", lambda route: route.abort())
        closed.append(True)
        await sockets[-1].close()
        await one.page.locator('[data-state="reconnecting"], [data-state="offline"]').wait_for()
        assert "Once upon" in await one.page.locator(".answer").inner_text()
        await one.field.fill("Go on")
        await one.page.get_by_role("button", name="Send when back").wait_for()
        closed.clear()
        await one.page.locator('[data-state="live"]').wait_for()
        await here.app.stop_turn(USER, session)
        await one.page.get_by_text("Stopped by you.").wait_for()
        one.wrong.clear()  # the requests that this test has cut


async def running(here, session, *, calls):
    """Wait until so many tools were called."""
    while True:
        log = await here.app.store.read(USER, session)
        if [entry.event.type for entry in log].count("tool_use") == calls:
            return
        await asyncio.sleep(0.01)


async def test_a_stop_that_arrives_when_the_next_message_runs_stops_nothing(browser):
    waits = Reply("Let me see.", ToolCall("wait"))
    async with opened(browser, waits, Reply("First."), waits, Reply("Second.")) as (here, one):
        held = asyncio.Queue()
        await one.page.route("**/stop?*", held.put)
        await one.ask("One")
        await one.page.get_by_role("button", name="Stop").wait_for()
        await one.field.fill("Two")
        await one.field.press("Enter")  # it waits
        await one.page.get_by_role("button", name="Stop").click()
        late = await held.get()
        await running(here, one.session, calls=1)
        here.go.set()
        here.go.clear()  # the tool that runs ends, and no later one
        await one.page.get_by_text("First.", exact=True).wait_for()
        await one.page.locator(".bubble").get_by_text("Two", exact=True).wait_for()
        await running(here, one.session, calls=2)
        answer = await late.fetch()
        assert await answer.json() == {"stopped": False}
        await late.fulfill(response=answer)
        here.go.set()
        await one.page.get_by_text("Second.", exact=True).wait_for()
        assert await one.page.get_by_text("Stopped by you.").count() == 0


async def test_a_question_stands_once_when_its_turn_comes_before_the_answer_to_the_sending(browser):
    async with opened(browser, Reply("Here.")) as (_, one):
        may_answer = asyncio.Event()

        async def late(route):
            if route.request.method == "POST":
                answer = await route.fetch()
                await may_answer.wait()
                await route.fulfill(response=answer)
            else:
                await route.continue_()

        await one.page.route("**/messages*", late)
        await one.ask("Hello?")
        await one.ended()
        try:
            assert await one.page.locator(".column").get_by_text("Hello?").count() == 1
        finally:
            may_answer.set()
            await one.page.unroute_all(behavior="wait")


async def test_a_page_that_waits_for_the_facts_of_the_server_says_why(browser):
    async with office(Reply("Here I am.")) as here:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        problem = {"type": "urn:turnlog:problem:stopping", "detail": "The server is about to stop."}
        async with tab(browser, here.url) as one:

            async def fails(route):
                await route.fulfill(status=503, json=problem)

            await one.page.route("**/api/config", fails)
            await one.go(f"/s/{session}")
            told = one.page.get_by_role("alert").filter(has_text="The server is about to stop.")
            await told.wait_for()
            await one.page.unroute("**/api/config", fails)
            await one.page.get_by_text("Here I am.", exact=True).wait_for()
            await told.wait_for(state="detached")


@pytest.mark.parametrize(
    ("path", "ready", "button"),
    [("/s/{}/audit", "Log verified", "Export JSONL"), ("/usage", "Calls", "Download CSV")],
    ids=["audit", "usage"],
)
async def test_what_cannot_be_downloaded_says_why(browser, path, ready, button):
    async with office(Reply("Here I am.")) as here, tab(browser, here.url) as one:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        await one.go(path.format(session))
        await one.page.get_by_text(ready).first.wait_for()
        told = one.page.get_by_role("alert").filter(has_text="No connection to the server.")
        await one.page.context.set_offline(True)
        await one.page.get_by_role("button", name=button).click()
        await told.wait_for()
        await one.page.context.set_offline(False)
        async with one.page.expect_download():
            await one.page.get_by_role("button", name=button).click()
        await told.wait_for(state="detached")


async def test_a_network_that_goes_while_the_page_asks_is_no_error_of_the_page(browser):
    async with office(Reply("Here I am.")) as here:
        session = await here.session()
        await here.app.run_turn("Hi", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:  # fails if the page has one
            lost = asyncio.Queue()

            async def lose(route):
                await route.abort()
                lost.put_nowait(urlsplit(route.request.url).path)

            facts = re.compile(r"/api/sessions(/[^/?]+)?(\?|$)")  # of the session, and of the list
            await one.page.route(facts, lose)
            await one.go(f"/s/{session}")
            for path in (f"/api/sessions/{session}", "/api/sessions"):  # which is asked for instead
                while await lost.get() != path:
                    pass
            await one.page.get_by_text("Here I am.", exact=True).wait_for()


async def test_a_lost_connection_is_told_and_what_was_missed_comes_at_once(browser):
    async with office(Reply(ToolCall("wait")), Reply("Back again.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            held, sockets = asyncio.Event(), []

            def connected(client):
                sockets.append(client)
                if held.is_set():
                    asyncio.get_running_loop().create_task(client.close())
                else:
                    client.connect_to_server()

            await one.page.route_web_socket("**/socket.io/**", connected)
            await one.page.route("**/socket.io/**", lambda route: route.abort())
            await one.go(f"/s/{session}")
            await one.ask("Wait")
            await one.page.locator('[data-outcome="running"]').wait_for()
            held.set()
            await sockets[-1].close()
            await one.page.get_by_text("Reconnecting…").wait_for()
            here.go.set()
            await here.app.rest()
            await one.field.fill("x")
            await one.page.get_by_role("button", name="Send when back").wait_for()
            held.clear()
            await one.page.evaluate("dispatchEvent(new Event('online'))")
            await one.page.get_by_text("Back again.", exact=True).wait_for()
            await one.page.locator('[data-state="live"]').wait_for()
            assert await one.page.locator(".card").count() == 1


async def test_a_message_is_sent_once_however_often_the_answer_is_lost(browser):
    async with office(Reply("Once.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            lost = []

            async def lose(route):
                """The first answers do not arrive."""
                if route.request.method == "POST" and len(lost) < 1:
                    lost.append(route.request.post_data_json["requestId"])
                    await route.fetch()
                    await route.abort()
                else:
                    await route.continue_()

            await one.page.route("**/messages", lose)
            await one.go(f"/s/{session}")
            async with one.page.expect_response("**/messages") as repeated:
                await one.ask("Once")
            assert (await repeated.value).status == 202  # it is sent again, though the socket stood
            await one.ended()
            await one.page.reload()
            await one.ended()
            assert await one.page.locator(".bubble").all_inner_texts() == ["Once"]
            assert len(here.sim.requests) == 1


# The head of the first answer to a sending arrives, and its body does not.
BREAKS_OFF = """
const whole = Response.prototype.text;
Response.prototype.text = function () {
  if (!this.url.endsWith("/messages") || sessionStorage.broken) return whole.call(this);
  sessionStorage.broken = "yes";
  return Promise.reject(new TypeError("network error"));
};
"""


async def test_a_message_whose_answer_breaks_off_is_not_told_to_have_failed(browser):
    async with office(Reply("Once.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.page.add_init_script(BREAKS_OFF)
            await one.go(f"/s/{session}")
            await one.ask("Once")
            await one.ended()
            await one.page.wait_for_function("() => sessionStorage.broken")
            await one.page.reload()  # as a reload itself may break it off
            await one.ended()
            assert await one.page.locator(".bubble").all_inner_texts() == ["Once"]
        assert len(here.sim.requests) == 1


async def test_a_stop_on_a_slow_line_is_seen_at_once_and_asked_for_once(browser):
    async with opened(browser, Reply(ToolCall("wait"))) as (_, one):
        asked, may_go = [], asyncio.Event()

        async def slow(route):
            asked.append(route.request.url)
            await may_go.wait()
            await route.continue_()

        await one.page.route("**/stop?*", slow)
        await one.ask("Wait")
        await one.page.locator('[data-outcome="running"]').wait_for()
        await one.page.get_by_role("button", name="Stop").click()
        await one.page.get_by_role("button", name="Stopping…").click()
        await one.page.keyboard.press("Escape")
        may_go.set()
        await one.ended()
        assert len(asked) == 1
        await one.page.unroute_all(behavior="wait")


async def test_a_turn_that_could_not_be_stopped_says_so_and_can_be_stopped_afterwards(browser):
    async with opened(browser, Reply(ToolCall("wait"))) as (_, one):
        await one.ask("Wait")
        await one.page.locator('[data-outcome="running"]').wait_for()
        await one.page.route("**/stop?*", lambda route: route.abort())
        await one.page.get_by_role("button", name="Stop").click()
        told = one.page.get_by_role("alert").filter(has_text="The turn was not stopped.")
        await told.wait_for()
        await one.page.unroute("**/stop?*")
        await one.page.get_by_role("button", name="Stop").click()
        await one.ended()
        await told.wait_for(state="detached")
