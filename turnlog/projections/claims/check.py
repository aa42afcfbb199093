"""Claims of an answer that nothing in its turn bears out: work that no tool did, counts and
numbers that no tool result holds. See docs/claims.md.

A pure fold over the events of one turn. Better silent than wrong: what is not plainly a claim,
or may be founded on something that this turn does not show, is passed over.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.projections.claims import sense, words
from turnlog.projections.claims.counts import (
    Counted,
    may_state,
    misses,
    stated,
)
from turnlog.projections.claims.grounds import (
    Call,
    Held,
    calls_of,
    does,
    held_by,
    is_for_one,
)
from turnlog.projections.claims.sentences import (
    Claim,
    kinds_hinted,
    plain,
    sentences,
    words_of,
)
from turnlog.projections.claims.words import Deed
from turnlog.projections.tool_words import words_of as words_in_name

MOST_TEXT = 20_000  # characters of a message that are read
MOST_FINDINGS = 20  # of a turn
_UNFINISHED = ("cancelled", "interrupted")
_ID = re.compile(
    r"^(?:\s+(?:a|an|the|new|sales|purchase|as|with|number|no\.?|id|nr\.?|nummer|als|mit|der|"
    rf"{words.RECORDS})|\s*[(:#]){{1,6}}\s*[#:]?\s*"
    r"(?P<id>[A-Z]{1,6}-?[A-Z]{0,4}\d{3,}|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4,10})(?![\w.,-]*\d)",
    re.I,
)
_WORDS = re.compile(rf"\b(?:{words.ASKS_FOR_WORDS})\b", re.I)
_LETTER = re.compile(rf"(?:^|\n)\W*(?:{words.LETTER})", re.I)
_ONES_OWN = re.compile(r"\b(?:i|my|mine|we|our|any|ich|meine?n?|wir|unsere?n?)\b", re.I)
_NO_ID = re.compile(r"(?:19|20)\d\d")  # a year


class Finding(NamedTuple):
    """A claim that is not founded, in the answer's words, and why."""

    message_id: str
    claim: str
    why: str


def may_claim(text: str) -> bool:
    """Whether it is worth while to look closer. Cheap, for every answer."""
    found = words_of(text[:MOST_TEXT])
    return bool(kinds_hinted(found)) or may_state(found)


def unfounded(turn: Sequence[Stamped]) -> list[Finding]:
    """What the answers of this turn claim and its events do not bear out."""
    ground = Ground([at.event for at in turn], first=bool(turn) and turn[0].position == 0)
    found = (
        Finding(message.message_id, said, why)
        for message in ground.answers
        for said, why in _unfounded_in(message.content[:MOST_TEXT], ground)
    )
    return list(islice(found, MOST_FINDINGS))


def by_turn(log: Sequence[Stamped]) -> list[tuple[Stamped, Finding]]:
    """The findings of every turn of a log, each with the message that it is about."""
    turns: dict[str, list[Stamped]] = {}
    for at in log:
        turns.setdefault(at.turn_id, []).append(at)
    return [
        (next(at for at in turn if _is_message(at, finding.message_id)), finding)
        for turn in turns.values()
        for finding in unfounded(turn)
    ]


def _is_message(at: Stamped, message_id: str) -> bool:
    return isinstance(at.event, k.Message) and at.event.message_id == message_id


class Ground:
    """What the turn's claims may be founded on."""

    def __init__(self, events: Sequence[Event], *, first: bool) -> None:
        self.events = events
        self.first = first  # nothing came before this turn
        self.calls = calls_of(events)

    @property
    def answers(self) -> list[k.Message]:
        messages = (event for event in self.events if isinstance(event, k.Message))
        return [message for message in messages if message.stop_reason not in _UNFINISHED]

    @cached_property
    def question(self) -> str:
        asked = (e.content for e in self.events if isinstance(e, k.UserMessageSent))
        return plain("\n".join(asked)[:MOST_TEXT])

    @cached_property
    def succeeded(self) -> list[Call]:
        return [call for call in self.calls if call.succeeded]

    @cached_property
    def results(self) -> Held:
        return held_by(call.result for call in self.succeeded)

    @cached_property
    def asked_with(self) -> Held:
        return held_by(call.args for call in self.calls)

    @cached_property
    def elsewhere(self) -> bool:
        """Whether the answer had sources that are not read here: files, searches of the web."""
        files = any(e.files for e in self.events if isinstance(e, k.UserMessageSent))
        blocks = (b for e in self.events if isinstance(e, k.Message) for b in e.blocks)
        return files or any(b["type"] == "server_tool_use" for b in blocks)

    @cached_property
    def writes_for_the_user(self) -> bool:
        """Whether words were asked for, and no work."""
        return all(call.reads for call in self.calls) and bool(_WORDS.search(self.question))

    def done(self, deed: Deed) -> list[Call]:
        tools = frozenset(deed.tools.split())
        return [call for call in self.succeeded if does(call, tools)]

    def tried(self, deed: Deed) -> list[Call]:
        """The calls that did not succeed and whose name says just this."""
        failed = (call for call in self.calls if not call.succeeded)
        asked = re.compile(deed.asked)
        return [c for c in failed if any(map(asked.fullmatch, words_in_name(c.name)))]


