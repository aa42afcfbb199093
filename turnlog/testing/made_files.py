"""Small files for tests, good and hostile, made in memory."""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

from PIL import Image, ImageDraw


def picture(
    form: str = "PNG", size: tuple[int, int] = (60, 40), mode: str = "RGB", **how: Any
) -> bytes:
    """An image with a red square at its upper left."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((0, 0, size[0] // 3, size[1] // 3), fill="red")
    out = io.BytesIO()
    image.convert(mode).save(out, form, **how)
    return out.getvalue()


def noise(form: str = "PNG", size: tuple[int, int] = (64, 64), **how: Any) -> bytes:
    """An image that no format makes small."""
    out = io.BytesIO()
    bands = [Image.effect_noise(size, 80) for _ in range(3)]
    Image.merge("RGB", bands).save(out, form, **how)
    return out.getvalue()


def photo_with_place(size: tuple[int, int] = (60, 40)) -> bytes:
    """A JPEG from a camera held upright, which knows where it was."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it to the right
    exif[0x010F] = "SecretCamera"
    exif.get_ifd(0x8825)[2] = (48.0, 51.0, 29.0)
    return picture("JPEG", size, exif=exif)


def bomb() -> bytes:
    """A PNG of a few bytes that says it has 30,000 × 30,000 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF with one line of text, or several, on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, page in enumerate(pages):
        place = 5 + 2 * number
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {place} 0 R"
            f" /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        lines = " ".join(f"({_escaped(line)}) Tj T*" for line in page.split("\n"))
        content = f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET".encode("latin-1", "replace")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    if title:
        objects.append(f"<< /Title ({_escaped(title)}) >>".encode())
    return _assembled(objects, with_title=bool(title))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _assembled(objects: Sequence[bytes], with_title: bool) -> bytes:
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    told = b" /Info %d 0 R" % len(objects) if with_title else b""
    out.write(b"trailer\n<< /Size %d /Root 1 0 R%s >>\n" % (len(objects) + 1, told))
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()


def word(*paragraphs: str, heading: str = "Report") -> bytes:
    import docx

    document = docx.Document()
    document.add_heading(heading, level=1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def letter(subject: str, text: str, attached: str = "") -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "ann@example.com", "bob@example.com"
    message["Subject"] = subject
    message.set_content(text)
    if attached:
        message.add_attachment(b"x", maintype="application", subtype="zip", filename=attached)
    return message.as_bytes()


def packed(**entries: bytes) -> bytes:
    """A zip whose entries are named with two underscores for a slash, and one for a dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()
