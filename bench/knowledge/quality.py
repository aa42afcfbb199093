"""Recall and rank of words, meaning and both: `python -m bench.knowledge.quality`.

Recall@5: how often a document with the answer is among the first five passages. MRR: the mean of
1/place of its first passage. Negatives are questions whose answer is nowhere.

The hash of a question decides to which half it belongs. The weights of the ranking are chosen on
one half; the other one is only measured.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page

HERE = Path(__file__).parent
OWNER = "user:bench"
WAYS = ("words", "meaning", "both")


class Asked(NamedTuple):
    question: str
    titles: tuple[str, ...]  # of the documents that answer it; none: a negative

    @property
    def is_held_out(self) -> bool:
        return sha256(self.question.encode()).digest()[0] % 2 == 1


class Quality(NamedTuple):
    recall: float
    mrr: float


def documents() -> dict[str, str]:
    parts = re.split(r"^=== (.+)\n", (HERE / "documents.md").read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def questions() -> list[Asked]:
    rows = (HERE / "questions.md").read_text().splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [
        Asked(text, () if last == "none" else tuple(last.split(" or "))) for text, last in cells
    ]


async def measure(library: Library) -> dict[str, dict[str, Quality]]:
    """By half, then by way."""
    for title, text in documents().items():
        await library.add(OWNER, title, [Page(text)], source=title, by="bench")
    await library.indexed()
    answered = [asked for asked in questions() if asked.titles]
    halves = {
        "all": answered,
        "for choosing": [asked for asked in answered if not asked.is_held_out],
        "held out": [asked for asked in answered if asked.is_held_out],
    }
    ranks = {way: {asked: await _rank(library, way, asked) for asked in answered} for way in WAYS}
    return {
        half: {way: _quality([ranks[way][asked] for asked in chosen]) for way in WAYS}
        for half, chosen in halves.items()
    }


async def _rank(library: Library, way: str, asked: Asked) -> float:
    """1/place of the first passage of a right document; 0 where there is none."""
    found = await library.find([OWNER], asked.question, 5, by=way)
    places = (n for n, each in enumerate(found, 1) if each.title in asked.titles)
    return 1 / next(places, float("inf"))


def _quality(ranks: Sequence[float]) -> Quality:
    return Quality(sum(rank > 0 for rank in ranks) / len(ranks), sum(ranks) / len(ranks))


async def _measure_in(folder: Path) -> dict[str, dict[str, Quality]]:
    async with Library(folder) as library:
        return await measure(library)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured = asyncio.run(_measure_in(Path(folder)))
    asked = questions()
    answered = sum(bool(each.titles) for each in asked)
    say = sys.stdout.write
    say(
        f"{len(documents())} documents, {answered} questions, {len(asked) - answered} negatives\n\n"
    )
    say(f"{'':14}{'':10} recall@5    MRR\n")
    for half, ways in measured.items():
        for way, (recall, mrr) in ways.items():
            say(f"{half:14}{way:10} {recall:8.3f} {mrr:6.3f}\n")


if __name__ == "__main__":
    main()
