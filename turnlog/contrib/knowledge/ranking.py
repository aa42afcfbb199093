"""Two rankings become one: words know names and numbers, vectors know other words for it."""

import re
from collections.abc import Mapping

# Chosen on the labelled set of bench/knowledge, in the middle of where they make little difference.
WORDS_WEIGHT = 0.25
HALF_OF_IT = 6.0  # the score of words that counts half
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


def match_expression(query: str) -> str | None:
    """The query for full-text search: any of its words, none of its operators. None: no words."""
    words = [word.lower() for word in _WORD.findall(query)][:64]
    wanted = [word for word in words if word not in STOP_WORDS] or words
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(wanted)) or None
