"""What is left of a sentence when the command is taken away: the name, the title, the text."""

import re

from .clauses import POLITE, Clause
from .toolbox import Tool
from .words import FILLERS, NOUNS, VERBS, concept, plural, singular, tokens

# What people say instead of a verb; see clauses.PHRASES.
OPENINGS = re.compile(
    POLITE + r"|\b(?:remind me (?:to|about|of|that)|don'?t (?:let me )?forget (?:to)?|"
    r"i (?:have|need) to|get rid of|throw away|look(?:ing)? (?:for|up)|how many|who is|"
    r"what does|how much (?:is|are|does|do)|what(?:'s| is| are)?|do (?:i|we|you) have|"
    r"(?:are|is) there)\b"
    r"|^(?:is|are|does|did|has)\b",
    re.I,
)
IMPLIES = re.compile(r"remind|forget|i (?:have|need) to", re.I)  # the verb itself
CLOSINGS = re.compile(
    r"[\s,]*\b(?:please|thanks|thank you|for me|right now|off|(?:as|is|are) (?:now )?"
    r"(?:done|completed?|finished|well)|done|again|(?:are|is) there|do (?:we|i|you) have|exist)"
    r"\b[\s.!?]*$",
    re.I,
)
LEADING = {
    *("to", "that", "about", "for", "called", "named", "titled", "name", "with", "as", "of", "in"),
    *("a", "an", "the", "my", "our", "new", "and", "is", "are", "me", "saying", "from", "by", "on"),
}
# In front they may say which one is meant: "it", "for Adatum".
KEPT = {"it", "that", "this", "one", "for", "to", "from", "with", "in", "at", "by", "on"}
# What is asked about something, behind its name: "the Athens desk cost", "Adatum owe us".
ASKED = re.compile(
    r"(?:^|['’]s\s+|\s+)(?:costs?|price|balance|sell for|owes? us|blocked|"
    r"(?:is|are|do we have)?\s*in (?:our )?stock)\b"
    r"(?:\s+and\b.*)?\W*$",
    re.I | re.S,
)
_WORD = re.compile(r"\S+")
_UPDATE = re.compile(r"(.*?)\s*(?:\bto\b|=|\bas\b)\s*(.+)", re.I | re.S)


def update_parts(text: str) -> tuple[str, str] | None:
    """`rename task 2 to Buy bread` -> (`rename task 2`, `Buy bread`)."""
    found = _UPDATE.fullmatch(OPENINGS.sub(" ", text, count=1).strip())
    return (found[1], found[2]) if found else None


def without_command(text: str, tool: Tool) -> str:
    """Without politeness, the verb, and the words for what the tool is about."""
    parts = r"[\s_-]+".join(re.escape(part) for part in re.split(r"[_-]+", tool.name) if part)
    named = re.compile(rf"(?<!\w){parts}(?!\w)", re.I) if parts else None
    is_named = bool(named and named.search(text)) and "_" in tool.name
    if named and is_named:
        text = named.sub(" ", text, count=1)
    opening = OPENINGS.search(text)
    text = _closed(OPENINGS.sub(" ", text, count=1).strip())
    if not tool.writes:  # "the phone number of Adatum": it is Adatum that can be found
        text = ASKED.sub("", text)
        text = re.sub(r"^(?:[a-z-]+\s+){1,4}of\s+(?:[a-z]+\s+){0,2}(?=[A-Z\"“\d])", "", text)
    implied = opening is not None and IMPLIES.search(opening[0]) is not None
    return _without_front(text, tool, verb_is_open=not (is_named or implied))


def _closed(text: str) -> str:
    while (shorter := CLOSINGS.sub("", text)) != text:
        text = shorter
    return text.strip()


def _without_front(text: str, tool: Tool, verb_is_open: bool) -> str:
    while found := _WORD.match(text):
        word = next(iter(tokens(found[0])), "")
        is_verb = concept(word) in VERBS or word in ("order", "buy", "purchase")
        if verb_is_open and is_verb:
            verb_is_open = False
        elif not (_is_filler(found[0], word) or concept(word) in tool.nouns):
            break
        rest = text[found.end() :].lstrip(" ,:")
        if found[0].endswith(":"):
            return rest
        text = rest
    return text.strip()


def _is_filler(raw: str, word: str) -> bool:
    is_word = word in FILLERS or word in ("new", "another")
    return is_word and raw == raw.lower() and word not in KEPT


def _leads(word: str, tool: Tool) -> bool:
    return word in LEADING or (not tool.writes and concept(word) in tool.nouns)


def spread(clause: Clause, tool: Tool) -> list[Clause]:
    """`add tasks: eggs, bread and butter` are three; anything else is one."""
    nouns = "|".join(re.escape(plural(word)) for word in NOUNS.get(tool.head, tool.head).split())
    found = re.match(rf"(.*?\b(?:{nouns})\b)\s*(:|to\b)?\s*(.+)", clause.text, re.I | re.S)
    if tool.verb != "add" or found is None or not (found[2] or "," in found[3]):
        return [clause]
    parts = re.split(r",\s*(?:and\s+)?|\s+and\s+|\n+", found[3])
    return [
        Clause(f"add {tool.head} “{part.strip(' .!“”')}”") for part in parts if part.strip(" .!")
    ]


def free_text(text: str, tool: Tool) -> str:
    """The rest as a value: without connecting words in front, and `to my list` behind."""
    text = re.sub(r"^[\s,.:;!?-]+|[\s,.:;!?-]+$", "", text)
    nouns = "|".join([*(rf"{n}s?" for n in tool.nouns if n.isalpha()), "list", "lists", "todos?"])
    behind = rf"\s+(?:to|in|on|from|into|onto|as)\s+(?:(?:my|the|our|a|an)\s+)?(?:(?:{nouns})\s*)+$"
    text = re.sub(behind, "", text, flags=re.I)
    text = re.sub(r"\s+(?:at|for|with|of)$", "", text)  # what followed was a number of its own
    while (found := _WORD.match(text)) and _leads(found[0], tool):
        text = text[found.end() :].lstrip(" ,:")
    if not tool.writes:
        text = " ".join(singular(word) if word.islower() else word for word in text.split())
    return text.strip(" \"'“”„«»`").strip()
