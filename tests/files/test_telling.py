"""How the model is told of files: in which form, in which order, and what stays as it was."""

import base64
import io

import pypdfium2
import pytest
from PIL import Image

from turnlog.errors import TooMany
from turnlog.events.kinds import UserMessageSent
from turnlog.files.sweep import place_of
from turnlog.files.telling import NO_TEXT
from turnlog.projections.history import attachments
from turnlog.projections.history.attachments import (
    FILE_TOOL,
    form_of,
    needs_tool,
    plan,
    too_much,
)
from turnlog.projections.history.sources import page_of, source_of
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import made_files as made
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app
from turnlog.tools.read_file import read_file_tool

LONG, SHORT = "claude-sonnet-5-5", "claude-haiku-4-5"
BIRDS = made.pdf("Ducks swim.", "Geese fly.")


def image(size=100_000, side=1000, **more):
    return {"dimensions": {"width": side, "height": side}, "modelSize": size, **_facts(**more)}


def pdf(pages, size=100_000, **more):
    return {"pages": pages, **_facts("application/pdf", size=size, **more)}


def _facts(media_type="image/png", size=100_000, **more):
    return {"id": "f", "name": "f", "mediaType": media_type, "size": size, **more}


def asked(*files, message="m"):
    return UserMessageSent(message_id=message, content="?", files=list(files))


# the plan


@pytest.mark.parametrize(
    ("facts", "model", "form"),
    [
        (image(), LONG, "image"),
        (pdf(100), LONG, "pdf"),
        (pdf(600), LONG, "pages"),
        (pdf(20), SHORT, "pdf"),
        (pdf(90), SHORT, "pages"),
        (pdf(10, size=24_000_000), LONG, "pages"),
        (pdf(10, locked=True), LONG, "pages"),
        (_facts("text/plain", textLength=10), LONG, "text"),
    ],
)
def test_a_file_is_told_as_far_as_the_api_takes_it(facts, model, form):
    assert form_of(facts, model) == form


def test_old_files_are_told_by_name_in_big_steps_and_the_newest_never():
    log = s.log_of([asked(pdf(60), message=str(n)) for n in range(12)])
    forms = [[told.form for told in plan(log[: n + 1], LONG)] for n in range(12)]
    named = [row.count("name") for row in forms]
    assert named == [0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9]
    assert all(row[-1] == "pdf" for row in forms)


def test_between_two_steps_nothing_changes_for_what_was_told():
    log = s.log_of([asked(pdf(60), message=str(n)) for n in range(7)])
    for n in (5, 6):
        assert plan(log[: n + 1], LONG)[:n] == plan(log[:n], LONG)


def test_what_no_request_can_hold_is_too_much():
    assert not too_much([image()] * 20, LONG)
    assert too_much([image(size=2_000_000)] * 20, LONG)


def test_the_tool_is_needed_where_something_is_not_told_as_a_whole():
    few, many = ([asked(pdf(60), message=str(n)) for n in range(count)] for count in (2, 9))
    assert not needs_tool(plan(s.log_of(few), LONG))
    assert needs_tool(plan(s.log_of(many), LONG))
    long = asked(_facts("text/plain", textLength=attachments.MOST_TEXT + 1))
    assert needs_tool(plan(s.log_of([long]), LONG))


def test_the_tool_is_what_the_model_is_told_it_is():
    spec = read_file_tool(None).spec
    assert (spec.name, spec.description) == (FILE_TOOL.name, FILE_TOOL.description)
    assert spec.input_schema["properties"].keys() == FILE_TOOL.input_schema["properties"].keys()
    assert spec.input_schema["required"] == FILE_TOOL.input_schema["required"]


def test_a_source_names_a_page_of_a_file():
    assert page_of(source_of("a-1", 12)) == ("a-1", 12)
    assert page_of("https://example.com") is None


# turns


def blocks(sim):
    """The blocks of the user's messages in the last request."""
    messages = sim.requests[-1]["messages"]
    return [
        block for message in messages if message["role"] == "user" for block in message["content"]
    ]


def kinds(sim):
    return [block["type"] for block in blocks(sim)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "birds.pdf").write_bytes(BIRDS)
    (tmp_path / "photo.png").write_bytes(made.picture())
    (tmp_path / "notes.txt").write_text("The pond is deep.")
    return tmp_path


async def test_files_come_before_the_text_and_are_told_again_as_they_were(folder):
    async with scripted_app(Reply("A."), Reply("B.")) as (app, sim):
        files = [folder / "birds.pdf", folder / "photo.png", folder / "notes.txt"]
        first = await app.run_turn("What is it?", files=files)
        before = [{k: v for k, v in b.items() if k != "cache_control"} for b in blocks(sim)]
        assert kinds(sim) == ["document", "image", "document", "text"]
        await app.run_turn("And?", session_id=first.session_id)
        after = [{k: v for k, v in b.items() if k != "cache_control"} for b in blocks(sim)]
        assert after[:4] == before
        titles = [block.get("title") for block in after]
        assert titles == ["birds.pdf", None, "notes.txt", None, None]
        assert all(b["citations"] == {"enabled": True} for b in after if b["type"] == "document")


