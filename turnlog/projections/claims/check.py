"""Claims of an answer that nothing bears out: work that no tool did, counts, numbers and lists
that nobody told of. See docs/claims.md.

A pure fold over the events of one turn, and of those shortly before it. Better silent than wrong:
what is not plainly a claim, or may be founded on something that is not seen here, is passed over.
The work grows with the length of the answer plus that of the results, and both have a bound.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.projections.claims import deeds, sense
from turnlog.projections.claims import words as w
from turnlog.projections.claims.deeds import Claim, claims_of
from turnlog.projections.claims.grounds import Ground
from turnlog.projections.claims.records import (
    Counted,
    Listed,
    counts_of,
    is_known,
    lists_at,
    may_list,
    may_state,
    misses,
)
from turnlog.projections.claims.results import Held
from turnlog.projections.claims.text import (
    MOST_TEXT,
    Phrases,
    Sentence,
    first_word,
    sentences,
    words_of,
)

MOST_FINDINGS = 20  # of a turn
MOST_BEFORE = 200  # events before the turn that are looked at
_LETTERS = Phrases(w.LETTERS)


class Finding(NamedTuple):
    """A claim that is not founded, in the answer's words, and why."""

    message_id: str
    claim: str
    why: str


def may_claim(text: str) -> bool:
    """Whether it is worth while to look closer. Cheap, for every answer."""
    vocabulary = frozenset(words_of(text[:MOST_TEXT]))
    if not vocabulary.isdisjoint(deeds.WORDS):
        return True
    return may_state(vocabulary) or may_list(vocabulary)


def unfounded(turn: Sequence[Stamped], before: Sequence[Stamped] = ()) -> list[Finding]:
    """What the answers of this turn claim and its events do not bear out.

    `before`: the events of the session just before it; the last MOST_BEFORE of them count.
    """
    ground = Ground(turn, before[-MOST_BEFORE:])
    findings = (
        Finding(message.message_id, claim, why)
        for message in ground.answers
        for claim, why in _unfounded_in(message.content[:MOST_TEXT], ground)
    )
    return list(islice(findings, MOST_FINDINGS))


def by_turn(log: Sequence[Stamped]) -> list[tuple[Stamped, Finding]]:
    """The findings of every turn of a log, each with the message that it is about."""
    turns: dict[str, list[Stamped]] = {}
    starts: dict[str, int] = {}
    for place, entry in enumerate(log):
        starts.setdefault(entry.turn_id, place)
        turns.setdefault(entry.turn_id, []).append(entry)
    return [
        (next(entry for entry in turn if _is_message(entry, finding.message_id)), finding)
        for turn_id, turn in turns.items()
        for finding in unfounded(turn, log[max(starts[turn_id] - MOST_BEFORE, 0) : starts[turn_id]])
    ]


def _is_message(entry: Stamped, message_id: str) -> bool:
    return isinstance(entry.event, k.Message) and entry.event.message_id == message_id


def _unfounded_in(text: str, ground: Ground) -> Iterator[tuple[str, str]]:
    """Each sentence that claims too much, once, and the first reason against it."""
    if not may_claim(text) or ground.writes_for_the_user:
        return
    read = list(sentences(text))
    if any(map(_opens_a_letter, read)):
        return
    shown = "```" in text  # then "I added a function" may be about what is shown
    seen: set[str] = set()
    for place, sentence in enumerate(read):
        if sentence.text in seen:
            continue
        seen.add(sentence.text)
        claims = (c for c in claims_of(sentence) if not (shown and c.deed.of_records))
        reasons = chain(
            (_why_not(claim, ground) for claim in claims),
            (_why_not_so_many(counted, ground) for counted in counts_of(sentence)),
            (_why_not_these(listed, ground) for listed in lists_at(read, place)),
        )
        if why := next(filter(None, reasons), None):
            yield sentence.text, why


def _opens_a_letter(sentence: Sentence) -> bool:
    start = first_word(sentence.words, 0, len(sentence.words))
    return sentence.begins_line and bool(_LETTERS.at(sentence.words, start))


# work


