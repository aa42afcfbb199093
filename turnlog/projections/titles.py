"""The title of a conversation, from its first words: a rule, not a model call.

It costs nothing, sends nobody's words anywhere, and is the same with every engine.
"""

import re

MOST_CHARACTERS = 60
_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks?|thank you|greetings)"
    r"(?: (?:there|all|everybody|everyone|claude))?\b[\s,.!;:–—-]*)+",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:please|kindly|(?:can|could|would|will) you(?: please)?|i(?:'d| would) like (?:you )?to"
    r"|i (?:want|need) (?:you )?to|help me(?: to)?|let's)\b[\s,]*)+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s|\n")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


def title_of(question: str) -> str:
    """A line of at most 60 characters; "" where the question is only a greeting."""
    text = question[: MOST_CHARACTERS * 40].strip()
    text = _GREETING.sub("", text, count=1) if _GREETING.match(text) else text
    for sentence in _SENTENCE.split(text):
        line = " ".join(_UNPRINTABLE.sub(" ", sentence).split())
        plain = _POLITE.sub("", line, count=1) if _POLITE.match(line) else line
        plain = plain.strip(" \t.,;:!#*`>-")
        if any(character.isalnum() for character in plain):
            return _short(plain[0].upper() + plain[1:])
    return ""


def _short(line: str) -> str:
    if len(line) <= MOST_CHARACTERS:
        return line
    cut = line[: MOST_CHARACTERS - 1]
    whole_words = cut.rpartition(" ")[0]
    return (whole_words if len(whole_words) > MOST_CHARACTERS // 2 else cut).rstrip(" ,;:-") + "…"
