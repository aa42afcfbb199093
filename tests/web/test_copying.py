"""What is copied from a conversation pastes cleanly into Word, Excel and plain text."""

import asyncio

import pytest
import pytest_asyncio
from web.browser import tab
from web.office import CITED, MARKDOWN, office

from turnlog.simulator import Reply, Text

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
READ = """async () => {
  const [item] = await navigator.clipboard.read();
  const read = async (type) => (await item.getType(type)).text();
  return [await read("text/plain"), await read("text/html")];
}"""
SELECT = """place => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector(place));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""
TABLE = (
    '<table border="1"><thead><tr><th align="left">Customer</th><th align="left">City</th>'
    '<th align="right">Balance</th></tr></thead><tbody><tr><td align="left">Adatum Corporation</td>'
)


@pytest_asyncio.fixture(loop_scope="module")
async def one(browser):
    says = Reply(Text("Payable in **30 days**", (CITED,)), Text(f".\n\n{MARKDOWN}"))
    clipboard = ["clipboard-read", "clipboard-write"]
    async with office(says) as here, tab(browser, here.url, permissions=clipboard) as one:
        await one.go(f"/s/{await here.session()}")
        await one.ask("Tell me")
        await one.ended()
        yield one


async def copied(one, place):
    await one.page.evaluate(SELECT, place)
    await one.page.keyboard.press("Control+c")
    return await one.page.evaluate(READ)


async def test_selected_words_are_copied_without_the_page_around_them(one):
    text, html = await copied(one, ".answer")
    assert (
        "30 days. \n" in text.replace("\n\n", " \n") or "30 days." in text
    )  # no number of a source
    assert "Adatum Corporation\tAtlanta\t0.00" in text and "python" not in text
    assert "<p>Payable in <strong>30 days</strong>" in html and TABLE in html
    assert "style=" not in html and "class=" not in html and "<button" not in html


async def test_rows_of_a_table_are_copied_as_a_table(one):
    _, html = await copied(one, ".md tbody")
    assert (
        '<table border="1"><tbody><tr><td' in html and "8,452.31" in html and "Customer" not in html
    )


async def test_the_whole_answer_is_copied_as_it_was_written_and_as_it_looks(one):
    copy = one.page.get_by_role("button", name="Copy answer")
    copied = one.page.get_by_role("button", name="Copied")  # for a moment: it is looked for before
    await asyncio.gather(copied.wait_for(), copy.click())
    text, html = await one.page.evaluate(READ)
    assert text == f"Payable in **30 days**.\n\n{MARKDOWN}"
    assert TABLE in html and "<pre><code>" in html and "style=" not in html
