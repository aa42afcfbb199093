"""What is read from a file: pixels, pages and text; and hostile ones, which end in a sentence."""

import asyncio
import io
import json
import os
import signal
from pathlib import Path

import pytest
from PIL import Image

from turnlog.errors import NotStored, Unreadable
from turnlog.files.formats import EXCEL, FORMATS, WORD
from turnlog.files.inspection import Inspection
from turnlog.files.reading import child
from turnlog.files.workers import Workers
from turnlog.testing import made_files as made

pytestmark = pytest.mark.slow


@pytest.fixture
async def workers():
    pool = Workers(1)
    yield pool
    await pool.close()


@pytest.fixture
def inspect(workers, tmp_path):
    async def inspect(content, media_type, **limits):
        (tmp_path / "original").write_bytes(content)
        inspection = Inspection(workers, limits.get("side", 1568), limits.get("pages", 5000))
        steps = []
        facts = await inspection.inspect(
            media_type, tmp_path / "original", tmp_path, lambda *step: steps.append(step)
        )
        return facts | {"steps": steps}

    return inspect


def pages_in(folder):
    return [json.loads(line) for line in (folder / "text").read_text().splitlines()]


def given(folder):
    return Image.open(io.BytesIO((folder / "model").read_bytes()))


# images


async def test_a_large_image_is_fitted(inspect, tmp_path):
    facts = await inspect(made.picture("JPEG", (3000, 1500)), "image/jpeg")
    assert (facts["width"], facts["height"]) == (3000, 1500)
    assert given(tmp_path).size == (1568, 784)


async def test_a_photo_is_turned_upright_and_says_nothing_of_place_or_camera(inspect, tmp_path):
    facts = await inspect(made.photo_with_place((60, 40)), "image/jpeg")
    assert (facts["width"], facts["height"]) == (40, 60)
    upright = given(tmp_path)
    assert upright.size == (40, 60)
    assert upright.getpixel((38, 2))[1] < 90  # the red corner is at the upper right now
    content = (tmp_path / "model").read_bytes()
    assert b"SecretCamera" not in content and not upright.getexif()


@pytest.mark.parametrize(
    ("form", "mode", "kept_as"),
    [
        ("PNG", "RGB", "PNG"),  # few colors: line art
        ("PNG", "RGBA", "PNG"),
        ("PNG", "P", "PNG"),
        ("PNG", "LA", "PNG"),
        ("PNG", "1", "PNG"),
        ("GIF", "P", "PNG"),
        ("WEBP", "RGB", "PNG"),
        ("JPEG", "CMYK", "JPEG"),
        ("JPEG", "L", "JPEG"),
    ],
)
async def test_every_kind_of_pixels_is_taken(inspect, tmp_path, form, mode, kept_as):
    await inspect(made.picture(form, mode=mode, **({"lossless": True} if form == "WEBP" else {})),
                  Image.MIME[form])  # fmt: skip
    image = given(tmp_path)
    assert image.format == kept_as
    assert image.convert("RGB").getpixel((3, 3))[0] > image.convert("RGB").getpixel((3, 3))[2] or (
        mode in ("L", "LA", "1")
    )


async def test_a_photo_in_a_png_becomes_a_jpeg(inspect, tmp_path):
    await inspect(made.noise("PNG", (300, 300)), "image/png")
    assert given(tmp_path).format == "JPEG"


async def test_the_first_frame_stands_for_a_film(inspect, tmp_path):
    frames = [Image.new("RGB", (20, 20), color) for color in ("blue", "green")]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    facts = await inspect(out.getvalue(), "image/gif")
    assert facts["metadata"]["frames"] == 2
    assert given(tmp_path).convert("RGB").getpixel((5, 5)) == (0, 0, 255)


