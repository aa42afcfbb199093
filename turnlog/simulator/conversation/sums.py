"""Arithmetic as people say it: "17 times 23", "19 % of 250", "and divided by 4"."""

import re

from .talk import Talk

# fmt: off
OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/"}
# fmt: on
_NUMBER = r"-?\d+(?:\.\d+)?"
_SPOKEN = re.compile(rf"(?<=[\d)])\s+({'|'.join(OPERATORS)})\s+(?=[-\d(])", re.I)
_PERCENT = re.compile(rf"({_NUMBER})\s*(?:%|percent) of ({_NUMBER})", re.I)
_GOES_ON = re.compile(rf"^(?:and |then |now )*({'|'.join(OPERATORS)}|[*/+])\s*(?={_NUMBER})", re.I)


def written(question: str, talk: Talk) -> str:
    """The question with its arithmetic in signs; one that goes on begins with the last result."""
    found = _GOES_ON.match(question)
    before = _last_number(talk) if found else None
    if found and before is not None:
        sign = OPERATORS.get(found[1].lower(), found[1])
        question = f"{before} {sign} {question[found.end() :]}"
    question = _PERCENT.sub(r"\2 * \1 / 100", question)
    return _SPOKEN.sub(lambda found: f" {OPERATORS[found[1].lower()]} ", question)


def _last_number(talk: Talk) -> float | int | None:
    for turn in reversed(talk.past):
        for done in reversed(turn.calls):
            values = list(done.value.values()) if isinstance(done.value, dict) else []
            if len(values) == 1 and isinstance(values[0], int | float):
                return values[0]
    return None
