"""What the words of a tool's name say about it, where the tool says nothing itself."""

import re

_WRITING = """
    add append apply approve archive assign book cancel change clear close commit complete confirm
    create delete deploy disable drop edit enable erase execute grant import insert install invite
    invoice issue merge modify move order pay post publish purchase put record register reject
    release remove rename replace reset restore revoke save schedule sell send set ship sign store
    submit transfer update upload upsert withdraw write
"""
_READING = """
    browse calculate check compare compute count current describe estimate explain export fetch
    filter find get has inspect is list look lookup peek preview query read resolve retrieve search
    show sum summarize translate validate verify view
"""
VERBS: dict[bool, frozenset[str]] = {
    True: frozenset(_WRITING.split()),
    False: frozenset(_READING.split()),
}
_BETWEEN = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


def words_of(name: str) -> list[str]:
    """The words of a tool's name, in snake_case, kebab-case or camelCase."""
    return [word.lower() for word in _BETWEEN.split(name) if word]


def writes(name: str) -> bool | None:
    """Whether a tool of this name writes; None where the first word says nothing."""
    first = re.split(r"[_\-]|(?<=[a-z])(?=[A-Z])", name)[0].lower()
    return next((answer for answer, verbs in VERBS.items() if first in verbs), None)
