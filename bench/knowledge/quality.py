"""Recall and rank of words, meaning and both: `python -m bench.knowledge.quality`.

Recall@5: how often the document with the answer is among the first five passages. MRR: the mean of
1/place of its first passage. Negatives are questions whose answer is nowhere.
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page

HERE = Path(__file__).parent
OWNER = "user:bench"
WAYS = ("words", "meaning", "both")


class Quality(NamedTuple):
    recall: float
    mrr: float
    silent: float  # of the negatives: how many find nothing


def documents() -> dict[str, str]:
    parts = re.split(r"^=== (.+)\n", (HERE / "documents.md").read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def questions() -> list[tuple[str, str | None]]:
    rows = (HERE / "questions.md").read_text().splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [(question, None if title == "none" else title) for question, title in cells]


async def measure(library: Library) -> dict[str, Quality]:
    for title, text in documents().items():
        await library.add(OWNER, title, [Page(text)], source=title, by="bench")
    await library.indexed()
    return {way: await _quality(library, way) for way in WAYS}


async def _measure_in(folder: Path) -> dict[str, Quality]:
    async with Library(folder) as library:
        return await measure(library)


async def _quality(library: Library, way: str) -> Quality:
    ranks: list[float] = []
    silent: list[bool] = []
    for question, title in questions():
        found = [each.title for each in await library.find([OWNER], question, 5, by=way)]
        if title is None:
            silent.append(not found)
        else:
            ranks.append(1 / (found.index(title) + 1) if title in found else 0.0)
    recall = sum(rank > 0 for rank in ranks) / len(ranks)
    return Quality(recall, sum(ranks) / len(ranks), sum(silent) / len(silent))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured = asyncio.run(_measure_in(Path(folder)))
    asked = questions()
    answered = [title for _, title in asked if title]
    say = sys.stdout.write
    say(f"{len(documents())} documents, {len(answered)} questions, ")
    say(f"{len(asked) - len(answered)} negatives\n\n")
    say(f"{'':10} recall@5    MRR  silent about negatives\n")
    for way, (recall, mrr, silent) in measured.items():
        say(f"{way:10} {recall:8.3f} {mrr:6.3f} {silent:8.3f}\n")


if __name__ == "__main__":
    main()
