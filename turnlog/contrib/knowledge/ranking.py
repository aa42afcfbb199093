"""Two rankings become one: words know names and numbers, vectors know other words for it."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Chosen on the half of bench/knowledge that is for choosing, in the middle of where they make
# little difference.
WORDS_WEIGHT = 0.2
HALF_OF_IT = 2.0  # the score for each word of the query that counts half
CODES_WEIGHT = 0.2
# As `find_by_words` of SQLite weighs them, and the constants of FTS5's BM25.
IN_TITLE, IN_HEADINGS = 2.0, 1.5
SATURATION, LENGTH = 1.2, 0.75
_WORD = re.compile(r"\w+")
# Scripts that leave no space between two words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
# Words of a question that every text has: they find nothing and cost a look at everything.
_STOP_WORDS = """
    a an and any are as at be by can could did do does for from get had has have how i if in is it
    its may me my of on or our shall should that the their them then there they this to was we
    were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def combined(
    query: str,
    words: Mapping[int, float],
    meaning: Mapping[int, float],
    texts: Mapping[int, str],
) -> list[int]:
    """What either ranking holds for good, best first.

    `words` are scores of full-text search, of any size; `meaning` are cosines; `texts` are the
    passages. A score of words nears WORDS_WEIGHT, however rare its words are, so that it decides
    among texts of like meaning, and finds alone what has no meaning to a vector: a name. Of a long
    question many words must be there to count as much as the one word of a short one. A number or
    a code of the question is meant as it stands: a passage that has it comes before one that has
    another.
    """
    half = HALF_OF_IT * len(words_of(query))
    codes = frozenset(filter(_has_digit, folded(query).split()))

    def score(each: int) -> float:
        by_words = words.get(each, 0.0)
        in_words = by_words / (by_words + half) if by_words else 0.0
        has = codes.intersection(folded(texts[each]).split()) if codes else codes
        in_codes = len(has) / len(codes) if codes else 0.0
        return meaning.get(each, 0.0) + WORDS_WEIGHT * in_words + CODES_WEIGHT * in_codes

    scores = {each: score(each) for each in texts}
    return sorted(scores, key=lambda each: -scores[each])


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def words_of(query: str) -> list[str]:
    """The words of a query that find something; none of its operators."""
    words = [word.lower() for word in _WORD.findall(spaced(query))][:64]
    return list(dict.fromkeys([word for word in words if word not in STOP_WORDS] or words))


def folded(text: str) -> str:
    """In lower case, without accents and signs: words, with one space between two of them."""
    letters = (each for each in unicodedata.normalize("NFD", text.lower()))
    plain = "".join(each for each in letters if not unicodedata.combining(each))
    return " ".join(_WORD.findall(spaced(plain.replace("_", " "))))


def spaced(text: str) -> str:
    """Scripts without spaces as every two letters that stand together: so a word is found in the
    middle of a sentence, and nobody has to know where it begins. The rest stays as it is.
    """
    return _UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    letters = "".join(_WORD.findall(run[0]))  # without the signs above and below them
    pairs = [letters[at : at + 2] for at in range(len(letters) - 1)]
    return f" {' '.join(pairs or [letters])} "


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
