"""Files in the browser: attached, checked, sent, seen again, or refused with a reason."""

import asyncio
import io

import pytest
from PIL import Image
from web.browser import tab
from web.office import USER, office

from turnlog.simulator import Reply
from turnlog.testing.made_files import pdf

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def picture():
    made = io.BytesIO()
    Image.new("RGB", (400, 300), "#1f5fbf").save(made, "PNG")
    return {"name": "blue.png", "mimeType": "image/png", "buffer": made.getvalue()}


async def test_files_are_attached_sent_and_seen_again(browser, tmp_path):
    async with (
        office(Reply("A blue picture."), data=str(tmp_path)) as here,
        tab(browser, here.url) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        wrong = {"name": "bad.png", "mimeType": "image/png", "buffer": b"no image"}
        await one.page.locator("input[type=file]").set_input_files([picture(), wrong])
        await one.page.locator(".file.failed").get_by_text("what is in the file").wait_for()
        await one.page.get_by_role("button", name="Remove bad.png").click()
        await one.page.locator(".chips").get_by_text("1 kB").wait_for()  # the server has it
        await one.page.reload()  # the draft keeps its files
        await one.page.get_by_role("button", name="Remove blue.png").wait_for()
        copy = picture() | {"name": "copy.png"}  # the same content is the same file
        await one.page.locator("input[type=file]").set_input_files([copy])
        await one.page.get_by_role("button", name="Remove blue.png").wait_for(state="detached")
        await one.ask("What is it?")
        await one.ended()
        await one.page.get_by_role("button", name="Open copy.png").click()
        shown = one.page.locator(".drawer img")
        await shown.wait_for()
        assert (await shown.get_attribute("src")).startswith("blob:")
        content = here.sim.requests[-1]["messages"][-1]["content"]
        assert "image" in [block["type"] for block in content]


async def test_a_file_that_is_too_large_is_not_sent_at_all(browser, tmp_path):
    settings = {"data": str(tmp_path), "image_bytes": 1000}
    async with office(**settings) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        sent = []
        one.page.on("request", lambda request: sent.append((request.method, request.url)))
        large = picture() | {"buffer": b"x" * 2000}
        await one.page.locator("input[type=file]").set_input_files([large])
        await one.page.get_by_text("2 kB; images may have 1 kB").wait_for()
        assert [url for method, url in sent if method == "POST"] == []


async def test_files_that_are_attached_together_before_the_first_message_are_in_one_session(
    browser, tmp_path
):
    paths = [tmp_path / f"{name}.pdf" for name in ("one", "two", "three")]
    for path in paths:
        path.write_bytes(pdf(path.stem))
    async with (
        office(Reply("Three files."), data=str(tmp_path)) as here,
        tab(browser, here.url) as one,
    ):
        await one.go("/")
        await one.page.get_by_role("button", name="Thinking: off").click()
        await one.page.get_by_label("Think before answering").check()
        await one.page.keyboard.press("Escape")
        await one.page.locator("input[type=file]").set_input_files(paths)
        await one.page.locator(".file-name").nth(2).wait_for()
        await one.ask("What are these?")
        await one.ended()
        (session,) = await here.app.store.list_sessions(USER, limit=10)
        assert session.thinking_enabled
        assert await one.page.locator(".entry").count() == 1


async def test_many_files_at_once_wait_for_their_turn_and_all_arrive(browser, tmp_path):
    texts = [
        {"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"Terms of %d." % (2000 + n)}
        for n in range(9)
    ]
    async with office(data=str(tmp_path)) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        routes = asyncio.Queue()
        await one.page.route("**/files/document", routes.put)
        await one.page.locator("input[type=file]").set_input_files(texts)
        held = [await routes.get() for _ in range(3)]
        await one.page.locator(".file").get_by_text("waiting").nth(5).wait_for()
        for _ in texts[3:]:
            await held.pop(0).continue_()
            held.append(await routes.get())
        for route in held:
            await route.continue_()
        await one.page.get_by_text("1 page").nth(8).wait_for()
        assert await one.page.locator(".file.failed").count() == 0


async def test_a_file_that_is_removed_on_its_way_is_not_attached(browser, tmp_path):
    async with (
        office(Reply("Nothing is attached."), data=str(tmp_path)) as here,
        tab(browser, here.url) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        routes = asyncio.Queue()
        await one.page.route("**/files", routes.put)
        await one.page.locator("input[type=file]").set_input_files([picture()])
        held = await routes.get()
        async with one.page.expect_event("requestfailed"):
            await one.page.get_by_role("button", name="Remove blue.png").click()
        await held.abort()
        await one.ask("What is it?")
        await one.ended()
        assert await one.page.locator(".file").count() == 0
        (asked,) = here.sim.requests[-1]["messages"]
        assert "image" not in str(asked)


async def test_what_cannot_be_taken_says_why_and_offers_no_second_try(browser, tmp_path):
    (tmp_path / "invoices").mkdir()
    (tmp_path / "program.exe").write_bytes(b"MZ" + bytes(200))
    async with office(data=str(tmp_path / "data")) as here, tab(browser, here.url) as one:
        await one.go(f"/s/{await here.session()}")
        await drop(one.page, tmp_path / "invoices")
        await one.page.get_by_text("Of a folder, attach the files.").wait_for()
        await one.page.locator("input[type=file]").set_input_files(tmp_path / "program.exe")
        await one.page.locator(".file.failed").nth(1).wait_for()
        assert await one.page.get_by_role("button", name="Remove").count() == 2
        assert await one.page.get_by_role("button", name="again").count() == 0


async def drop(page, path):
    """As from the desktop."""
    hand = await page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 600, "y": 300, "data": data}
        await hand.send("Input.dispatchDragEvent", event)


async def test_a_file_beside_the_conversation_on_a_tablet_leaves_room_for_its_title(
    browser, tmp_path
):
    async with (
        office(Reply("A blue picture."), data=str(tmp_path)) as here,
        tab(browser, here.url, size=(820, 1100)) as one,
    ):
        await one.go(f"/s/{await here.session()}")
        await one.page.locator("input[type=file]").set_input_files([picture()])
        await one.page.locator(".chips").get_by_text("1 kB").wait_for()
        await one.ask("What is it?")
        await one.ended()
        await one.page.get_by_role("button", name="Open blue.png").click()
        await one.page.locator(".drawer img").wait_for()
        title = await one.page.locator("h1.title").bounding_box()
        assert title["width"] >= 120
