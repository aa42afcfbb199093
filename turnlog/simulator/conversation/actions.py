"""The plans: how one clause is carried out with one tool.

`plan_for` picks the plan; each of the others reads as the steps that it takes.
"""

from collections.abc import Generator
from typing import Any

from ..script import Json
from .clauses import Clause
from .filling import fill
from .plans import Batch, Desk, Missing, Plan, Told, Wanted
from .records import Record, of_result, said
from .schema import words_of
from .talk import Done
from .telling import act, acted, asked_fields, failure, listing, result, rows_told
from .toolbox import HAND_OFF, Tool, lister
from .words import counted, is_verb, plural


def plan_for(tool: Tool, clause: Clause, desk: Desk) -> Plan:
    try:
        if tool.is_hand_off:
            return (yield from _hand_over(tool, clause, desk))
        own = _own_id(tool)
        if own and _means_all(clause, tool) and lister(desk.tools, tool.head):
            return (yield from _for_each(tool, own, clause, desk))
        return (yield from _once(tool, clause, desk))
    except Missing as missing:
        thinks = f"{tool.name} needs {missing.parameter}, and I was not told it. I have to ask."
        return Told(missing.question, thinks, asks=missing.parameter)


def _means_all(clause: Clause, tool: Tool) -> bool:
    """`delete all tasks`, and also `delete my tasks`: a plural, and no name."""
    rest = [word for word in said(clause.plain, tool.head) if not is_verb(word)]
    return clause.everything or (clause.is_plural(tool.head) and not rest)


def _own_id(tool: Tool) -> str | None:
    """The parameter that says which record is meant, of a tool that needs only that."""
    if not tool.writes or tool.verb == "add":
        return None
    ids = [n for n in tool.required if tool.kind(n) == "reference" and tool.noun_of(n) == tool.head]
    return ids[0] if len(ids) == 1 and len(tool.required) == 1 else None


def _once(tool: Tool, clause: Clause, desk: Desk) -> Plan:
    if not tool.writes and (known := _known(tool, clause, desk)):
        return Told(known, "An earlier result holds this already.")
    arguments = yield from fill(tool, clause, desk)
    batch = Batch((Wanted(tool.name, arguments),), _opening(tool, arguments), _thought(tool))
    (done,) = yield batch
    desk.learn(done)
    thinks = f"{tool.name} {'failed' if done.failed else 'answered'}: I tell the user what it says."
    return Told(result(tool, done, clause), thinks, sources=(done,), failed=done.failed)


def _known(tool: Tool, clause: Clause, desk: Desk) -> str | None:
    """A field of a record that was told before: "the city of the second one"."""
    found = desk.known.meant(tool.head, clause.plain) if clause.points_back else []
    return asked_fields(tool, clause, found[0].fields) if len(found) == 1 else None


def _for_each(tool: Tool, own: str, clause: Clause, desk: Desk) -> Plan:
    """List, do it to each, list again: what is said in the end is what the second list shows."""
    listing_tool = lister(desk.tools, tool.head)
    assert listing_tool is not None  # plan_for has looked
    before = yield from _listed(listing_tool, clause, desk, again=False)
    if before.failed:
        return Told(failure(listing_tool, before))
    if listing(before) is None:  # cut, or no list at all: that is not an empty one
        return Told(
            f"I cannot read the list of {plural(tool.label)}, so I did nothing.", failed=True
        )
    records = [r for r in of_result(before, tool.head) if _is_meant(r, tool, clause)]
    if not records:
        return Told(f"There are no {plural(tool.label)} to {act(tool.verb)}.")
    many = counted(len(records), tool.label)
    calls = tuple(Wanted(tool.name, {own: record.field(own)}) for record in records)
    says = (
        f"I found {many}. I will {act(tool.verb)} {'it' if len(records) == 1 else 'each of them'}."
    )
    done = yield Batch(calls, says, f"{many}: one call of {tool.name} for each.")
    after = yield from _listed(listing_tool, clause, desk, again=True)
    return Told(
        _verified(tool, records, done, after), "I compare both lists before I say anything."
    )


def _listed(
    tool: Tool, clause: Clause, desk: Desk, again: bool
) -> Generator[Batch, list[Done], Done]:
    says = (
        "Let me check what is left."
        if again
        else f"Let me see which {plural(tool.label)} there are."
    )
    thinks = (
        f"I verify it with {tool.name} instead of assuming that it worked."
        if again
        else f"I need the ids of all {plural(tool.label)}, so I call {tool.name} first."
    )
    arguments: Json = yield from fill(tool, Clause("list all"), desk)
    (done,) = yield Batch((Wanted(tool.name, arguments),), says, thinks)
    desk.learn(done)
    return done