@pytest.mark.parametrize(
    ("content", "media_type", "why"),
    [
        (made.bomb(), "image/png", "too many"),
        (made.noise("PNG")[:3000], "image/png", "damaged"),
        (made.noise("JPEG")[:700], "image/jpeg", "damaged"),
        (made.picture("GIF")[:20], "image/gif", "can be read|damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"junk" * 50, "image/png", "can be read|cannot be read|damaged"),
        (made.picture("PNG"), "image/jpeg", "not the kind of image"),
    ],
    ids=["bomb", "cut PNG", "cut JPEG", "cut GIF", "junk", "mislabeled"],
)
async def test_a_hostile_image_is_refused_with_a_sentence(inspect, content, media_type, why):
    with pytest.raises(Unreadable, match=why):
        await inspect(content, media_type)


# PDFs


async def test_pages_text_and_metadata_of_a_pdf(inspect, tmp_path):
    facts = await inspect(made.pdf("First page", "Second\npage", title="Q3"), "application/pdf")
    assert (facts["pages"], facts["metadata"]["Title"], facts["locked"]) == (2, "Q3", False)
    assert pages_in(tmp_path) == ["First page", "Second\npage"]
    assert facts["text_length"] == len("First pageSecond\npage")


async def test_a_long_pdf_is_read_in_parts_with_progress(inspect, tmp_path):
    facts = await inspect(
        made.pdf(*(f"This is page {n}" for n in range(1, 451))), "application/pdf"
    )
    assert facts["steps"][-1] == (450, 450) and len(facts["steps"]) == 3
    assert pages_in(tmp_path)[449] == "This is page 450"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (made.pdf("x")[:60], "damaged"),
        (b"%PDF-1.7\n" + b"junk" * 100, "damaged"),
        (made.pdf(*["x"] * 6), "6 pages; 5 are taken"),
    ],
    ids=["cut", "junk", "long"],
)
async def test_a_hostile_pdf_is_refused_with_a_sentence(inspect, content, why):
    with pytest.raises(Unreadable, match=why):
        await inspect(content, "application/pdf", pages=5)


# documents


@pytest.mark.parametrize(
    ("content", "media_type", "text"),
    [
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("Grüße".encode("cp1252"), "text/plain", "Grüße"),
        ("Grüße".encode("utf-16"), "text/plain", "Grüße"),
        (b"a\r\nb\rc\x07", "text/markdown", "a\nb\nc"),
        (b"a;b\n1;2\n", "text/csv", "a;b\n1;2\n"),
        (
            b"<title>T</title><style>p{}</style><h1>Head</h1><p>one <b>two</b><script>x()</script>",
            "text/html",
            "# Head\n\none two",
        ),
        (
            made.letter("Ducks", "They swim.", attached="more.zip"),
            "message/rfc822",
            "From: ann@example.com\nTo: bob@example.com\nSubject: Ducks\n\nThey swim.\n\n"
            "Attached, and not read: more.zip",
        ),
        (made.word("One.", "Two."), WORD, "# Report\nOne.\nTwo.\nleft | right"),
    ],
    ids=["UTF-8", "Windows", "UTF-16", "line ends", "CSV", "HTML", "e-mail", "Word"],
)
async def test_documents_become_text(inspect, tmp_path, content, media_type, text):
    facts = await inspect(content, media_type)
    assert pages_in(tmp_path) == [text]
    assert (facts["pages"], facts["text_length"]) == (1, len(text))


async def test_a_table_says_how_large_it_is(inspect):
    facts = await inspect(b"a;b;c\n1;2,5;3\n4;5;6", "text/csv")
    assert facts["metadata"] == {"columns": 3, "rows": 3}


async def test_a_workbook_has_a_page_for_each_sheet(inspect, tmp_path):
    facts = await inspect(made.workbook(Sums=[["a", 1], ["b", 2.5]], Notes=[["x"]]), EXCEL)
    assert pages_in(tmp_path) == ["# Sums\na | 1\nb | 2.5", "# Notes\nx"]
    assert facts["metadata"] == {"sheets": ["Sums", "Notes"]}


LAUGHS = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'

MANY_PARTS = (
    b"""Subject: x
Content-Type: multipart/mixed; boundary=b

"""
    + b"--b\n\nx\n" * 1_001
)


@pytest.mark.parametrize(
    ("content", "media_type", "why"),
    [
        (made.packed(word__document_xml=LAUGHS), WORD, "document type"),
        (made.packed(xl__workbook_xml=LAUGHS), EXCEL, "document type"),
        (made.packed(some__thing_xml=b"<a/>"), WORD, "not the kind"),
        (made.word("x")[:500], WORD, "damaged"),
        (made.packed(word__document_xml=b"<x>" + bytes(51_000_000)), WORD, "too large"),
        (made.packed(xl__workbook_xml=b"<x>" + bytes(51_000_000)), EXCEL, "too large"),
        (b"no headers at all", "message/rfc822", "not an e-mail"),
        (MANY_PARTS, "message/rfc822", "more than 1,000 parts"),
    ],
    ids=[
        *("laughs", "laughing workbook", "another zip", "cut", "bomb", "large workbook"),
        *("no e-mail", "many parts"),
    ],
)
async def test_a_hostile_document_is_refused_with_a_sentence(inspect, content, media_type, why):
    with pytest.raises(Unreadable, match=why):
        await inspect(content, media_type)


# processes


