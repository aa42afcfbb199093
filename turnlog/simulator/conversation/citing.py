"""Answers out of documents: the sentences that share most words with the question, cited."""

import re
from collections import Counter
from collections.abc import Sequence

from ..script import Block, Text
from .documents import Passage
from .words import content

MOST_PASSAGES = 3
OVERVIEW = re.compile(
    r"\b(summari[sz]e|summary|overview|what is (?:this|in)|about|describe|read)\b", re.I
)


def answer(question: str, passages: Sequence[Passage], or_nothing: bool = False) -> list[Block]:
    """A text for each passage that answers, with its citation. `or_nothing`: only a good match."""
    best = relevant(question, passages, least=2 if or_nothing else 1)
    if best:
        return _cited(_opening(best), best)
    if or_nothing or not passages:
        return []
    if OVERVIEW.search(question) or not content(question):
        return _cited(_overview(passages), list(passages[:MOST_PASSAGES]))
    return [
        Text(f"I find nothing about that in {_titles(passages)}. It begins: "),
        _one(passages[0]),
    ]


def relevant(question: str, passages: Sequence[Passage], least: int) -> list[Passage]:
    """The best passages in the order of the text; rare words count more than common ones.

    At least one of them shares that many words with the question."""
    asked = set(content(question))
    said = [set(content(passage.text)) for passage in passages]
    often = Counter(word for words in said for word in words & asked)
    scores = [sum(1.0 / often[word] for word in words & asked) for words in said]
    shared = [len(words & asked) for words in said]
    most = max(scores, default=0.0)
    if most == 0 or max(shared) < min(least, len(asked)):
        return []
    good = [at for at, score in enumerate(scores) if score >= most * 0.6 and shared[at] > 0]
    best = sorted(good, key=lambda at: -scores[at])[:MOST_PASSAGES]
    return [passages[at] for at in sorted(best)]


def _opening(best: Sequence[Passage]) -> str:
    return f"According to {_titles(best)}:\n\n"


def _overview(passages: Sequence[Passage]) -> str:
    return f"I have read {_titles(passages)}: {len(passages)} passages. It begins:\n\n"


def _titles(passages: Sequence[Passage]) -> str:
    titles = list(dict.fromkeys(passage.title for passage in passages))
    named = [title if title == "the document" else f"“{title}”" for title in titles[:3]]
    return " and ".join(named)


def _cited(opening: str, best: Sequence[Passage]) -> list[Block]:
    """Never a text of white space only: the API would refuse it when it comes back."""
    blocks: list[Block] = []
    for at, passage in enumerate(best):
        blocks += [Text("\n- " if at else f"{opening}- "), _one(passage)]
    return blocks


def _one(passage: Passage) -> Text:
    said = passage.text.strip()
    return Text(said, (passage.citation,) if passage.cites else ())