def _why_not(claim: Claim, ground: Ground) -> str | None:
    """Why the claim is not founded; None if it is, or if nobody can tell."""
    if not sense.is_about_records(claim, ground.question) or not _is_of_this_turn(claim, ground):
        return None
    if not ground.done(claim.kind):
        return f"Nothing was {claim.kind} in this turn: {_what_happened(claim, ground)}."
    return _why_not_many(claim, ground) or _why_not_this(claim, ground)


def _what_happened(claim: Claim, ground: Ground) -> str:
    if not ground.calls:
        return "no tool was called"
    if tried := ground.tried(claim.kind):
        return f"{tried.name} did not succeed"
    return "there was only " + ground.names


def _is_of_this_turn(claim: Claim, ground: Ground) -> bool:
    """Whether it is about work of this turn, and not about what somebody did at another time."""
    if ground.tried(claim.kind):
        return not sense.refers_back(claim)
    if sense.refers_back(claim) or sense.was_asked_about(claim, ground.question):
        return False
    wanted = sense.was_wanted(claim, ground.question)
    if claim.by_the_model:
        return ground.first or wanted or sense.is_fresh(claim)
    return wanted and not sense.is_dated(claim) and not _is_told_by(claim, ground.results)


def _is_told_by(claim: Claim, results: Held) -> bool:
    """Whether a result speaks of such work: a status, a date of creation."""
    return results.cut or not results.words.isdisjoint(deeds.PAST[claim.kind])


def _why_not_many(claim: Claim, ground: Ground) -> str | None:
    """`deleted 3 tasks`, and there were two calls that deleted one each."""
    many = sense.many(claim)
    if many is None or many <= ground.written:
        return None
    held = ground.done_one_by_one(claim.kind)
    if held is None or held.cut or many in held.all_numbers:
        return None
    return f"{many} were claimed, {len(ground.done(claim.kind))} were {claim.kind}."


def _why_not_this(claim: Claim, ground: Ground) -> str | None:
    """`created invoice INV-1001`: the number of what is new can only come from a tool."""
    new = sense.new_id(claim) if claim.kind == "created" else None
    if new is None or new.lower() in ground.known or ground.elsewhere:
        return None
    return f"{new!r} is in no tool result, argument or question of this turn."


# records


def _why_not_so_many(counted: Counted, ground: Ground) -> str | None:
    """`you have 3 tasks`, and no result holds a 3."""
    question, many = ground.question, counted.number
    if ground.elsewhere or many in question.numbers:
        return None
    if not ground.succeeded:
        if _is_told_before(counted, ground) or not _is_from_nowhere(counted, ground):
            return None
        return f"No tool was called that could have counted {many}."
    if not misses(counted, ground.results, len(ground.succeeded), ground.written, question):
        return None
    return f"No tool result of this turn holds a count of {many}."


def _is_from_nowhere(counted: Counted, ground: Ground) -> bool:
    """Whether it is a count of the user's records that the user did not give."""
    question = ground.question
    if not counted.of_the_user or (counted.qualified and not counted.by_state):
        return False
    if question.tells_much or question.has_digits or question.numbers:
        return False
    unasked = counted.unasked or counted.by_state or question.greets
    return unasked or question.is_of_ones_own


def _is_told_before(counted: Counted, ground: Ground) -> bool:
    """Whether an earlier turn may have told of so many; who does not see it all says yes."""
    before = ground.before
    if not before.is_whole or counted.number in before.numbers:
        return True
    calls, written = len(before.calls), before.written
    return bool(calls) and not misses(counted, before.results, calls, written, ground.question)


def _why_not_these(listed: Listed, ground: Ground) -> str | None:
    """`Your tasks are: …`, and nobody has ever told of them."""
    question = ground.question
    if ground.elsewhere or not ground.before.is_whole or ground.looked_up:
        return None
    if question.tells_much or question.asks_for_ideas:
        return None
    if not (listed.unasked or question.greets or question.is_of_ones_own):
        return None
    if is_known(listed, ground.known) or is_known(listed, ground.before.words):
        return None
    return f"No tool was called that could have told of these {listed.record}."