async def test_a_process_that_is_killed_costs_one_job_and_is_replaced(workers, tmp_path):
    (tmp_path / "a").write_bytes(made.pdf("x"))
    await workers.run("pdf", path=tmp_path / "a", most_pages=5)
    os.kill(workers._idle[0]._process.pid, signal.SIGSTOP)
    with pytest.raises(Unreadable, match="too long"):
        await workers.run("pdf", seconds=0.2, path=tmp_path / "a", most_pages=5)
    assert (await workers.run("pdf", path=tmp_path / "a", most_pages=5))["pages"] == 1
    os.kill(workers._idle[0]._process.pid, signal.SIGKILL)
    await workers._idle[0]._process.wait()
    assert (await workers.run("pdf", path=tmp_path / "a", most_pages=5))["pages"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
async def test_a_full_disk_is_not_told_as_a_damaged_file(workers, tmp_path):
    (tmp_path / "a.txt").write_text("Hello." * 10_000)
    (tmp_path / "text").symlink_to("/dev/full")
    with pytest.raises(NotStored, match="cannot store files at the moment"):
        await workers.run(
            "document", path=tmp_path / "a.txt", into=tmp_path, media_type="text/plain"
        )


async def test_memory_is_bounded(tmp_path):
    (tmp_path / "a").write_bytes(made.picture("PNG", (7000, 7000)))
    small = Workers(1, memory=200_000_000)
    with pytest.raises(Unreadable, match="memory|failed|read"):
        await small.run("image", path=tmp_path / "a", into=tmp_path, media_type="image/png", fit=99)
    await small.close()


async def test_a_process_that_reads_files_knows_no_secret(workers, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    (tmp_path / "a").write_bytes(made.pdf("x"))
    await workers.run("pdf", path=tmp_path / "a", most_pages=5)
    pid = workers._idle[0]._process.pid
    environment = await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_bytes)
    assert b"sk-secret" not in environment


async def test_a_page_with_a_million_tags_is_read(inspect, tmp_path):
    tags = b"<title>Tags</title>" + b"<b a=1>x</b>" * 400_000 + b"<div>" * 600_000 + b"end"
    facts = await inspect(b"<!doctype html>" + tags, "text/html")
    (page,) = pages_in(tmp_path)
    assert page.startswith("xxx") and page.endswith("end")
    assert (facts["metadata"], len(page.split()[0])) == ({"title": "Tags"}, 400_000)


def test_a_document_has_so_much_of_the_processor_and_no_more(tmp_path, monkeypatch):
    """By its own time, not by the clock: a busy machine refuses nothing."""
    (tmp_path / "a").write_bytes(made.letter("Hello", "Hello. " * 1_000_000))
    monkeypatch.setattr(child, "MOST_SECONDS", 0.001)
    job = {"job": "document", "path": f"{tmp_path}/a", "into": str(tmp_path)}
    before = signal.signal(signal.SIGVTALRM, child._too_slow)
    try:
        answer = child.answer(json.dumps(job | {"media_type": "message/rfc822"}).encode())
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert answer == {"refused": "The file cannot be read: it takes too long."}
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_every_document_format_has_a_reader():
    from turnlog.files.reading.documents import READERS

    documents = {name for name, format_ in FORMATS.items() if format_.kind == "document"}
    assert documents == READERS.keys()


async def test_pictures_of_pages_are_small_whatever_is_on_them(workers, tmp_path):
    noise = Image.effect_noise((1200, 900), 80).convert("RGB")
    path = tmp_path / "scan.pdf"
    noise.save(path, "PDF", save_all=True, append_images=[Image.new("RGB", (50, 8000), "red")])
    sizes = {"side": 1000, "most": 20_000}
    await workers.run("pdf_pictures", path=path, into=tmp_path, pages=[1, 2], **sizes)
    pictures = [(tmp_path / f"{number}.jpg").read_bytes() for number in (1, 2)]
    assert all(len(picture) <= 20_000 for picture in pictures)
    assert all(max(Image.open(io.BytesIO(picture)).size) <= 1000 for picture in pictures)
    await workers.run("pdf_bind", into=tmp_path, pages=[1, 2, 3])  # the third could not be drawn
    assert (await workers.run("pdf", path=tmp_path / "bound.pdf", most_pages=9))["pages"] == 3


async def test_a_pdf_may_take_so_long_and_no_longer(inspect, monkeypatch):
    monkeypatch.setattr("turnlog.files.inspection.SECONDS", 0.0)
    with pytest.raises(Unreadable, match="1000 pages of the PDF takes too long"):
        await inspect(made.pdf(*(f"page {n}" for n in range(1000))), "application/pdf")
