"""Text as every store and model takes it, and a file of pages: one JSON string a line."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

MOST_OF_A_PAGE = 2_000_000  # characters
MOST_OF_A_FILE = 60_000_000
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
CUT = "\n[cut off here: this is too long to be read as a whole]"


def clean(text: str) -> str:
    """Without what is no character; lines end in one way."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub("", text)


def decode(raw: bytes) -> str:
    """UTF-8, UTF-16 if it says so, else what old programs on Windows write."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def write_pages(path: Path, pages: Iterable[str]) -> tuple[int, int]:
    """How many pages, and how many characters. What is too long is cut off, and says so."""
    count = length = 0
    with path.open("w", encoding="utf-8") as file:
        for page in pages:
            room = max(0, min(MOST_OF_A_PAGE, MOST_OF_A_FILE - length))
            text = clean(page)
            text = text if len(text) <= room else text[:room] + CUT
            file.write(json.dumps(text, ensure_ascii=False) + "\n")
            count, length = count + 1, length + len(text)
    return count, length
