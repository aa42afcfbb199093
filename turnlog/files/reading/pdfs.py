"""PDFs: their pages as text, as pictures and as smaller PDFs."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import Image

from turnlog.files.reading import images
from turnlog.files.reading.refusal import Refused
from turnlog.files.reading.text import clean, write_pages

WITH_PASSWORD = 4  # FPDF_ERR_PASSWORD
LONGEST_FACT = 500  # characters of a title or an author
MOST_PICTURE = 2_000  # pixels of a side
POINTS_A_PIXEL = 0.5
Answer = dict[str, Any]


def read(path: Path, most_pages: int) -> Answer:
    """How many pages there are, what the PDF says of itself, whether it is encrypted."""
    with _opened(path) as pdf:
        pages = len(pdf)
        if not pages:
            raise Refused("The PDF has no pages.")
        if pages > most_pages:
            raise Refused(f"The PDF has {pages} pages; {most_pages} are taken.")
        facts = pdf.get_metadata_dict(skip_empty=True)
        metadata = {name: clean(text)[:LONGEST_FACT] for name, text in facts.items()}
        locked = raw.FPDF_GetSecurityHandlerRevision(pdf) != -1
    return {"pages": pages, "metadata": metadata, "locked": locked}


def text(path: Path, into: Path, first: int, last: int) -> Answer:
    """Write `text`: the pages from `first` to `last`, which count from 1."""
    broken: list[int] = []
    began = time.process_time()
    with _opened(path) as pdf:
        pages = (_text(pdf, number, broken) for number in range(first, last + 1))
        _, length = write_pages(into / "text", pages)
    return {"textLength": length, "broken": broken, "seconds": time.process_time() - began}


def _text(pdf: pdfium.PdfDocument, number: int, broken: list[int]) -> str:
    try:
        page = pdf[number - 1]
        try:
            content = page.get_textpage()
            try:
                return str(content.get_text_bounded())
            finally:
                content.close()
        finally:
            page.close()
    except (pdfium.PdfiumError, ValueError, UnicodeError):
        broken.append(number)
        return ""


def thumbnail(path: Path, into: Path, page: int, width: int) -> Answer:
    """Write a picture of the page."""
    with _opened(path) as pdf:
        sheet = pdf[page - 1]
        across, down = sheet.get_size()
        if across <= 0 or down <= 0:
            raise Refused(f"Page {page} has no size.")
        scale = min(width / across, MOST_PICTURE / down, MOST_PICTURE / across)
        picture = sheet.render(scale=scale, may_draw_forms=False).to_pil()
        plain = Image.new("RGB", picture.size, "white")
        plain.paste(picture)
        sheet.close()
    return images.write_thumbnail(plain, into)


def pictures(path: Path, into: Path, pages: Sequence[int], side: int, most: int) -> Answer:
    """Write `N.jpg` for each page that can be drawn: so many pixels and bytes at most."""
    with _opened(path) as pdf:
        for number in pages:
            with suppress(pdfium.PdfiumError, ValueError, Refused):
                images.write_small(_drawn(pdf, number, side), into / f"{number}.jpg", most)
    return {}


def bind(into: Path, pages: Sequence[int]) -> Answer:
    """Write `bound.pdf`: the pictures of these pages; a white page where there is none."""
    bound = pdfium.PdfDocument.new()
    for number in pages:
        picture = into / f"{number}.jpg"
        width, height = 595.0, 842.0
        if picture.exists():
            image = pdfium.PdfImage.new(bound)
            image.load_jpeg(picture, inline=True)
            width, height = (pixels * POINTS_A_PIXEL for pixels in image.get_px_size())
            image.set_matrix(pdfium.PdfMatrix().scale(width, height))
        page = bound.new_page(width, height)
        if picture.exists():
            page.insert_obj(image)
            page.gen_content()
        page.close()
    bound.save(into / "bound.pdf")
    bound.close()
    return {}


def _drawn(pdf: pdfium.PdfDocument, number: int, side: int) -> Image.Image:
    sheet = pdf[number - 1]
    try:
        across, down = sheet.get_size()
        if across <= 0 or down <= 0:
            raise Refused(f"Page {number} has no size.")
        scale = side / max(across, down)
        picture: Image.Image = sheet.render(scale=scale, may_draw_forms=False).to_pil()
        return picture.convert("RGB")
    finally:
        sheet.close()


def extract(path: Path, into: Path, pages: Sequence[int]) -> Answer:
    """Write `pages.pdf`, a PDF of these pages."""
    with _opened(path) as pdf:
        smaller = pdfium.PdfDocument.new()
        smaller.import_pages(pdf, [page - 1 for page in pages])
        smaller.save(into / "pages.pdf")
        smaller.close()
    return {}


@contextmanager
def _opened(path: Path) -> Iterator[pdfium.PdfDocument]:
    try:
        pdf = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == WITH_PASSWORD:
            raise Refused("The PDF needs a password. Save it without one, and try again.") from None
        raise Refused("The PDF is damaged: it cannot be opened.") from None
    try:
        yield pdf
    except pdfium.PdfiumError:
        raise Refused("The PDF is damaged: it cannot be read.") from None
    finally:
        pdf.close()
