"""Two rankings become one: words know names and numbers, vectors know other words for it."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Chosen on the labelled set of bench/knowledge, in the middle of where they make little difference.
WORDS_WEIGHT = 0.25
HALF_OF_IT = 6.0  # the score of words that counts half
# As `find_by_words` of SQLite weighs them, and the constants of FTS5's BM25.
IN_TITLE, IN_HEADINGS = 2.0, 1.5
SATURATION, LENGTH = 1.2, 0.75
_WORD = re.compile(r"\w+")
# Words of a question that every text has: they find nothing and cost a look at everything.
_STOP_WORDS = """
    a an and any are as at be by can could did do does for from get had has have how i if in is it
    its may me my of on or our shall should that the their them then there they this to was we
    were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def combined(words: Mapping[int, float], meaning: Mapping[int, float]) -> list[int]:
    """What either ranking holds for good, best first.

    `words` are scores of full-text search, of any size; `meaning` are cosines. A score of words
    nears WORDS_WEIGHT, however rare its words are, so that it decides among texts of like meaning,
    and finds alone what has no meaning to a vector: a part number, a code, a name.
    """
    scores = {
        each: meaning.get(each, 0.0)
        + WORDS_WEIGHT * words.get(each, 0.0) / (words.get(each, 0.0) + HALF_OF_IT)
        for each in {**words, **meaning}
    }
    return sorted(scores, key=lambda each: -scores[each])


def words_of(query: str) -> list[str]:
    """The words of a query that find something; none of its operators."""
    words = [word.lower() for word in _WORD.findall(query)][:64]
    return list(dict.fromkeys([word for word in words if word not in STOP_WORDS] or words))


def folded(text: str) -> str:
    """In lower case, without accents and signs: words, with one space between two of them."""
    letters = (each for each in unicodedata.normalize("NFD", text.lower()))
    plain = "".join(each for each in letters if not unicodedata.combining(each))
    return " ".join(_WORD.findall(plain.replace("_", " ")))


class Hit(NamedTuple):
    """A word of the query in a passage: how often in its title, its headings and its text."""

    passage_id: int
    length: int  # words of the passage
    word: str
    in_title: int
    in_headings: int
    in_text: int


def bm25(hits: Sequence[Hit], passages: int) -> dict[int, float]:
    """How well each passage fits, as SQLite's FTS5 counts it, among so many passages."""
    lengths = {hit.passage_id: hit.length for hit in hits}
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    often = Counter(hit.word for hit in hits)
    scores: dict[int, float] = dict.fromkeys(lengths, 0.0)
    for hit in hits:
        n = often[hit.word]
        rare = max(math.log((passages - n + 0.5) / (n + 0.5)) if passages > n else 0.0, 1e-6)
        count = IN_TITLE * hit.in_title + IN_HEADINGS * hit.in_headings + hit.in_text
        long = SATURATION * (1 - LENGTH + LENGTH * hit.length / max(mean, 1.0))
        scores[hit.passage_id] += rare * count * (SATURATION + 1) / (count + long)
    return scores
