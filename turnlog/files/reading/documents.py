"""Documents as text: a page for each sheet of a workbook, one page for everything else."""

import csv
import email
import email.policy
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email.message import EmailMessage
from itertools import islice
from pathlib import Path
from typing import Any

from turnlog.files.formats import EXCEL, WORD
from turnlog.files.reading.refusal import Refused
from turnlog.files.reading.text import decode, write_pages

MOST_UNPACKED = 200_000_000  # bytes of a Word or Excel file
MOST_XML = 50_000_000  # bytes of one part of it that is read: the text, or a sheet
MOST_PARTS = 1_000  # of an e-mail
MOST_ENTRIES = 5_000
MOST_ROWS, MOST_COLUMNS = 50_000, 200  # of a sheet
TOO_LARGE = "The file is too large once it is unpacked."
# Office files have no document type. Where there is one, it is there to blow something up.
_DTD = re.compile(rb"<\0?!\0?(?:D\0?O\0?C\0?T\0?Y\0?P\0?E|E\0?N\0?T\0?I\0?T\0?Y)")
Answer = dict[str, Any]


def read(path: Path, into: Path, media_type: str) -> Answer:
    """Write `text` and say how long it is."""
    try:
        pages, metadata = READERS[media_type](path)
        count, length = write_pages(into / "text", pages)
    except (Refused, MemoryError):
        raise
    except Exception as error:
        raise Refused("The file is damaged: it cannot be read.") from error
    return {"pages": count, "textLength": length, "metadata": metadata}


def _plain(path: Path) -> tuple[Iterable[str], Answer]:
    return [decode(path.read_bytes())], {}


def _csv(path: Path) -> tuple[Iterable[str], Answer]:
    text = decode(path.read_bytes())
    head = text.partition("\n")[0][:10_000]
    delimiter = max(",;\t|", key=head.count)
    try:
        columns = len(next(csv.reader(io.StringIO(head), delimiter=delimiter), []))
    except csv.Error:
        columns = 0
    return [text], {"columns": columns, "rows": len(text.splitlines())}


def _html(path: Path) -> tuple[Iterable[str], Answer]:
    text, title = html_text(decode(path.read_bytes()))
    return [text], {"title": title} if title else {}


def _email(path: Path) -> tuple[Iterable[str], Answer]:
    policy = email.policy.default.clone(message_factory=_Parts())
    message = email.message_from_bytes(path.read_bytes(), policy=policy)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise Refused("The file is not an e-mail.")
    names = ("From", "To", "Cc", "Date", "Subject")
    heads = [f"{name}: {message[name]}" for name in names if message[name]]
    body = message.get_body(("plain", "html"))
    text = ""
    if isinstance(body, EmailMessage):
        text = str(body.get_content())
        if body.get_content_type() == "text/html":
            text, _ = html_text(text)
    attached = [part.get_filename() or "?" for part in islice(message.iter_attachments(), 100)]
    notes = [f"Attached, and not read: {', '.join(attached)}"] if attached else []
    subject = {"subject": str(message["Subject"])[:500]} if message["Subject"] else {}
    return ["\n".join([*heads, "", text, *notes])], subject


class _Parts:
    """Makes the parts of one e-mail while it is read, and not more than it may have."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, policy: Any) -> EmailMessage:
        self._count += 1
        if self._count > MOST_PARTS:
            raise Refused(f"The e-mail has more than {MOST_PARTS:,} parts.")
        return EmailMessage(policy)


def _word(path: Path) -> tuple[Iterable[str], Answer]:
    _check_zip(path, "word/document.xml")
    import docx

    document = docx.Document(str(path))
    title = document.core_properties.title
    return ["\n".join(_paragraphs(document))], {"title": title[:500]} if title else {}


def _paragraphs(document: Any) -> Iterator[str]:
    for item in document.iter_inner_content():
        if hasattr(item, "rows"):
            yield from (_line(cell.text for cell in row.cells) for row in item.rows)
        else:
            heading = re.fullmatch(r"Heading (\d)", item.style.name or "") if item.style else None
            yield f"{'#' * int(heading[1])} {item.text}" if heading else item.text


def _excel(path: Path) -> tuple[Iterable[str], Answer]:
    _check_zip(path, "xl/workbook.xml")
    import openpyxl

    file = path.open("rb")  # by name it would insist on an ending; it is read after this returns
    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    return (_sheet(sheet) for sheet in book.worksheets), {"sheets": book.sheetnames[:100]}


def _sheet(sheet: Any) -> str:
    rows = sheet.iter_rows(max_row=MOST_ROWS, max_col=MOST_COLUMNS, values_only=True)
    lines = (_line("" if cell is None else str(cell) for cell in row) for row in rows)
    return "\n".join([f"# {sheet.title}", *(line for line in lines if line.strip(" |"))])


def _line(cells: Iterable[str]) -> str:
    return " | ".join(cell.replace("\n", " ") for cell in cells).rstrip(" |")


def _check_zip(path: Path, needed: str) -> None:
    """Refuse bombs, and what is no such document, before a library looks at it."""
    with zipfile.ZipFile(path) as packed:
        entries = packed.infolist()
        if needed not in {entry.filename for entry in entries}:
            raise Refused("The file is not the kind of document that its name says.")
        if len(entries) > MOST_ENTRIES or sum(e.file_size for e in entries) > MOST_UNPACKED:
            raise Refused(TOO_LARGE)
        for entry in entries:
            if entry.filename.endswith((".xml", ".rels")):
                if entry.file_size > MOST_XML:
                    raise Refused(TOO_LARGE)
                with packed.open(entry) as part:
                    if _DTD.search(part.read(4096)):
                        raise Refused("The file has a document type, which such files never have.")


def html_text(html: str) -> tuple[str, str]:
    """The text of a page, and its title. libxml2 reads a million tags in less than a second."""
    from lxml import etree

    page = _Html()
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    with suppress(etree.XMLSyntaxError):  # there is no tag in it
        parser.feed(html.encode())
        parser.close()
    lines = (" ".join(line.split()) for line in "".join(page.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), " ".join(page.title.split())[:500]


class _Html:
    """Is told what is in a page, in its order."""

    HIDDEN = frozenset(("script", "style", "template", "noscript", "svg"))
    LINES = frozenset(
        (
            *("p", "div", "br", "tr", "li", "ul", "ol", "table", "section", "article", "header"),
            *("footer", "blockquote", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6"),
        )
    )
    HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.title = ""
        self._hidden = 0
        self._in_title = False

    def start(self, tag: str, attributes: object) -> None:
        self._hidden += tag in self.HIDDEN
        self._in_title = tag == "title"
        if tag in self.LINES:
            self.pieces.append("\n")
        if tag in self.HEADINGS:
            self.pieces.append(self.HEADINGS[tag])
        if tag in ("td", "th"):
            self.pieces.append(" | ")

    def end(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in self.HIDDEN))
        self._in_title = False
        if tag in self.LINES:
            self.pieces.append("\n")

    def data(self, data: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self.title += data[:1_000] if len(self.title) < 1_000 else ""
        else:
            self.pieces.append(data)

    def close(self) -> None:
        """Nothing is held."""


READERS: dict[str, Callable[[Path], tuple[Iterable[str], Answer]]] = {
    "text/plain": _plain,
    "text/markdown": _plain,
    "text/csv": _csv,
    "text/html": _html,
    "message/rfc822": _email,
    WORD: _word,
    EXCEL: _excel,
}
