"""Small talk, and questions about the conversation itself: answered without any tool."""

import re

from .plans import Desk
from .talk import text_of
from .tools import examples

SELF = "I am a simulated Claude: rules on your machine, no model and no key"
ROLE = re.compile(r"\byou are ((?:an?|the) [^.,;:!?\n]{3,80})", re.I)
# Long enough to be interrupted: some ten seconds at the usual pace.
STORY = "\n".join(
    [
        "I am a simulated Claude, and this is my only story.",
        *(
            f"On day {day} the clerk wrote line {day} into the ledger, and never crossed one out."
            for day in range(1, 81)
        ),
    ]
)


def who(desk: Desk) -> str:
    """What it is, what the system prompt makes it, and what it can do here."""
    role = ROLE.search(text_of(desk.talk.body.get("system")))
    here = f" Here I stand in for {role[1].strip()}." if role else ""
    return f"{SELF}.{here} {_abilities(desk)}"


def lost(desk: Desk, is_read: bool) -> str:
    """No guess, but a way on."""
    why = "I was offered no tool for" if is_read else "I have no rule for"
    return f"{why} “{desk.talk.now.question[:200]}”, and I do not guess. {_abilities(desk)}"


def _abilities(desk: Desk) -> str:
    if not desk.tools:
        return "I was offered no tools here: I can talk, and do sums."
    lines = "".join(f"\n- {text}" for text in examples(desk.tools, desk.talk.now.question))
    return f"You can say, for example:\n{lines}"


def last_question(desk: Desk) -> str:
    if not desk.talk.past:
        return "This is the first thing that you ask me."
    return f"You asked: “{desk.talk.past[-1].question[:300]}”"
