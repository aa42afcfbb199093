"""Which formats are taken, and how each is recognized: by what is in a file, not by its name.

Plain text has no marks of its own. There the name decides among the formats that are text, and
what is in the file must be text.
"""

import re
import unicodedata
from typing import NamedTuple

from turnlog.errors import Unreadable
from turnlog.ports.files import FileKind

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ZIP = "application/zip"
HEAD = 1024  # bytes that are looked at
LONGEST_NAME = 150  # characters
MOST_READ = 1_000  # characters of a name, the last ones: marks on marks take quadratic time


class Format(NamedTuple):
    kind: FileKind
    ending: str
    words: str  # for people


# fmt: off
FORMATS: dict[str, Format] = {
    "image/jpeg":      Format("image", ".jpg", "a JPEG image"),
    "image/png":       Format("image", ".png", "a PNG image"),
    "image/gif":       Format("image", ".gif", "a GIF image"),
    "image/webp":      Format("image", ".webp", "a WebP image"),
    "application/pdf": Format("pdf", ".pdf", "a PDF"),
    WORD:              Format("document", ".docx", "a Word document"),
    EXCEL:             Format("document", ".xlsx", "an Excel workbook"),
    "text/plain":      Format("document", ".txt", "plain text"),
    "text/markdown":   Format("document", ".md", "Markdown"),
    "text/csv":        Format("document", ".csv", "CSV"),
    "text/html":       Format("document", ".html", "HTML"),
    "message/rfc822":  Format("document", ".eml", "an e-mail"),
}
SIGNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\xff\xd8\xff"),          "image/jpeg"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"),     "image/png"),
    (re.compile(rb"GIF8[79]a"),             "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.S),    "image/webp"),
    (re.compile(rb"[\s\S]{0,1000}?%PDF-"),  "application/pdf"),
    (re.compile(rb"PK\x03\x04"),            ZIP),
)
TEXTS = {
    "txt": "text/plain", "text": "text/plain", "log": "text/plain", "json": "text/plain",
    "md": "text/markdown", "markdown": "text/markdown", "csv": "text/csv", "tsv": "text/csv",
    "html": "text/html", "htm": "text/html", "eml": "message/rfc822",
}
OFFICE = {"docx": WORD, "xlsx": EXCEL}
WANTED: dict[FileKind, str] = {
    "image": "a JPEG, PNG, GIF or WebP image",
    "pdf": "a PDF",
    "document": "a text, Markdown, CSV, HTML, Word, Excel or e-mail file",
}
# fmt: on


def recognize(head: bytes, name: str, wanted: FileKind) -> str:
    """The media type of a file that begins like this. Raises Unreadable where it is another one."""
    media = media_type(head, name)
    if media is None or FORMATS[media].kind != wanted:
        what = FORMATS[media].words if media else "something else"
        raise Unreadable(f"This must be {WANTED[wanted]}; what is in the file is {what}.")
    return media


def media_type(head: bytes, name: str) -> str | None:
    """By content; among formats that have no signs, by name."""
    ending = name.rpartition(".")[2].lower()
    signed = next((found for sign, found in SIGNS if sign.match(head[:HEAD])), None)
    if signed == ZIP:
        return OFFICE.get(ending)  # the reader checks that it is one
    if signed is not None:
        return signed
    return TEXTS.get(ending) if head and is_text(head[:HEAD]) else None


def is_text(head: bytes) -> bool:
    """A NUL, or many control characters, are no text, unless it says that it is UTF-16."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    controls = sum(byte < 32 and byte not in b"\t\n\r\x0c\x1b" for byte in head)
    return b"\0" not in head and controls <= len(head) // 50


def safe_name(name: str, media_type: str) -> str:
    """A name without folders, control characters and tricks, with an ending that is true."""
    name = unicodedata.normalize("NFC", name[-MOST_READ:]).replace("\\", "/").rpartition("/")[2]
    # Categories: controls, formats (which may turn the direction of text), surrogates, unassigned.
    kept = (c if unicodedata.category(c)[0] not in "C" else " " for c in name)
    name = re.sub(r'[<>:"|?*]', "_", " ".join("".join(kept).split())).strip(" .")
    ending = FORMATS[media_type].ending
    stem, dot, last = name.rpartition(".")
    if not dot or not _is_true(last.lower(), media_type):
        stem, last = name, ending[1:]
    return f"{stem.strip(' .')[:LONGEST_NAME] or 'file'}.{last.lower()}"


def _is_true(ending: str, media_type: str) -> bool:
    same = {"jpeg": "image/jpeg", "jpe": "image/jpeg"} | TEXTS
    same |= {format_.ending[1:]: found for found, format_ in FORMATS.items()}
    return same.get(ending) == media_type
