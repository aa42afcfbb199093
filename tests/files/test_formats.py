"""Which format a file has, by what is in it; and a name that is harmless and true."""

import pytest

from turnlog.errors import Unreadable
from turnlog.files.formats import EXCEL, WORD, media_type, recognize, safe_name
from turnlog.testing import made_files as made

PNG = made.picture("PNG")


@pytest.mark.parametrize(
    ("content", "name", "found"),
    [
        (PNG, "x.jpg", "image/png"),
        (made.picture("JPEG"), "x", "image/jpeg"),
        (made.picture("GIF"), "x.pdf", "image/gif"),
        (made.picture("WEBP"), "x.txt", "image/webp"),
        (made.pdf("hi"), "x.png", "application/pdf"),
        (b"\n\n" + made.pdf("hi"), "x", "application/pdf"),
        (made.word("hi"), "a.docx", WORD),
        (made.workbook(a=[[1]]), "a.XLSX", EXCEL),
        (made.word("hi"), "a.zip", None),
        (b"hello", "a.txt", "text/plain"),
        (b"hello", "a.md", "text/markdown"),
        (b"hello", "a.png", None),
        (b"hello", "a", None),
        (b"\x00\x01\x02", "a.txt", None),
        ("wide".encode("utf-16"), "a.txt", "text/plain"),
        (b"", "a.txt", None),
        (b"II*\x00", "a.tif", None),
    ],
    ids=range(17),
)
def test_a_format_is_known_by_content_and_among_texts_by_name(content, name, found):
    assert media_type(content, name) == found


def test_what_is_in_a_file_of_another_kind_is_told():
    with pytest.raises(Unreadable, match="must be a PDF; what is in the file is a PNG image"):
        recognize(PNG, "report.pdf", "pdf")


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd.pdf"),
        (r"C:\Users\ann\q3.PDF", "q3.pdf"),
        ("evil\r\nSet-Cookie: a=b.pdf", "evil Set-Cookie_ a=b.pdf"),
        ("gnp.‮fdp.pdf", "gnp. fdp.pdf"),
        ("a\0b.pdf", "a b.pdf"),
        ("", "file.pdf"),
        ("...", "file.pdf"),
        ("photo.png", "photo.png.pdf"),
        ("x" * 500 + ".pdf", "x" * 150 + ".pdf"),
        ("\u0315\u0300" * 10_000_000 + "/x.pdf", "x.pdf"),  # hours, if all of it were read
        ("Übersicht 2026.pdf", "Übersicht 2026.pdf"),
    ],
)
def test_a_name_has_no_folder_no_control_character_and_a_true_ending(name, safe):
    assert safe_name(name, "application/pdf") == safe
