"""Numbers that a browser cannot hold: what is shown and sent back is what the model wrote."""

from pathlib import Path

import pytest
from web.browser import tab
from web.office import office

from turnlog.simulator import Reply, ToolCall
from turnlog.tools.tool import tool

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ID, SHOWN = 9007199254740993, "9,007,199,254,740,993"
SOURCES = Path(__file__).parent.parent.parent / "web" / "src"
# They read and write only what this UI itself made, or what has no such numbers in it.
PLAIN = {
    *("wire/json.ts", "wire/storage.ts", "wire/outbox.ts", "wire/token.ts"),
    *("files/sources.ts", "files/sending.ts", "signin/SignInDialog.tsx"),
}
LOT = 123456789012345678901234567890  # beyond 64 bits too


@pytest.mark.parametrize("place", ["/s/{session}", "/approvals"])  # by the socket, and by HTTP
async def test_an_edit_of_another_field_sends_each_number_as_the_model_wrote_it(browser, place):
    paid = []

    @tool(describe="pay {to}")
    async def pay(to: str, invoice: int, lots: list[int], rate: float) -> dict:
        """Pay."""
        paid.append((to, invoice, lots, rate))
        return {"receipt": ID}

    asked = {"to": "Lyon", "invoice": ID, "lots": [LOT], "rate": 0.1}
    async with office(Reply(ToolCall("pay", asked)), Reply("Done."), more=[pay]) as here:
        session = await here.session()
        async with tab(browser, here.url) as one:
            card = await one.asks_for_approval(f"/s/{session}", "Pay")
            await one.follow(place.format(session=session))
            await card.wait_for()
            assert SHOWN in await card.inner_text()
            await one.page.get_by_role("button", name="Change To: Lyon").click()
            await one.page.keyboard.press("Control+a")
            await one.page.keyboard.type("Paris")
            await one.page.keyboard.press("Control+Enter")
            await one.page.get_by_role("button", name="Approve").wait_for(state="detached")
            await one.follow(f"/s/{session}")
            await one.ended()
            await one.page.locator(".card-head").click()
            assert str(LOT) in await one.page.locator(".card .json").inner_text()
            assert await one.page.locator(".card .pairs dd").inner_text() == str(ID)
    assert paid == [("Paris", ID, [LOT], 0.1)]


async def test_whatever_a_model_or_a_tool_wrote_is_read_and_written_by_the_one_module():
    used = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.ts*")
        if ".test." not in path.name
        and any(each in path.read_text() for each in ("JSON.parse(", "JSON.stringify(", ".json()"))
    }
    assert used == PLAIN
