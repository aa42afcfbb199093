"""Those who read from right to left, those who read on paper, and those who listen."""

import io

import pypdfium2
import pytest
from web.browser import NARROW, tab
from web.office import USER, office

from turnlog.simulator import Reply, ToolCall
from turnlog.tools.tool import tool
from web import pictures

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
HEBREW = """\
הלקוח **אטלייה רון** נוצר.

- פריט ראשון

  ```python
  print("first")
  ```

> ציטוט

The customer אטלייה is created.
"""
EXPECTED = {
    ".md > p": "rtl", ".md > ul": "rtl", ".md .code": "ltr", ".md > blockquote": "rtl",
    ".md > p:last-child": "ltr",
}  # fmt: skip
DIRECTIONS = """names => Object.fromEntries(names.map(
    (name) => [name, getComputedStyle(document.querySelector(name)).direction]))"""


async def test_each_paragraph_runs_in_the_direction_of_its_words(browser):
    async with office(Reply(HEBREW)) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        field = one.page.get_by_label("Message", exact=True)
        await field.fill("שלום, מה שלומך?")
        direction = "field => getComputedStyle(field).direction"
        assert await field.evaluate(direction) == "rtl"
        await field.press("Enter")
        await one.ended()
        assert await one.page.evaluate(DIRECTIONS, list(EXPECTED)) == EXPECTED
        assert await field.evaluate(direction) == "ltr"


async def test_a_printed_conversation_is_whole_and_black_on_white(browser):
    says = [Reply(f"Answer {n}. " + "It goes on. " * 60) for n in range(60)]
    async with office(*says) as here, tab(browser, here.url, theme="dark") as one:
        session = await here.session()
        for n in range(len(says)):
            await here.app.run_turn(f"Question {n}", session_id=session, user_id=USER)
        await one.go(f"/s/{session}")
        await one.page.locator(".answer", has_text="Answer 59.").wait_for()
        assert await one.page.get_by_text("Answer 0.").count() == 0  # only what is in view is drawn
        pages = pypdfium2.PdfDocument(io.BytesIO(await one.page.pdf()))
        text = "\n".join(page.get_textpage().get_text_bounded() for page in pages)
        for n in range(len(says)):
            assert text.count(f"Question {n}\r") == text.count(f"Answer {n}.") == 1
        assert "Live" not in text and "New session" not in text
        await one.page.emulate_media(media="print", color_scheme="dark")
        ink = "() => getComputedStyle(document.body).color"
        assert await one.page.evaluate(ink) == "rgb(28, 28, 26)"


COMMENT = "The goods of the second delivery came too late; a credit note was promised."
OPEN_ITEMS = [
    {"customer": "Adatum Corporation", "number": "10000", "due": "2026-10-31", "comment": COMMENT},
    {"customer": "Driftwood Hotels", "number": "C00030", "due": "2026-11-02", "comment": "None."},
]
AS_MARKDOWN = "\n".join(
    ["| Customer | Number | Due | Comment |", "|---|---|---|---|"]
    + [f"| {' | '.join(row.values())} |" for row in OPEN_ITEMS]
)


@tool(writes=False)
async def open_items() -> list[dict]:
    """The open items."""
    return OPEN_ITEMS


async def test_a_long_cell_of_a_table_is_read_on_a_phone_and_a_date_stays_on_one_line(browser):
    says = [Reply(ToolCall("open_items")), Reply(AS_MARKDOWN)]
    async with office(*says, more=[open_items]) as here, tab(browser, here.url, size=NARROW) as one:
        await one.go(f"/s/{await here.session()}")
        await one.ask("What is open?")
        await one.ended()
        await one.page.get_by_role("button", name="Open items").click()
        for table in (".card-body .table", ".md .table"):
            cells = one.page.locator(f"{table} tbody tr:first-child td")
            comment = await cells.nth(3).bounding_box()
            assert comment["width"] >= 200
            assert comment["height"] < 120  # and not a line for each word
            assert await cells.nth(2).evaluate(LINES) == 1
        await pictures.fits(one.page)  # it scrolls inside


LINES = """cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size;
}"""
# Notes what the live regions of the page say.
HEARD = """
window.heard = [];
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  for (const region of document.querySelectorAll('.off-screen[role]')) {
    const text = region.textContent;
    if (text && window.heard.at(-1) !== text) window.heard.push(text);
  }
}).observe(document.body, { subtree: true, childList: true, characterData: true }));
"""


async def test_a_screen_reader_does_not_hear_what_was_said_before_the_page_opened(browser):
    async with office(Reply("An old answer."), Reply("A new one.")) as here:
        session = await here.session()
        await here.app.run_turn("Before", session_id=session, user_id=USER)
        async with tab(browser, here.url) as one:
            await one.page.add_init_script(HEARD)
            await one.go(f"/s/{session}")
            await one.ended()
            await one.page.evaluate(
                "() => new Promise((go) => setTimeout(go, 400))"
            )  # it would speak
            await one.ask("Now")
            await one.ended(2)
            new = "A new one. — answer complete"
            await one.page.wait_for_function("new_ => window.heard.at(-1) === new_", arg=new)
            assert "An old answer. — answer complete" not in await one.page.evaluate("window.heard")