def _unfounded_in(text: str, ground: Ground) -> Iterator[tuple[str, str]]:
    """Each sentence that claims too much, once, and the first reason against it."""
    if ground.writes_for_the_user or _LETTER.search(text):
        return
    shown = "```" in text  # then "I added a function" may be about what is shown
    for sentence in dict.fromkeys(sentences(text)):
        claims = (c for c in sentence.claims if not (shown and c.deed.of_records))
        reasons = (
            *(_why_not(claim, ground) for claim in claims),
            *(_why_not_so_many(counted, ground) for counted in stated(sentence.plain)),
        )
        if why := next(filter(None, reasons), None):
            yield sentence.text, why


def _why_not(claim: Claim, ground: Ground) -> str | None:
    """Why the claim is not founded; None if it is, or if nobody can tell."""
    if not sense.is_about_records(claim, ground.question) or not _is_of_this_turn(claim, ground):
        return None
    done = ground.done(claim.deed)
    if not done:
        return f"Nothing was {claim.kind} in this turn: {_what_happened(claim, ground)}."
    return _why_not_many(claim, done, ground) or _why_not_this(claim, ground)


def _what_happened(claim: Claim, ground: Ground) -> str:
    if not ground.calls:
        return "no tool was called"
    if tried := ground.tried(claim.deed):
        return f"{tried[-1].name} did not succeed"
    return "there was only " + ", ".join(dict.fromkeys(call.name for call in ground.calls))


def _is_of_this_turn(claim: Claim, ground: Ground) -> bool:
    """Whether it is about work of this turn, and not about what somebody did at another time."""
    if ground.tried(claim.deed):
        return not sense.refers_back(claim)
    if sense.refers_back(claim) or sense.was_asked_about(claim, ground.question):
        return False
    wanted = sense.was_wanted(claim, ground.question)
    if claim.by_the_model:
        return ground.first or wanted or sense.is_fresh(claim)
    return wanted and not sense.is_dated(claim) and not sense.is_told_by(claim, ground.results.text)


def _why_not_many(claim: Claim, done: Sequence[Call], ground: Ground) -> str | None:
    """`deleted 3 tasks`, and there were two calls that deleted one each."""
    written = sum(not call.reads for call in ground.succeeded)
    many = sense.many(claim)
    if many is None or many <= written or not all(map(is_for_one, done)):
        return None
    held = held_by([value for call in done for value in (call.args, call.result)])
    if held.cut or many in {*held.lengths, *held.numbers}:
        return None
    return f"{many} were claimed, {len(done)} were {claim.kind}."


def _why_not_this(claim: Claim, ground: Ground) -> str | None:
    """`created invoice INV-1001`: the number of what is new can only come from a tool."""
    found = _ID.match(claim.about) if claim.kind == "created" else None
    if found is None or _NO_ID.fullmatch(found["id"]) or ground.results.cut or ground.elsewhere:
        return None
    known = "\n".join([ground.results.text, ground.asked_with.text, ground.question])
    if found["id"].lower() in known.lower():
        return None
    return f"{found['id']!r} is in no tool result, argument or question of this turn."


def _why_not_so_many(counted: Counted, ground: Ground) -> str | None:
    """`you have 3 tasks`, and no result of the turn holds a 3."""
    if ground.elsewhere or ground.results.cut:
        return None
    if not ground.calls:
        return _why_not_from_nowhere(counted, ground)
    if not ground.succeeded or not misses(
        counted, ground.results, ground.succeeded, ground.question
    ):
        return None
    if re.search(rf"\b{counted.number}\b", ground.question):
        return None
    return f"No tool result of this turn holds a count of {counted.number}."


def _why_not_from_nowhere(counted: Counted, ground: Ground) -> str | None:
    """Before any tool has ever run, nobody knows how many the user has."""
    question = ground.question
    told = len(question) > 200 or "\n" in question or question.count(",") > 1
    if not ground.first or not counted.of_the_user or counted.qualified or told:
        return None
    if not _ONES_OWN.search(question):
        return None
    if re.search(r"\d", question) or not words_of(question).isdisjoint(words.NUMBER_WORDS):
        return None
    return f"No tool was called that could have counted {counted.number}."
