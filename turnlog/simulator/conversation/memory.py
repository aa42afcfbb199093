"""What the user has said about themselves: found again in the prompt, and kept in summaries.

Nothing is remembered here. What the prompt does not hold, nobody can tell.
"""

import re
from collections.abc import Iterator

from ..script import Json, RawBlock, Reply, Text, sign
from .plans import Desk
from .talk import Talk, read, text_of

FACT = re.compile(r"\bmy ((?!name is\b)[a-z][\w -]{0,60}?) is ([^\n.?!;]{1,200})", re.I)
ASKED = re.compile(r"^\[The user said:\] (.+)$", re.M)
TO_SUMMARIZE = re.compile(r"<conversation>\n(.*)\n</conversation>\s+Summarize\b", re.S)
MOST_FACTS, MOST_QUESTIONS = 200, 20


def noted(desk: Desk, fact: str, value: str) -> str:
    return f"Noted: your {fact} is {value}."


def recalled(desk: Desk, fact: str) -> str:
    """What the user said last about it, anywhere in the prompt."""
    value = dict(_facts("\n".join(_said(desk.talk)))).get(_key(fact))
    if value is None:
        return f"You have not told me what your {fact} is, as far as I can see."
    return f"Your {fact} is {value}."


def summary(body: Json) -> Reply | None:
    """Where a summary is asked for: the facts that the user stated, and what was asked lately."""
    if body.get("compaction"):
        text = _notes("\n".join(_said(talk := read(body))), _questions(talk))
        block = {"type": "compaction", "content": text, "encrypted_content": None}
        return Reply(RawBlock(block | {"signature": sign(text)}), stop_reason="compaction")
    asked = TO_SUMMARIZE.match(text_of(body["messages"][-1]["content"]))
    if asked is None:
        return None
    return Reply(Text(_notes(asked[1], ASKED.findall(asked[1]))))


def _notes(text: str, questions: list[str]) -> str:
    facts = [f"- My {name} is {value}." for name, value in dict(_facts(text)).items()]
    lately = [f"- {question[:80]}" for question in questions[-MOST_QUESTIONS:]]
    parts = ["What the user stated:", *facts[-MOST_FACTS:], "What was asked lately:", *lately]
    return "\n".join(parts)


def _facts(text: str) -> Iterator[tuple[str, str]]:
    for fact, value in FACT.findall(text):
        if fact.lower() not in _NO_FACTS:
            yield _key(fact), value.strip()


_NO_FACTS = ("question", "next question")


def _key(fact: str) -> str:
    return " ".join(fact.lower().split())


def _said(talk: Talk) -> Iterator[str]:
    yield talk.before
    yield from (turn.question for turn in (*talk.past, talk.now))


def _questions(talk: Talk) -> list[str]:
    return [turn.question for turn in (*talk.past, talk.now) if turn.question]
