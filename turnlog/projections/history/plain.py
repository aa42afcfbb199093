"""Histories of words, thoughts, calls and their results: one look tells that they are clean.

Nearly every turn is like this, and no rule has to be asked about it. Anything else, and anything
that is not in perfect order, is left to the rules: `plain` never says what is broken.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnlog.projections.history.blocks import KINDS, THOUGHTS
from turnlog.projections.history.checks.thoughts import ends_in_space
from turnlog.projections.history.checks.tools import ID, NAME

ApiMessage = dict[str, Any]
# Of each kind of block, what it may have: all that the API knows, but no cache mark.
FIELDS = {
    kind: KINDS[kind].fields - {"cache_control"} | {"type"}
    for kind in ("text", *THOUGHTS, "tool_use", "tool_result")
}


class Plain(msgspec.Struct, frozen=True):
    """What such a history holds."""

    last_turn: int  # the message with which it begins
    settled: list[str]  # ids of the calls before it
    calls: list[str]  # ids of all calls
    ends_in_space: bool  # the assistant's last word, from which it may have to go on


def plain(messages: Sequence[ApiMessage]) -> Plain | None:
    """What it holds, if it breaks no rule for sure, but for the space at its end. None: the rules
    have to be asked.
    """
    last_turn, settled = 0, 0
    calls: list[str] = []
    are_open: list[str] = []  # calls of the message before
    expected = "user"
    for index, message in enumerate(messages):
        content = message["content"]
        is_whole = len(message) == 2 and type(content) is list and content
        if message["role"] != expected or not is_whole:
            return None
        if expected == "user":
            words = _after_results(content, are_open) if are_open else content
            if words is None or not _are_words(words):
                return None
            if not are_open:
                last_turn, settled = index, len(calls)
            expected, are_open = "assistant", []
        else:
            made = _calls(content)
            if made is None:
                return None
            expected, are_open = "user", made
            calls += made
    if not messages or are_open or (calls and len(set(calls)) < len(calls)):
        return None
    is_spaced = expected == "user" and ends_in_space(messages[-1]["content"][-1])
    return Plain(last_turn, calls[:settled], calls, is_spaced)


def _after_results(content: Sequence[Any], calls: Sequence[str]) -> Sequence[Any] | None:
    """What comes after one result for each of these calls; None: it does not begin with them."""
    results = [_answered(block) for block in content[: len(calls)]]
    return content[len(calls) :] if {*results} == {*calls} else None


def _answered(block: Any) -> str | None:
    """Which call this is the result of; as text, which is all that a failed one may be."""
    match block:
        case {"type": "tool_result" as kind, "tool_use_id": str(call), "content": str()}:
            return call if block.keys() <= FIELDS[kind] else None
    return None


def _are_words(content: Sequence[Any]) -> bool:
    for block in content:
        match block:
            case {"type": "text" as kind, "text": str(words)} if words.strip():
                if not block.keys() <= FIELDS[kind]:
                    return False
            case _:
                return False
    return True


def _calls(content: Sequence[Any]) -> list[str] | None:
    """The calls of an answer. None: there is something else in it but words and whole thoughts."""
    calls: list[str] = []
    for block in content:
        match block:
            case {"type": "text" as kind, "text": str(words)} if words.strip():
                if block.get("citations"):  # they have fields of their own
                    return None
            case {"type": "thinking" as kind, "thinking": str(), "signature": str(proof)} if proof:
                pass
            case {"type": "redacted_thinking" as kind, "data": str(proof)} if proof:
                pass
            case {"type": "tool_use" as kind, "id": str(call), "name": str(name), "input": dict()}:
                if not ID.fullmatch(call) or not NAME.fullmatch(name):
                    return None
                calls.append(call)
            case _:
                return None
        if not block.keys() <= FIELDS[kind]:
            return None
    return None if content[-1]["type"] in THOUGHTS else calls
