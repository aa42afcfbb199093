"""What claims may be founded on: the calls of a turn and their results, the user's question,
and what the session spoke of before.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.projections.claims.deeds import ASKED
from turnlog.projections.claims.question import Question
from turnlog.projections.claims.results import MOST_CHARACTERS, Held, names_one
from turnlog.projections.claims.text import MOST_TEXT, numbers_in, words_of
from turnlog.projections.claims.words import DEEDS
from turnlog.projections.tool_words import VERBS
from turnlog.projections.tool_words import words_of as words_in_name

MOST_ANSWERS = 10  # of a turn that are checked: the last ones
MOST_NAMES = 10  # of tools in a reason
_UNFINISHED = ("cancelled", "interrupted")
_VERBS = VERBS[True] | VERBS[False]


class Call(NamedTuple):
    """A tool that was called, and what became of it."""

    name: str
    args: dict[str, Any]
    succeeded: bool
    result: Any

    @property
    def reads(self) -> bool:
        """Whether its name says that it changes nothing."""
        verbs = (word in VERBS[False] for word in words_in_name(self.name) if word in _VERBS)
        return next(verbs, False)

    @property
    def writes(self) -> bool:
        """Whether its name says that it changes something."""
        verbs = (word in VERBS[True] for word in words_in_name(self.name) if word in _VERBS)
        return next(verbs, False)


class Ground:
    """What the turn's claims may be founded on. Each part is read when it is first asked for."""

    def __init__(self, turn: Sequence[Stamped], before: Sequence[Stamped]) -> None:
        self._turn = turn
        self.first = bool(turn) and turn[0].position == 0  # nothing came before this turn
        self.before = Before(before, first=self.first)
        self.calls = calls_of(turn)
        self.done = cache(self._done)
        self.tried = cache(self._tried)
        self.done_one_by_one = cache(self._done_one_by_one)

    @property
    def answers(self) -> list[k.Message]:
        shown = (entry.event for entry in self._turn if not entry.envelope.internal)
        messages = [event for event in shown if isinstance(event, k.Message)]
        return [m for m in messages[-MOST_ANSWERS:] if m.stop_reason not in _UNFINISHED]

    @cached_property
    def _request(self) -> str:
        events = (entry.event for entry in self._turn)
        texts = (event.content for event in events if isinstance(event, k.UserMessageSent))
        return "\n".join(texts)[:MOST_TEXT]

    @cached_property
    def question(self) -> Question:
        return Question(self._request)

    @cached_property
    def succeeded(self) -> list[Call]:
        return [call for call in self.calls if call.succeeded]

    @cached_property
    def written(self) -> int:
        return sum(not call.reads for call in self.succeeded)

    @cached_property
    def names(self) -> str:
        """Of the tools that were called."""
        names = list(dict.fromkeys(call.name for call in self.calls))
        return ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")

    @cached_property
    def results(self) -> Held:
        return Held(call.result for call in self.succeeded)

    @cached_property
    def looked_up(self) -> bool:
        """Whether a call of this turn may have told of records: it did not only write, and it
        brought something back.
        """
        returned = [call.result for call in self.succeeded if not call.writes]
        return bool(returned) and not Held(returned).says_nothing

    @cached_property
    def known(self) -> frozenset[str]:
        """Every word that a result, an argument, or the user's question holds."""
        return frozenset(self.results.words | self._arguments.words).union(words_of(self._request))

    @cached_property
    def _arguments(self) -> Held:
        return Held(call.args for call in self.calls)

    @cached_property
    def elsewhere(self) -> bool:
        """Whether the answer had sources that are not read here: files, searches of the web."""
        unread = self.results.cut or self._arguments.cut
        return unread or _had_other_sources(self._turn)

    @cached_property
    def writes_for_the_user(self) -> bool:
        """Whether words were asked for, and no work."""
        return self.question.asks_for_words and all(call.reads for call in self.calls)

    def _done(self, kind: str) -> list[Call]:
        tools = frozenset(DEEDS[kind].tools.split())
        return [call for call in self.succeeded if does(call, tools)]

    def _tried(self, kind: str) -> Call | None:
        """The last call that did not succeed and whose name says just this."""
        failed = (call for call in reversed(self.calls) if not call.succeeded)
        return next((call for call in failed if _says(call, kind)), None)

    def _done_one_by_one(self, kind: str) -> Held | None:
        """What the calls that did it hold, if each did it to one thing."""
        done = self.done(kind)
        if not all(map(is_for_one, done)):
            return None
        return Held(value for call in done for value in (call.args, call.result))


