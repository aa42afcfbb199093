"""What models, tools and files say is hostile: nothing leaves the page, nothing runs in it."""

import pytest
from web.browser import tab
from web.office import USER, office

from turnlog import tool
from turnlog.ports import Question
from turnlog.simulator import Reply, ToolCall

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
BIDI = "pay\u202eexe.fdp\u200b"
HOSTILE = f"""\
<script>window.hit = 1</script> <img src="http://evil.example/x.png" onerror="window.hit = 2">
<iframe src="http://evil.example"></iframe><style>body {{ display: none }}</style>

![a picture](http://evil.example/track.png) and ![](https://evil.example/2.png)

[one](javascript:window.hit=3) [two](JaVaScRiPt:window.hit=4) [three](java\tscript:window.hit=5)
[four](&#106;avascript:window.hit=6) [five](vbscript:window.hit=7) [six](data:text/html,<script>)
[seven](/api/sessions) [eight](//evil.example/x)
[https://bank.example](https://evil.example/login) <https://evil.example/auto>

Tom &amp; Jerry &lt;b&gt; &#x2014; &unknown; \ue0001\ue001 \ue0009\ue001

{"> " * 100}deep

[ref]

```html
<script>window.hit = 8</script>
```

| a | b |
|---|---|
| <b>x</b> | [y](javascript:window.hit=9) |

[ref]: javascript:window.hit=10
"""
LINE = "x" * 1_000_000


@pytest.fixture
def says():
    calls = [
        ToolCall("search_customers", {"city": f"<img src=x onerror=hit> {BIDI}"}),
        ToolCall("fail", {"why": f"<script>hit()</script>{BIDI}"}),
    ]
    return [Reply(*calls), Reply(HOSTILE, chunk=50)]


async def test_hostile_text_is_text(browser, says):
    async with office(*says) as here:
        session = await here.session(title=f"<b>{BIDI}</b>")
        async with tab(browser, here.url) as one:  # fails if a request leaves or the policy speaks
            await one.go(f"/s/{session}")
            await one.ask("<script>window.hit = 11</script>")
            await one.ended()
            assert await one.page.evaluate("window.hit") is None
            assert (
                await one.page.locator(".column img, .column iframe, .column script").count() == 0
            )
            hrefs = await one.page.locator(".md a").evaluate_all("all => all.map((a) => a.href)")
            assert "https://evil.example/login" in hrefs
            assert {href.split(":")[0] for href in hrefs} <= {"http", "https"}
            rels = await one.page.locator(".md a").evaluate_all("all => all.map((a) => a.rel)")
            assert set(rels) == {"noopener noreferrer nofollow"}
            text = await one.page.locator(".answer").last.inner_text()
            assert "(evil.example)" in text  # the words of the link look like another address
            assert "Image: a picture (not loaded)" in text
            assert "Tom & Jerry <b> —" in text
            assert "⟨U+202E⟩" in await one.page.locator(".tools").first.inner_text()
            live = await one.screen()
            await one.page.reload()
            await one.ended()
            assert await one.shows(live) == live


async def test_a_line_of_a_megabyte_leaves_the_page_alive(browser):
    async with office(Reply(LINE, chunk=50_000), Reply("Still here.")) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            await one.go(f"/s/{session}")
            await one.ask("One")
            await one.ended()
            await one.ask("Two")
            await one.page.get_by_text("Still here.", exact=True).wait_for()


async def test_internal_events_are_not_drawn_even_if_one_comes(browser):
    async with office(Reply("Hello.")) as here:
        session = await here.session()
        await here.app.start_turn(USER, session, Question(message="Hi"))
        await here.app.rest()
        async with tab(browser, here.url) as one:

            async def leak(route):
                """A server with a bug sends the events of the audit."""
                response = await route.fetch()
                page = await response.json()
                made = page["events"][0] | {
                    "type": "tool_use",
                    "toolUseId": "t",
                    "toolName": "transfer_to_erp",
                    "args": {"secret": "SECRET"},
                    "eventId": "e",
                    "eventIndex": 99,
                }
                page["events"] += [made, made | {"toolName": "x", "isInternal": True}]
                await route.fulfill(response=response, json=page)

            await one.page.route("**/messages?**", leak)
            await one.go(f"/s/{session}")
            await one.page.get_by_text("Hello.").wait_for()
            assert "SECRET" not in await one.page.locator("main").inner_text()
            assert await one.page.locator(".card").count() == 0


async def test_an_approval_hides_nothing_behind_its_own_words(browser):
    @tool(title=f"Pay {BIDI}", describe="pay {to}")
    async def pay(note: str, to: str, rate: float) -> str:
        """Pay."""
        return "paid"

    asked = ToolCall("pay", {"note": "Fine. " * 4000, "to": BIDI, "rate": 0.00012345})
    async with office(Reply(asked), more=[pay]) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            card = await one.asks_for_approval(f"/s/{session}", "Pay")
            assert (await card.bounding_box())["height"] < 600  # all of it is seen at once
            assert "24,000 characters: scroll to read them all." in await card.inner_text()
            assert "0.00012345" in await card.inner_text()
            await one.page.get_by_role("button", name="Pay pay⟨U+202E⟩exe").wait_for()
            await one.page.get_by_role("button", name="Show as JSON").click()
            assert "⟨U+202E⟩" in await card.locator("pre").inner_text()
            assert (await card.bounding_box())["height"] < 600
        await here.app.stop_turn(USER, session)
