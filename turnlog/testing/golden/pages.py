"""Golden pages: a page of prose, a script and a table. The page is the test and the manual.

`script.py` reads the script. The table is what must happen; `pytest --accept` writes it anew,
and the reviewer reads the difference.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnlog.testing.golden.attached import Attached
from turnlog.testing.golden.script import Reader
from turnlog.testing.golden.steps import UserStep

_SCRIPT = re.compile(r"```script\n(.*?)```", re.S)
_TABLE = re.compile(r"^\|.*\|\n(?:\|.*\|\n?)+", re.M)
HEADER = ("seq", "event", "kept", "key fields")


@dataclass
class Page:
    path: Path
    turns: list[UserStep]
    asking: set[str]  # tools that a person must allow
    expected: list[tuple[str, ...]]  # the rows of the table
    # Where one of these is set, nothing is scripted: the simulator converses.
    tasks: list[str] | None = None  # with the agent for these tasks
    erp: bool = False  # with the agent for a sandbox of the ERP
    team: dict[str, list[str]] = field(default_factory=dict)  # whom each agent hands over to
    attached: Attached = field(default_factory=Attached)  # files
    settings: dict[str, Any] = field(default_factory=dict)  # of the server


def read_page(path: Path) -> Page:
    text = path.read_text()
    script = _SCRIPT.search(text)
    if script is None:
        raise ValueError(f"{path.name} has no script")
    table = _TABLE.search(text, script.end())
    rows = _rows(table[0]) if table else []
    reader = Reader()
    turns = reader.read(script[1])
    read = (reader.asking, rows, reader.tasks, reader.erp, reader.team)
    return Page(path, turns, *read, reader.attached, reader.settings)


def accept(page: Page, rows: Sequence[tuple[str, ...]]) -> None:
    """Write the table that was seen into the page."""
    text = page.path.read_text()
    script = _SCRIPT.search(text)
    assert script is not None
    before, after = text[: script.end()], text[script.end() :]
    if _TABLE.search(after):
        after = _TABLE.sub(lambda _: table(rows), after, count=1)
    else:
        after = "\n\n" + table(rows) + after.lstrip("\n")
    page.path.write_text(before + after)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    every = [HEADER, *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(HEADER))]
    lines = [_line(HEADER, widths), "|" + "|".join("-" * (w + 2) for w in widths) + "|"]
    return "\n".join(lines + [_line(row, widths) for row in rows]) + "\n"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "| " + " | ".join(cells) + " |"


def _rows(text: str) -> list[tuple[str, ...]]:
    lines = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in text.strip().splitlines()]
    return [tuple(cell.strip() for cell in cells) for cells in lines[2:]]
