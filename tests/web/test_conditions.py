"""What goes wrong around a conversation: sockets, cursors, doubts, budgets, rights, big pastes."""

import asyncio
import re
from decimal import Decimal

import pytest
from web.browser import new_tab, tab
from web.office import CREATE, USER, office

from turnlog import tool
from turnlog.projections.billing.budgets import Budget
from turnlog.simulator import Reply, Text, ToolCall, Usage
from turnlog.testing.apps import SECRET
from turnlog.testing.made_files import pdf
from turnlog.tokens import mint
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_a_socket_that_only_looks_alive_is_noticed_and_nothing_is_missing(browser):
    async with office(Reply(ToolCall("wait")), Reply("It went on.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            frozen, sockets = [], []

            def connected(client):
                sockets.append(client)
                server = client.connect_to_server()
                mine = len(sockets)
                client.on_message(lambda message: mine in frozen or server.send(message))
                server.on_message(lambda message: mine in frozen or client.send(message))

            await one.page.route_web_socket("**/socket.io/**", connected)
            await one.go(f"/s/{session}")
            await one.ask("Wait")
            await one.page.locator('[data-outcome="running"]').wait_for()
            frozen.append(len(sockets))  # no byte comes through, and nobody closes it
            here.go.set()
            await here.app.rest()
            assert await one.page.get_by_text("It went on.", exact=True).count() == 0
            await one.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            await one.page.get_by_text("It went on.", exact=True).wait_for()
            assert await one.page.locator(".bubble").all_inner_texts() == ["Wait"]
            assert await one.page.locator(".card").count() == 1


async def test_a_cursor_that_is_too_old_reloads_the_page_and_keeps_the_draft(browser):
    async with office(Reply("One."), Reply("Two."), Reply("Three.")) as here:
        session = await here.session()
        first = await here.app.run_turn("First", session_id=session)
        old = f"{first.events[0].position}.{first.events[0].envelope.index}"
        async with tab(browser, here.url) as one:
            aged = []

            def connected(client):
                server = client.connect_to_server()

                def sent(message):
                    """The second time it comes, it comes with a cursor of the first turn."""
                    if "session:join" in message and len(aged) < 2:
                        aged.append(message)
                        if len(aged) == 2:
                            message = re.sub(r'"after":"[^"]*"', f'"after":"{old}"', message)
                    server.send(message)

                client.on_message(sent)
                sockets.append(client)

            sockets = []
            await one.page.route_web_socket("**/socket.io/**", connected)
            await one.go(f"/s/{session}")
            await one.page.locator('[data-state="live"]').wait_for()
            await one.page.get_by_label("Message", exact=True).fill("A draft")
            await here.app.run_turn("Second", session_id=session)
            await one.ended(2)
            told = one.page.get_by_text("Refreshed")  # for a moment: it is looked for before
            await asyncio.gather(told.wait_for(), sockets[-1].close())
            assert await one.page.locator(".bubble").all_inner_texts() == ["First", "Second"]
            assert await one.page.get_by_label("Message", exact=True).input_value() == "A draft"
            await here.app.run_turn("Third", session_id=session)
            await one.ended(3)  # it goes on live


async def test_a_write_in_doubt_is_settled_once_and_for_everybody(browser, request):
    late = Reply(ToolCall("pay_late", {"amount": 5}))

    @tool(approval="never", timeout=0.05, title="Pay an invoice")
    async def pay_late(amount: int) -> str:
        """Pays, and never returns."""
        await asyncio.Event().wait()
        return "paid"

    async with office(late, Reply("Please look."), more=[pay_late]) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("Pay it")
            await one.ended()
            await one.page.get_by_text(
                "It is not known whether “Pay an invoice” happened"
            ).wait_for()
            await pictures.check(one, "doubt", request, among=pictures.FEW)
            await one.page.get_by_label("Note").fill("It is in the ledger.")
            await one.page.get_by_role("button", name="It happened").click()
            await one.page.get_by_text("Somebody has looked and said it").wait_for()
            assert await here.app.store.list_doubts(USER) == []
            await one.page.reload()
            await one.page.get_by_text("Somebody has looked and said it").wait_for()
            assert await one.page.get_by_role("button", name="It happened").count() == 0


async def test_a_budget_that_is_used_up_closes_the_composer_and_nothing_else(browser):
    spent = Usage(input_tokens=25_000, output_tokens=5_000)  # 0.1 dollars
    budget = Budget(per="session", usd=Decimal("0.1"))
    says = [Reply(ToolCall("wait")), Reply("Hello.", usage=spent)]
    async with office(*says, budgets=(budget,)) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        await one.ask("Hi")
        await one.page.locator('[data-outcome="running"]').wait_for()
        field = one.page.get_by_label("Message", exact=True)
        assert await field.is_enabled()
        here.go.set()  # what it costs is known at the end of the turn
        await one.ended()
        await one.page.wait_for_function("() => document.querySelector('textarea').disabled")
        assert "budget of this session is used up" in await field.get_attribute("placeholder")
        assert await one.page.get_by_text("Hello.", exact=True).is_visible()


async def test_who_asked_may_not_decide_where_four_eyes_are_wanted(browser, request):
    async with office(
        Reply(CREATE), Reply("Done."), approver="others:finance", auth_secret=SECRET
    ) as here:
        session = (await here.app.create_session("anna")).id
        async with tab(browser, here.url) as mine, tab(browser, here.url) as other:
            await signed_in(mine, mint(SECRET, "anna"), f"/s/{session}")
            await mine.ask("Create it")
            await mine.page.locator(".approval").wait_for()
            assert await mine.page.get_by_role("button", name="Approve").count() == 0
            await mine.page.get_by_text("Waits for somebody else with the role finance").wait_for()
            await pictures.check(mine, "four-eyes", request, among=pictures.FEW)
            await signed_in(other, mint(SECRET, "ben", roles=["finance"]), "/approvals")
            await other.page.get_by_text("anna asked for this").wait_for()
            assert not await other.page.get_by_role("button", name="Change city: Lyon").is_enabled()
            await other.page.get_by_role("button", name="Approve").click()
            await mine.ended()
        assert here.made == [("Atelier Rhône", "Lyon", 30000)]


async def test_the_page_begins_anew_for_somebody_else_and_stays_for_whoever_was_here(browser):
    async with office(auth_secret=SECRET) as here, tab(browser, here.url) as one:
        field = one.page.get_by_label("Message", exact=True)
        await signed_in(one, mint(SECRET, "anna"), "/")
        await field.fill("What does Ben earn?")
        await one.page.get_by_role("button", name="Sign out anna").click()
        await signed_in(one, mint(SECRET, "anna"))
        assert await field.input_value() == "What does Ben earn?"
        await one.page.get_by_role("button", name="Sign out anna").click()
        await signed_in(one, mint(SECRET, "ben"))
        await one.page.get_by_role("button", name="Sign out ben").wait_for()
        assert await field.input_value() == ""
        await field.fill("Who is Anna?")
        await one.page.reload()
        await one.page.get_by_role("button", name="Sign out ben").wait_for()
        assert await field.input_value() == "Who is Anna?"
        later = await new_tab(one.page.context, here.url)
        await signed_in(later, mint(SECRET, "anna"), "/")
        await later.page.get_by_role("button", name="Sign out anna").wait_for()
        assert await later.page.get_by_label("Message", exact=True).input_value() == ""


async def test_a_search_says_that_it_did_not_look_everywhere(browser):
    async with office() as here, tab(browser, here.url) as one:
        found = {"sessions": [], "cursor": None, "searchedAll": False}
        await one.page.route("**/api/sessions?*search=*", lambda route: route.fulfill(json=found))
        await one.go("/")
        await one.page.get_by_role("searchbox").fill("rhubarb")
        await one.page.keyboard.press("Enter")
        await one.page.get_by_text("by their titles only").wait_for()
        await one.page.get_by_role("searchbox").fill("")
        await one.page.get_by_text("by their titles only").wait_for(state="detached")


async def signed_in(one, token, place=None):
    if place is not None:
        await one.go(place)
    await one.page.get_by_label("Token", exact=True).fill(token)
    await one.page.get_by_role("button", name="Sign in").click()
    await one.page.get_by_role("dialog").wait_for(state="detached")


async def test_a_cited_page_opens_beside_the_conversation(browser, tmp_path):
    words = "Invoices are payable within 30 days net."
    cited = {
        "type": "page_location", "cited_text": words, "document_index": 0,
        "document_title": "terms.pdf", "start_page_number": 2, "end_page_number": 3,
    }  # fmt: skip
    false = cited | {"cited_text": "There is a discount of 40 percent."}
    says = Reply(Text("The terms are 30 days net", (cited,)), Text(", less 40 %.", (false,)))
    async with office(says, data=str(tmp_path)) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        terms = {"name": "terms.pdf", "mimeType": "application/pdf", "buffer": pdf("One.", words)}
        await one.page.locator("input[type=file]").set_input_files([terms])
        await one.page.get_by_text("2 pages").wait_for()
        await one.ask("Which terms?")
        await one.ended()
        asked = []
        one.page.on("request", lambda request: asked.append(request.url))
        await one.page.get_by_role("button", name="Source 1: terms.pdf, page 2").click()
        await one.page.locator(".drawer blockquote").get_by_text(words).wait_for()
        await one.page.locator(".drawer img").wait_for()
        assert any("page=2" in url for url in asked)
        await one.page.keyboard.press("Escape")
        await one.page.locator(".drawer").wait_for(state="detached")
        doubtful = "Source 2: terms.pdf, page 2, not found there"
        await one.page.get_by_role("button", name=doubtful).click()
        await one.page.locator(".drawer").get_by_text("not found in the source").wait_for()


# An event that carries a file, as a browser makes it for a drop or a paste.
WITH_FILE = """([target, kind]) => {
    const carried = new DataTransfer();
    carried.items.add(new File(["a,b\\n1,2\\n"], `${kind}.csv`, {type: "text/csv"}));
    const named = kind === "paste" ? {clipboardData: carried} : {dataTransfer: carried};
    const Made = kind === "paste" ? ClipboardEvent : DragEvent;
    document.querySelector(target).dispatchEvent(
        new Made(kind, {...named, bubbles: true, cancelable: true}));
}"""


async def test_files_are_dropped_pasted_and_made_of_a_long_text(browser, tmp_path):
    async with (
        office(data=str(tmp_path)) as here,
        tab(browser, here.url, permissions=["clipboard-read", "clipboard-write"]) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        await one.page.evaluate(WITH_FILE, ["main", "dragover"])
        await one.page.get_by_text("Drop the files to attach them").wait_for()
        await one.page.evaluate(WITH_FILE, ["main", "drop"])
        await one.page.get_by_role("button", name="Remove drop.csv").wait_for()
        assert await one.page.get_by_text("Drop the files to attach them").count() == 0
        await one.page.evaluate(WITH_FILE, ["textarea", "paste"])
        await one.page.get_by_role("button", name="Remove paste.csv").wait_for()
        field = one.page.get_by_label("Message", exact=True)
        await field.fill("Read this: ")
        await one.page.evaluate("navigator.clipboard.writeText('word '.repeat(5000))")
        await field.press("Control+v")
        await one.page.get_by_text("You pasted 25,000 characters.").wait_for()
        await one.page.get_by_role("button", name="Attach as text file").click()
        await one.page.get_by_role("button", name="Remove pasted.txt").wait_for()
        assert await field.input_value() == "Read this: "


async def test_a_message_near_its_limit_is_counted_and_beyond_it_not_sent(browser, request):
    async with (
        office(Reply("Read."), max_characters=1000) as here,
        tab(browser, here.url) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        field, send = one.page.get_by_label("Message", exact=True), one.page.locator(".send")
        counted, told = one.page.locator(".length"), one.page.get_by_text("too long")
        await field.fill("x" * 899)
        await one.page.locator(".send:enabled").wait_for()
        assert (await counted.count(), await told.count()) == (0, 0)
        await field.fill("x" * 900)
        await counted.get_by_text("900 of 1,000").wait_for()
        await field.fill("x" * 1001)
        await told.get_by_text("This message is 1 character too long. Shorten it").wait_for()
        assert await counted.inner_text() == "1,001 of 1,000"
        assert await send.is_disabled()
        await pictures.check(one, "too long", request, among=pictures.FEW)
        await field.press("Enter")
        assert await field.input_value() == "x" * 1001
        await field.press("Backspace")
        await counted.get_by_text("1,000 of 1,000").wait_for()
        assert await told.count() == 0
        await send.click()
        await one.ended()
        assert await one.page.locator(".bubble").all_inner_texts() == ["x" * 1000]


async def test_a_session_is_renamed_in_its_place(browser):
    async with office() as here:
        session = await here.session("Old")
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            for words, key, title in (("Never", "Escape", "Old"), ("New", "Enter", "New")):
                await one.page.get_by_role("button", name="Menu of Old").click()
                await one.page.get_by_role("button", name="Rename", exact=True).last.click()
                await one.page.get_by_label("Title", exact=True).fill(words)
                await one.page.keyboard.press(key)
                await one.page.get_by_role("link", name=title, exact=True).wait_for()
            assert (await here.app.store.get_session(USER, session)).title == "New"
