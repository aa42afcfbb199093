"""From a question to tool calls: which clauses it has, which tools they need, what comes next."""

import re
from collections.abc import Generator, Sequence
from datetime import date

from . import smalltalk, sums
from .actions import plan_for
from .clauses import Clause, cut
from .phrases import spread
from .plans import Batch, Desk, Plan, Told, run, side_by_side
from .talk import Done, Talk, Turn
from .telling import result
from .toolbox import HAND_OFF, Tool, by_name, is_named_in, pick, searchers

MOST_ASKED_BACK = 4
MOST_TURNS = 30  # that are looked through for records
LONGEST_QUESTION = 1_000  # characters that the rules read: they run in the server's own loop
SEARCH = re.compile(r"(?:search|find|look(?:ing)? (?:for|up))\b", re.I)


def act(talk: Talk, tools: Sequence[Tool], today: date, forced: bool) -> Batch | Told | None:
    """What to call, or what to say when all is done; None when no tool fits the question."""
    if not tools:
        return _rest(talk.now, tools) if talk.now.calls else None
    desk = _desk(talk, tools, today)
    desk.forced = forced
    question = _question(talk, desk, today)
    wanted = _forced_tool(talk, tools, question) if forced else None
    jobs = [(Clause(question[:LONGEST_QUESTION]), wanted)] if wanted else _jobs(question, desk)
    if not jobs:
        return _rest(talk.now, tools) if talk.now.calls else None
    choice = talk.body.get("tool_choice") or {}
    made = _own(talk.now.calls, tools)
    done = run(_whole(jobs, desk), made, bool(choice.get("disable_parallel_tool_use")))
    return _rest(talk.now, tools) if done is None else done


def _desk(talk: Talk, tools: Sequence[Tool], today: date) -> Desk:
    desk = Desk(talk, tools, today)
    for turn in talk.past[-MOST_TURNS:]:
        for done in turn.calls:
            desk.learn(done)
    return desk


def _own(calls: Sequence[Done], tools: Sequence[Tool]) -> list[Done]:
    """Without the hand-off that brought the question here: another agent made that call."""
    names = {tool.name for tool in tools}
    return [c for c in calls if c.name in names or not HAND_OFF.match(c.name)]


def _jobs(question: str, desk: Desk) -> list[tuple[Clause, Tool]]:
    """The clauses that have a tool. A question without any is no job at all."""

    def tool_for(clause: Clause) -> Tool | None:
        return pick(desk.tools, clause, _focus(clause, desk))

    def name_for(clause: Clause) -> str | None:
        tool = tool_for(clause)
        return tool.name if tool else None

    _, rest = smalltalk.heard(question[:LONGEST_QUESTION])
    clauses = cut(sums.written(rest or question[:LONGEST_QUESTION], desk.talk), name_for)
    picked = [(clause, tool) for clause in clauses if (tool := tool_for(clause))]
    jobs = [(one, tool) for clause, tool in picked for one in spread(clause, tool)]
    if not jobs and len(clauses) == 1 and SEARCH.match(clauses[0].plain):
        jobs = [(clauses[0], tool) for tool in searchers(desk.tools)[:3]]
    hand_off = next((job for job in jobs if job[1].is_hand_off), None)
    return [hand_off] if hand_off else jobs


def _focus(clause: Clause, desk: Desk) -> str:
    """The noun of a clause that has none: of the record that it names, or of what "it" is."""
    if is_named_in(desk.tools, clause):
        return ""
    named = desk.known.noun_named_in(clause.plain)
    return named or (desk.known.focus if clause.points_back else "")


def _whole(jobs: Sequence[tuple[Clause, Tool]], desk: Desk) -> Plan:
    """Reads side by side; as soon as something is written, one after the other."""
    if not any(tool.writes for _, tool in jobs) or _same_adds(jobs):
        ends = yield from side_by_side([plan_for(tool, clause, desk) for clause, tool in jobs])
    else:
        ends = yield from _in_order(jobs, desk)
    return _joined(ends)


def _in_order(
    jobs: Sequence[tuple[Clause, Tool]], desk: Desk
) -> Generator[Batch, list[Done], list[Told]]:
    """One after the other. After a failure nothing follows: "it" would be something else."""
    ends: list[Told] = []
    for at, (clause, tool) in enumerate(jobs):
        ends.append((yield from plan_for(tool, clause, desk)))
        if ends[-1].asks:
            break
        if ends[-1].failed and at + 1 < len(jobs):
            ends.append(Told("So I stopped there, and did not do the rest."))
            break
    return ends


def _same_adds(jobs: Sequence[tuple[Clause, Tool]]) -> bool:
    return len({tool.name for _, tool in jobs}) == 1 and jobs[0][1].verb == "add"


def _joined(ends: Sequence[Told]) -> Told:
    return Told(
        "\n\n".join(dict.fromkeys(end.text for end in ends)),
        " ".join(dict.fromkeys(end.thinks for end in ends if end.thinks)),
        asks=next((end.asks for end in ends if end.asks), None),
        failed=any(end.failed for end in ends),
        sources=tuple(source for end in ends for source in end.sources),
    )


# --- what was asked back ---


def _question(talk: Talk, desk: Desk, today: date) -> str:
    """The question; or the one before, when this is the answer to what was asked back."""
    asked = _asked_back(talk, desk.tools, today)
    if asked is None:
        return talk.now.question
    question, given = asked
    desk.given.update(given)
    return question


def _asked_back(
    talk: Talk, tools: Sequence[Tool], today: date, depth: int = 0
) -> tuple[str, dict[str, str]] | None:
    """The open question and all answers to it, recomputed from the turns before."""
    if not talk.past or "?" not in talk.past[-1].said or depth > MOST_ASKED_BACK:
        return None
    if _is_new(talk, tools, today):
        return None
    before = talk.before_now()
    earlier = _asked_back(before, tools, today, depth + 1)
    desk = _desk(before, tools, today)
    question = earlier[0] if earlier else before.now.question
    desk.given.update(earlier[1] if earlier else {})
    jobs = _jobs(question, desk)
    end = run(_whole(jobs, desk), _own(before.now.calls, tools)) if jobs else None
    if not isinstance(end, Told) or end.asks is None:
        return None
    return question, {**desk.given, end.asks: talk.now.question}


def _is_new(talk: Talk, tools: Sequence[Tool], today: date) -> bool:
    """A message that a tool fits by itself, or small talk, is no answer to a question."""
    heard, rest = smalltalk.heard(talk.now.question)
    if heard and not rest:
        return True
    return any(clause.own_verb for clause, _ in _jobs(talk.now.question, _desk(talk, tools, today)))


# --- tools that must be called, and histories that are not ours ---


def _forced_tool(talk: Talk, tools: Sequence[Tool], question: str) -> Tool | None:
    choice = talk.body.get("tool_choice") or {}
    if choice.get("type") == "tool":
        return by_name(tools, choice.get("name"))
    return pick(tools, Clause(question[:LONGEST_QUESTION])) or tools[0]


def _rest(turn: Turn, tools: Sequence[Tool]) -> Told:
    """Results of calls that no plan of ours has made: told as they are."""
    clause = Clause(turn.question[:LONGEST_QUESTION])
    told = [result(_tool_of(done, tools), done, clause) for done in turn.calls]
    return Told(
        "\n\n".join(dict.fromkeys(told)), "I have results: I tell them.", sources=tuple(turn.calls)
    )


def _tool_of(done: Done, tools: Sequence[Tool]) -> Tool:
    return by_name(tools, done.name) or Tool(done.name, "", {})
