"""The patterns of the table of intents, as regular expressions for a whole sentence.

`(a|b)` is one of them, `[a|b]` one of them or none, `<word>` any of WORDS, `{slot}` a value.
"""

import re
from functools import cache

from .erp import FIELDS, KINDS

# fmt: off
WORDS = {
    "create": "create|add|make|register|draft",
    "delete": "delete|remove",
    "show":   "show|list|display|see|give|find|what are",
    "task":   "task|todo|to-do|reminder",
    "tasks":  "tasks|todos|to-dos|reminders|task list|to-do list|todo list",
}
QUOTED = r"“[^”]+”|\"[^\"]+\""
# A new sentence ends a text; Dr. and the like do not.
STOP = r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bInc)(?<!\bLtd)[.;?!] "
# No text begins with what leads to one: "create a customer called", "find the customer in Rome".
NO_NAME = r"(?!(?:called|named|number|in|from|with|who|whose|where)\b|(?:a|an|for|my|of|the|to) $)"
TEXT = rf"{QUOTED}|{NO_NAME}(?![\"“])(?:(?!{STOP})(?:[^\"“”]|{QUOTED}))+?"
NAME = rf"{QUOTED}|{NO_NAME}(?:(?! (?:and|at|in|with|email|phone|address) )[^\"“”,;:@\d])+?"
LINE = r"\d+ (?:(?! and )[^\"“”,])+"
SIGN = r"[-+*/x×÷%^]|plus|minus|times|multiplied by|divided by|percent of"
SLOTS = {  # any other slot is a TEXT
    "city":     NAME,
    "fact":     r"(?!name |question )[a-z][\w -]{0,60}?",
    "field":    "|".join(FIELDS),
    "kind":     "|".join(KINDS),
    "kinds":    "|".join(f"{kind}s" for kind in KINDS),
    "lines":    rf"{LINE}(?:(?:,? and |, ){LINE})*",
    "new_name": NAME,
    "number":   r"[\w-]*\d[\w-]*",
    "state":    "open|draft|paid",
    "status":   "open|pending|completed|done|finished",
    "sum":      rf"(?=[-( ]*[\d.,'’ ]*\d[ )]*(?:{SIGN}))(?:[\d .,'’()]|{SIGN}|of)+",
    "task":     rf"#?\d{{1,15}}|(?!#?\d|(?:{WORDS['task']}) )(?:{TEXT})",
}
# fmt: on


def values(pattern: str, text: str) -> dict[str, str] | None:
    """The values of the slots, if the pattern reads all of the text.

    They come without quotes, but for a list; a word for a kind of record becomes its name."""
    match = _compiled(pattern).fullmatch(f"{text} ")
    if match is None:
        return None
    slots = {slot: value for slot, value in match.groupdict().items() if value}
    slots |= {slot: unquoted(slots[slot]) for slot in slots if slot != "titles"}
    kind = slots.pop("kinds", "").lower().removesuffix("s") or slots.get("kind", "").lower()
    if kind or "field" in slots:
        slots["kind"] = KINDS[kind] if kind else FIELDS[slots["field"].lower()][0]
    return slots


def unquoted(text: str) -> str:
    return text[1:-1] if re.fullmatch(QUOTED, text) else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = re.sub(r"<(\w+)>", lambda word: f"({WORDS[word[1]]})", f"{pattern} ")
    pattern = re.sub(r"\[([^]]+)\] ", r"(?:(?:\1) )?", pattern.replace("(", "(?:"))
    named = re.sub(r"\{(\w+)\}", lambda s: f"(?P<{s[1]}>{SLOTS.get(s[1], TEXT)})", pattern)
    return re.compile(named, re.I)
