"""Tables beside the log: each row is one that the log would write again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.clock import seconds_between
from turnlog.events.grammar import GOES_ON
from turnlog.events.usage import searches_of
from turnlog.ports import OPEN, Evidence, Turn
from turnlog.projections import tables

Row = dict[str, Any]
# Seconds that a row of a turn or a session may be away from its first event, at most. They may be
# of two nodes, whose clocks differ.
AT_ONCE = 60.0


def table_mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    expected = tables.fold(evidence.session.user_id, log)
    for table, wanted in expected.items():
        keys = tables.KEYS[table]
        found = {tuple(row[key] for key in keys): row for row in evidence.tables[table]}
        for key in wanted.keys() | found.keys():
            if not _is_the_same(wanted.get(key), found.get(key)):
                what = difference(wanted.get(key), found.get(key))
                yield f"{table} {'/'.join(map(str, key))}: {what}"


def _is_the_same(wanted: Row | None, found: Row | None) -> bool:
    """Rows of SQLite that are older than `plain` may have a NUL."""
    return wanted == found or (found is not None and wanted == tables.plain(found))


def turn_mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    """A turn's row says where it began and how it ended; so does the log."""
    events: defaultdict[str, list[Stamped]] = defaultdict(list)
    for entry in log:
        events[entry.turn_id].append(entry)
    turns = {turn.id: turn for turn in evidence.turns}
    yield from (f"turns {turn_id}: the row is missing" for turn_id in events.keys() - turns.keys())
    for turn in evidence.turns:
        kept = events.get(turn.id)
        if turn.user_id != evidence.session.user_id or turn.session_id != evidence.session.id:
            yield f"turns {turn.id}: it is of another user or session"
        if not kept or kept[0].seq != turn.first_seq:
            yield f"turns {turn.id}: it does not begin at number {turn.first_seq}"
        elif turn.state not in OPEN and turn.state != _ended(kept):
            yield f"turns {turn.id}: it is {turn.state}, the log says {_ended(kept)}"
        elif turn.state in OPEN and (why := _cannot_be_open(turn, kept, log)):
            yield f"turns {turn.id}: it is {turn.state}, {why}"
        else:
            yield from _began_otherwise(turn, kept[0])


def _cannot_be_open(turn: Turn, kept: Sequence[Stamped], log: Sequence[Stamped]) -> str | None:
    newest = [entry.turn_id for entry in log if isinstance(entry.event, k.UserMessageSent)][-1:]
    if [turn.id] != newest:
        return "and another one began after it"
    ended = _ended(kept)
    if ended == "failed" or (ended == "done" and turn.state == "waiting"):
        return f"the log says {ended}"
    return None


def _began_otherwise(turn: Turn, first: Stamped) -> Iterator[str]:
    """When it began and for which request, as far as the log says so."""
    if turn.started_at and not -1 <= seconds_from(turn.started_at, first.envelope.time) < AT_ONCE:
        yield f"turns {turn.id}: started_at not as the log has it"
    event = first.event
    request_id = event.request_id if isinstance(event, k.UserMessageSent) else UNSET
    if request_id is not UNSET and request_id != turn.request_id:
        yield f"turns {turn.id}: request_id not as the log has it"


def _ended(kept: Sequence[Stamped]) -> str:
    match [entry.event for entry in kept if not entry.envelope.internal][-1]:
        case k.Error():
            return "failed"
        case k.Message() as message if not _goes_on(message):
            return "done"
    return "unfinished"


def _goes_on(message: k.Message) -> bool:
    """A model may say that it asks for a tool, and ask for none: then nothing follows."""
    calls = any(block["type"] == "tool_use" for block in message.blocks)
    return message.stop_reason in GOES_ON and (calls or message.stop_reason != "tool_use")


def session_mismatches(
    evidence: Evidence, log: Sequence[Stamped], erased: set[str]
) -> Iterator[str]:
    """`erased`: types of events of which some are gone, so that nothing can be counted."""
    session = evidence.session
    if log and seconds_from(log[0].envelope.time, session.created_at) > AT_ONCE:
        yield f"sessions {session.id}: created_at is after its first event"
    moves = [entry.event.anchor for entry in log if isinstance(entry.event, k.HistoryAnchored)]
    anchor = moves[-1] if moves else 0
    if "history_anchored" not in erased and anchor != evidence.session.anchor:
        yield f"sessions {evidence.session.id}: anchor not as the log has it"
    made = sum(
        searches_of(entry.event.reported) for entry in log if isinstance(entry.event, k.Message)
    )
    if "message" not in erased and made != evidence.session.searches:
        yield f"sessions {evidence.session.id}: searches not as the log has them"


def difference(wanted: Row | None, found: Row | None) -> str:
    if found is None:
        return "the row is missing"
    if wanted is None:
        return "no event wrote this row"
    names = [name for name in wanted if wanted[name] != found.get(name)]
    return f"{', '.join(names)} not as the log has it"


def seconds_from(moment: str, later: str) -> float:
    """Between the two; without end where one of them is no time, because somebody changed it."""
    try:
        return seconds_between(moment, later)
    except (ValueError, TypeError):
        return inf