class Before:
    """What the session spoke of before the turn: what tools returned, and what was said.

    Whoever repeats it is right to. An answer that was wrong was noted in its own turn.
    """

    def __init__(self, events: Sequence[Stamped], *, first: bool) -> None:
        self._events = events
        self._reaches_start = first or (bool(events) and events[0].position == 0)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all of it is seen here, so that what it lacks was never spoken of."""
        if not self._reaches_start or _had_other_sources(self._events):
            return False
        return not self.results.cut and sum(map(len, self._texts)) <= MOST_CHARACTERS

    @cached_property
    def calls(self) -> list[Call]:
        return [call for call in calls_of(self._events) if call.succeeded]

    @cached_property
    def written(self) -> int:
        return sum(not call.reads for call in self.calls)

    @cached_property
    def results(self) -> Held:
        return Held(value for call in self.calls for value in (call.result, call.args))

    @cached_property
    def _texts(self) -> list[str]:
        events = (entry.event for entry in self._events)
        return [e.content for e in events if isinstance(e, k.UserMessageSent | k.Message)]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.results.words).union(*map(words_of, self._texts))

    @cached_property
    def numbers(self) -> frozenset[int]:
        return numbers_in(self.words)


def _had_other_sources(events: Iterable[Stamped]) -> bool:
    """Files and searches of the web, which are not read here."""
    for entry in events:
        match entry.event:
            case k.UserMessageSent(files=[_, *_]):
                return True
            case k.Message(blocks=blocks):
                if any(block["type"] == "server_tool_use" for block in blocks):
                    return True
    return False


def calls_of(turn: Iterable[Stamped]) -> list[Call]:
    """Each call with its result. A write in doubt counts as done once a person has said so."""
    events = [entry.event for entry in turn if not _is_handover(entry)]
    results = {e.tool_use_id: e for e in events if isinstance(e, k.ToolResult)}
    settled = {e.tool_use_id for e in events if isinstance(e, k.ToolSettled) and e.happened}
    edited = dict(_edited(events))
    return [
        Call(
            e.tool_name,
            edited.get(e.tool_use_id, e.args),
            e.tool_use_id in settled or _succeeded(results.get(e.tool_use_id)),
            result.result if (result := results.get(e.tool_use_id)) else None,
        )
        for e in events
        if isinstance(e, k.ToolUse)
    ]


def _is_handover(entry: Stamped) -> bool:
    return entry.envelope.internal and isinstance(entry.event, k.ToolUse)


def _succeeded(result: k.ToolResult | None) -> bool:
    return result is not None and result.success and not result.in_doubt


def _edited(events: Iterable[Event]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments that a person changed, by call."""
    tools: dict[str, str] = {}  # by approval
    for event in events:
        match event:
            case k.ApprovalRequested(approval_id=approval, tool_use_id=tool):
                tools[approval] = tool
            case k.ApprovalResolved(approval_id=approval, args=args):
                if args is not UNSET and approval in tools:
                    yield tools[approval], args


def does(call: Call, tools: frozenset[str]) -> bool:
    """Whether the call may be such work. A name that says nothing may be any work."""
    words = words_in_name(call.name)
    for word in words:
        if word in tools or word in VERBS[True]:
            return bool(tools & {*words, *_short(call.args)})
        if word in VERBS[False]:
            return False
    return True


def is_for_one(call: Call) -> bool:
    """Whether its arguments name the one thing that it was for, and no other."""
    named = any(names_one(name) or name in ("name", "title") for name in call.args)
    return named and not any(isinstance(value, list | dict) for value in call.args.values())


def _says(call: Call, kind: str) -> bool:
    """Whether a word of the call's name asks for such work."""
    kinds = (ASKED.all([word]) for word in words_in_name(call.name))
    return any(kind == each for places in kinds for _, _, each in places)


def _short(args: dict[str, Any]) -> Iterator[str]:
    """Arguments of one word, such as `{"action": "delete"}`."""
    return (v.lower() for v in args.values() if isinstance(v, str) and v.isalpha())