async def test_the_same_content_under_two_names_is_one_file_of_a_message(folder):
    """Its user has sent two files, and cannot know that they have one id."""
    copy = folder / "photo (1).png"
    copy.write_bytes(made.picture())
    async with scripted_app(Reply("A.")) as (app, sim):
        session = (await app.create_session("local")).id
        for _ in range(2):  # the second time as a client that lost the answer
            files = [folder / "photo.png", copy]
            turn = await app.run_turn("?", session_id=session, files=files, request_id="r")
        await app.rest()
        assert kinds(sim) == ["image", "text"]
        (file,) = turn.events[0].files
        assert file["name"] == copy.name
        assert (await app.files.get("local", file["id"])).uses == 1


async def test_a_pdf_beyond_the_limits_is_told_by_the_page(folder):
    pages = [f"Page {n} says {n * 7}." for n in range(1, 61)]
    pages[1] = " "
    (folder / "long.pdf").write_bytes(made.pdf(*pages))
    async with scripted_app(Reply("A."), model=SHORT) as (app, sim):
        await app.run_turn("What is it?", files=[folder / "long.pdf"])
        source = blocks(sim)[0]["source"]
    assert source["type"] == "content" and len(source["content"]) == 60
    assert source["content"][41]["text"] == "Page 42 says 294."
    assert source["content"][1]["text"] == NO_TEXT


async def test_a_file_that_is_too_long_is_cut_and_read_on_with_the_tool(folder, monkeypatch):
    monkeypatch.setattr("turnlog.files.telling.MOST_TEXT", 60)
    monkeypatch.setattr("turnlog.projections.history.attachments.MOST_TEXT", 60)
    pages = [f"Page {n} says something that is long." for n in range(1, 51)]
    (folder / "long.pdf").write_bytes(made.pdf(*pages))
    async with scripted_app(model=SHORT) as (app, sim):
        session = await app.create_session("local")
        file = await app.files.add("local", session.id, folder / "long.pdf")
        call = ToolCall("read_file", {"file_id": file.id, "first_page": 49}, "toolu_1")
        sim.queue(Reply(call), Reply("It says so."))
        turn = await app.run_turn("What is on page 49?", session_id=session.id, files=[file.id])
        assert turn.text == "It says so."
        told = blocks(sim)
    assert [block["type"] for block in told] == ["document", "text", "text", "tool_result"]
    assert "pages 1 to 1 of 50" in told[1]["text"]
    first, last = told[3]["content"]
    assert first["type"] == "search_result"
    assert first["content"] == [{"type": "text", "text": pages[48]}]
    assert page_of(last["source"]) == (file.id, 50)


async def test_the_tool_reads_only_files_of_the_user_who_asks(folder):
    async with scripted_app() as (app, sim):
        session = await app.create_session("ann")
        theirs = await app.files.add("bob", session.id, folder / "notes.txt")
        sim.queue(Reply(ToolCall("read_file", {"file_id": theirs.id}, "toolu_1")), Reply("No."))
        turn = await app.run_turn("Read it.", session_id=session.id, user_id="ann")
        (result,) = [e.event for e in turn.events if e.event.type == "tool_result"]
        assert not result.success and "There is no file" in result.error
        assert "pond" not in str(sim.requests[-1])


async def test_a_deleted_file_is_told_as_that(folder):
    async with scripted_app(Reply("A."), Reply("B.")) as (app, sim):
        first = await app.run_turn("What is it?", files=[folder / "birds.pdf"])
        (file,) = await app.files.page("local", limit=5)
        await app.files.delete("local", file.id)
        await app.run_turn("And?", session_id=first.session_id)
        assert kinds(sim) == ["text", "text", "text"]
        assert "has deleted it" in blocks(sim)[0]["text"]


async def test_a_file_whose_bytes_are_lost_is_not_said_to_be_deleted(folder, caplog):
    async with scripted_app(Reply("A.")) as (app, sim):
        file = await app.files.add("local", "s", folder / "birds.pdf")
        await app.files.blobs.delete(place_of(file))
        await app.run_turn("What is it?", files=[file.id])
        assert "Its content is not there any more" in blocks(sim)[0]["text"]
        assert f"file {file.id} has a row, and no content" in caplog.text


async def test_a_file_whose_bytes_are_changed_is_told_to_no_model(folder, caplog):
    async with scripted_app(Reply("A.")) as (app, sim):
        file = await app.files.add("local", "s", folder / "birds.pdf")
        async with app.files.blobs.incoming() as incoming:
            (incoming / "other").write_bytes((folder / "birds.pdf").read_bytes() + b"\n")
            await app.files.blobs.put(place_of(file), "original", incoming / "other")
        await app.run_turn("What is it?", files=[file.id])
        assert "Its content is not there any more" in blocks(sim)[0]["text"]
        assert f"the bytes of file {file.id} are not what was uploaded" in caplog.text