def _is_meant(record: Record, tool: Tool, clause: Clause) -> bool:
    """`delete all completed tasks`: only those. What is completed already is left alone."""
    completed = record.fields.get("completed")
    if not isinstance(completed, bool):
        return True
    if tool.verb == "complete":
        return not completed
    said = set(clause.nouns)
    if said & {"complete", "completed"}:
        return completed
    return not completed if said & {"open", "unfinished", "pending", "incomplete"} else True


def _verified(tool: Tool, records: list[Record], done: list[Done], after: Done) -> str:
    failed = [one for one in done if one.failed]
    succeeded = len(done) - len(failed)
    many = counted(succeeded, tool.label)
    said = f"I {acted(tool.verb)} {'all ' if not failed and succeeded > 1 else ''}{many}."
    if failed:
        some = f"I {acted(tool.verb)} {succeeded} of {counted(len(done), tool.label)}. "
        rest = f"{'the other ' if succeeded else 'the '}{counted(len(failed), tool.label)}"
        said = (some if succeeded else "") + failure(tool, failed[0], rest)
    return f"{said} {_checked(tool, records, after)}"


def _checked(tool: Tool, records: list[Record], after: Done) -> str:
    listed = None if after.failed else listing(after)
    if listed is None:
        return "I could not verify it: the list is not available now."
    rows, total = listed
    if tool.verb != "remove":
        return f"Verified: {_state(tool, rows, total)}."
    if not total:
        return f"Verified: your {tool.label} list is now empty."
    return f"Verified: {counted(total, tool.label)} left:\n\n{rows_told(rows[:10])}"


def _state(tool: Tool, rows: list[Any], total: int) -> str:
    flags = [row["completed"] for row in rows if isinstance(row, dict) and "completed" in row]
    if tool.verb != "complete" or not flags:
        return f"there are {counted(total, tool.label)} now"
    left = flags.count(False)
    return f"{counted(left, tool.label)} still open" if left else "none is open any more"


def _hand_over(tool: Tool, clause: Clause, desk: Desk) -> Plan:
    """The request goes on to another agent, whole."""
    target = HAND_OFF.sub("", tool.name).replace("_", " ")
    question = desk.talk.now.question
    arguments: Json = {n: question for n in tool.required if tool.kind(n) == "text"}
    says, thinks = f"The {target} agent can help here.", f"This is for the {target} agent."
    (done,) = yield Batch((Wanted(tool.name, arguments),), says, thinks)
    if done.failed:
        return Told(f"I could not hand this over to the {target} agent: {done.text}")
    trivial = not done.text or "transfer" in done.text.lower() or len(done.text) < 3
    return Told(f"I have handed this over to the {target} agent." if trivial else done.text)


# fmt: off
# What is said, and thought, before a tool that only reads.
READING = {
    "list":      ("Let me look at the {many}.",    "The user wants to see the {many}"),
    "find":      ("Let me look for the {one}.",    "The user asks for the {one}"),
    "calculate": ("Let me calculate that.",        "This is arithmetic, which tools do better"),
    None:        ("Let me check the {one}.",       "The user wants to know the {one}"),
}
# fmt: on


def _opening(tool: Tool, arguments: Json) -> str:
    if not tool.writes:
        return READING[tool.verb][0].format(one=tool.label, many=plural(tool.label))
    return f"I will {act(tool.verb)} the {tool.label}{_about(tool, arguments)}."


def _about(tool: Tool, arguments: Json) -> str:
    """The name that it gets, or for whom it is."""
    for name, value in arguments.items():
        *whose, last = words_of(name).split() or [""]
        if last in ("name", "title", "subject") and isinstance(value, str) and len(value) < 80:
            is_own = not whose or whose[0] in ("display", "current")
            return f" “{value}”" if is_own else f" for “{value}”"
    return ""


def _thought(tool: Tool) -> str:
    wants = f"The user wants me to {act(tool.verb)} a {tool.label}"
    if not tool.writes:
        wants = READING[tool.verb][1].format(one=tool.label, many=plural(tool.label))
    return f"{wants}: I call {tool.name}."
