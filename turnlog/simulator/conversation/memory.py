"""Questions about the conversation itself: answered from its history, and from nothing else."""

import re
from collections.abc import Callable

from .talk import Talk, Turn
from .words import counted

_NAME = re.compile(
    r"\b(?:my name is|i am called|call me|i'm called|this is|mein name ist|ich hei(?:ß|ss)e|"
    r"je m'appelle|me llamo|mi chiamo)\s+([^\W\d_][\w'’-]*(?:\s+[A-Z][\w'’-]*)?)",
    re.I,
)
_I_AM = re.compile(r"\b(?:i am|i'm) ([A-Z][a-z'’-]+)\b")


def _my_name(talk: Talk) -> str:
    for turn in reversed(talk.past):
        if name := told_name(turn.question):
            return f"Your name is {name}: you told me so in this conversation."
    return "You have not told me your name in this conversation."


def told_name(text: str) -> str | None:
    found = _NAME.search(text) or _I_AM.search(text)
    return found[1].strip() if found else None


def _last_question(talk: Talk) -> str:
    if not talk.past:
        return "This is the first thing that you ask me."
    return f"You asked: “{_short(talk.past[-1].question)}”"


def _last_answer(talk: Talk) -> str:
    if not talk.past:
        return "I have not said anything yet."
    return f"I said: “{_short(talk.past[-1].said)}”" if talk.past[-1].said else "I said nothing."


def _last_tools(talk: Talk) -> str:
    names = [done.name for turn in talk.past for done in turn.calls]
    if not names:
        return "I have used no tools in this conversation."
    kinds = [f"{name} ({names.count(name)})" for name in dict.fromkeys(names)]
    return f"I have made {counted(len(names), 'tool call')}: {', '.join(kinds)}."


def _summary(talk: Talk) -> str:
    if not talk.past:
        return "There is nothing to summarize yet: this is your first message."
    lines = [f"{at}. {_line(turn)}" for at, turn in enumerate(talk.past, 1)]
    shown = lines[-20:]
    return f"So far you have asked {counted(len(lines), 'thing')}:\n\n" + "\n".join(shown)


def _line(turn: Turn) -> str:
    used = ", ".join(dict.fromkeys(done.name for done in turn.calls))
    return f"“{_short(turn.question, 80)}”" + (f" (I used {used})" if used else "")


# fmt: off
QUESTIONS: list[tuple[str, Callable[[Talk], str]]] = [
    (r"\bwhat(?:'s| is) my name\b|\bwho am i\b|\bdo you (?:know|remember) my name\b",   _my_name),
    (r"\bwhat did i (?:just )?(?:ask|say|write|want)\b|\bmy (?:last|previous) (?:question|message)",
     _last_question),
    (r"\bwhat did you (?:just )?(?:say|answer|tell)\b|\byour (?:last|previous) answer",
     _last_answer),
    (r"\b(?:which|what) tools? (?:did|have) you\b|\bwhat did you (?:just )?do\b",
     _last_tools),
    (r"\b(?:summari[sz]e|sum up|recap)\b.*\b(?:conversation|chat|talk|discussion|so far|session)\b"
     r"|\bwhat (?:have|did) we (?:talk|discuss|do)\w*",                                 _summary),
]
# fmt: on


def recall(talk: Talk) -> str | None:
    """The answer, when the question is about the conversation."""
    question = talk.now.question
    for pattern, answer in QUESTIONS:
        if re.search(pattern, question, re.I):
            return answer(talk)
    if len(question) < 80 and (name := told_name(question)):
        return f"Nice to meet you, {name}. I will remember it in this conversation."
    return None


def _short(text: str, longest: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