async def test_a_file_of_somebody_else_ends_it_at_once(folder):
    async with scripted_app() as (app, sim):
        session = await app.create_session("ann")
        theirs = await app.files.add("bob", session.id, folder / "notes.txt")
        turn = await app.run_turn("?", session_id=session.id, user_id="ann", files=[theirs.id])
        assert (turn.success, turn.events) == (False, [])
        assert turn.error == f"There is no file {theirs.id!r}."
        assert sim.requests == []


# what is told as a picture


@pytest.mark.parametrize(
    ("facts", "model", "form"),
    [
        (image(side=3000, byModel=True), LONG, "large"),
        (image(side=3000, byModel=True), SHORT, "image"),
        (image(side=3000, byModel=True), "claude-opus-4-6", "image"),
        (image(side=3000, byModel=True), "claude-opus-4-7", "large"),
        (image(side=3000, byModel=True), "some-other-model", "image"),
        (image(side=3000), LONG, "image"),
        (pdf(600, textLength=40), LONG, "pictures"),
        (pdf(600, textLength=900_000), LONG, "pages"),
        (pdf(56, size=45_000_000, textLength=0), LONG, "pictures"),
        (pdf(56, textLength=0), LONG, "pdf"),
        (pdf(600, textLength=0, locked=True), LONG, "pages"),
    ],
)
def test_large_images_and_scans_have_their_forms(facts, model, form):
    assert form_of(facts, model) == form


def test_where_there_are_many_images_none_is_large():
    log = s.log_of([asked(image(side=3000, byModel=True), message=str(n)) for n in range(25)])
    forms = [{told.form for told in plan(log[:n], LONG)} for n in (1, 20, 21, 25)]
    assert forms == [{"large"}, {"large"}, {"image"}, {"image"}]


def side_of(block):
    return max(Image.open(io.BytesIO(base64.b64decode(block["source"]["data"]))).size)


@pytest.mark.parametrize(
    ("model", "image_side", "side"),
    [(LONG, 0, 2576), (SHORT, 0, 1568), (LONG, 1000, 1000), (LONG, 1568, 1568)],
)
async def test_an_image_is_as_large_as_the_model_reads_it(tmp_path, model, image_side, side):
    (tmp_path / "photo.jpg").write_bytes(made.picture("JPEG", (3000, 1500)))
    settings = {"model": model, "image_side": image_side}
    async with scripted_app(Reply("A."), Reply("B."), **settings) as (app, sim):
        turn = await app.run_turn("What is it?", files=[tmp_path / "photo.jpg"])
        first = blocks(sim)[0]
        assert side_of(first) == side
        await app.run_turn("And?", session_id=turn.session_id)
        assert blocks(sim)[0]["source"] == first["source"]


async def test_a_scan_beyond_the_limits_is_told_as_pictures_of_its_first_pages(tmp_path):
    sheets = [Image.new("L", (300, 400), 255 - n) for n in range(30)]  # each a little darker
    sheets[0].save(tmp_path / "scan.pdf", "PDF", save_all=True, append_images=sheets[1:])
    async with scripted_app(Reply("A."), Reply("B."), model=SHORT) as (app, sim):
        turn = await app.run_turn("What is it?", files=[tmp_path / "scan.pdf"])
        told = blocks(sim)
        assert [block["type"] for block in told] == ["document", "text", "text"]
        assert told[0]["title"] == "scan.pdf" and told[0]["citations"] == {"enabled": True}
        assert "pages 1 to 20 of 30" in told[1]["text"]
        await app.run_turn("And?", session_id=turn.session_id)
        assert blocks(sim)[0]["source"] == told[0]["source"]
    smaller = pypdfium2.PdfDocument(base64.b64decode(told[0]["source"]["data"]))
    shades = [page.render().to_pil().convert("L").getpixel((70, 100)) for page in smaller]
    assert len(shades) == 20 and all(abs(shade - 255 + n) < 4 for n, shade in enumerate(shades))


async def test_a_turn_goes_on_where_no_reader_has_time_for_pictures(tmp_path, monkeypatch):
    (tmp_path / "photo.jpg").write_bytes(made.picture("JPEG", (3000, 1500)))
    sheets = [Image.new("L", (300, 400), 255)] * 30
    sheets[0].save(tmp_path / "scan.pdf", "PDF", save_all=True, append_images=sheets[1:])

    async def busy(*args):
        raise TooMany("Too many files are being read.", 5)

    async with scripted_app(Reply("A."), Reply("B."), model=LONG) as (app, sim):
        monkeypatch.setattr(attachments, "MOST_PDF", 10)
        files = [tmp_path / "photo.jpg", tmp_path / "scan.pdf"]
        with monkeypatch.context() as now:
            for name in ("large", "of_pages"):
                now.setattr(app.files.pictures, name, busy)
            turn = await app.run_turn("What is it?", files=files)
        assert turn.success and kinds(sim) == ["image", "text", "text"]
        assert side_of(blocks(sim)[0]) == 1568
        assert "'scan.pdf'" in blocks(sim)[1]["text"]
        await app.run_turn("And now?", session_id=turn.session_id)
        assert kinds(sim)[:2] == ["image", "document"]
        assert side_of(blocks(sim)[0]) == 2576
