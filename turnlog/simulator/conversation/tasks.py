"""Tasks: what is said about them comes from the list; which one is meant is never guessed."""

import re
from collections.abc import Generator

from ..script import Json
from .patterns import unquoted
from .plans import Batch, Desk, Plan
from .talk import Done
from .tools import Ended
from .wording import MOST_ROWS, counted, failure, listed, name_of, written

ORDINALS = ("first", "second", "third", "fourth", "fifth", "last")
ORDINAL = re.compile(rf"(?:the )?({'|'.join(ORDINALS)})(?: one| task)?", re.I)
PRONOUN = re.compile(r"(?:it|that|this)(?: one| task)?", re.I)
SEVERAL = re.compile(r"(?: and|,) (?:an?|another|the) (?:task|todo|to-do|reminder)\b", re.I)
LIST = re.compile(r",? and |, ?", re.I)
Listing = Generator[Batch, list[Done], tuple[list[Json], str]]


def show(desk: Desk, status: str = "", is_count: bool = False) -> Plan:
    rows, noun = yield from _listed(desk, status)
    head = f"You have {counted(len(rows), noun)}"
    return f"{head}." if is_count else listed(head, "task", rows)


def _listed(desk: Desk, status: str = "", text: str | None = None) -> Listing:
    """The tasks of that status, and what they are called."""
    (done,) = yield Batch([desk.call("list_tasks")], text)
    if done.failed:
        raise Ended(failure(done))
    if done.rows is None or any("id" not in row for row in done.rows):  # cut: not an empty list
        raise Ended("I cannot read the list of tasks, so I did nothing.")
    if not status:
        return done.rows, "task"
    is_completed = status.lower() in ("completed", "done", "finished")
    rows = [row for row in done.rows if row.get("completed") is is_completed]
    return rows, "completed task" if is_completed else "open task"


def add(desk: Desk, title: str) -> Plan:
    if SEVERAL.search(title):
        raise Ended("Is that one task or several? Please add one at a time.")
    return (yield from _written(desk, "add_task", title=title))


def add_if_one(desk: Desk, title: str) -> Plan:
    """A title after "task" alone: a comma may part several."""
    if "," in title:
        raise Ended(_one_or_several(title))
    return (yield from add(desk, title))


def add_several(desk: Desk, titles: str) -> Plan:
    calls = [desk.call("add_task", title=title) for title in _titles(titles)]
    done = yield Batch(calls, f"I will create {counted(len(calls), 'task')}.")
    return "\n".join(failure(one) if one.failed else written(one) for one in done)


def add_to_list(desk: Desk, titles: str) -> Plan:
    if "," not in titles and len(_titles(titles)) > 1:
        raise Ended(_one_or_several(titles))
    return (yield from add_several(desk, titles))


def _titles(titles: str) -> list[str]:
    """One in quotes, or those between the commas."""
    title = unquoted(titles)
    return [title] if title != titles else [one for one in LIST.split(titles) if one]


def _one_or_several(titles: str) -> str:
    several = LIST.sub(", ", titles)
    return f"Is that one task or several? Say: add a task called {titles}, or: add tasks: {several}"


def complete(desk: Desk, task: str) -> Plan:
    id = yield from _id(desk, task, "complete")
    return (yield from _written(desk, "complete_task", id=id))


def delete(desk: Desk, task: str) -> Plan:
    id = yield from _id(desk, task, "delete")
    return (yield from _written(desk, "delete_task", id=id))


def rename(desk: Desk, task: str, title: str) -> Plan:
    id = yield from _id(desk, task, "rename")
    return (yield from _written(desk, "update_task", id=id, title=title))


def _written(desk: Desk, name: str, **arguments: str | int) -> Plan:
    (done,) = yield Batch([desk.call(name, **arguments)])
    if done.failed:
        raise Ended(failure(done))
    return written(done)


def _id(desk: Desk, task: str, verb: str) -> Generator[Batch, list[Done], int]:
    """By its id, as "it", by its place in the list just shown, or by its whole title."""
    if number := re.fullmatch(r"#?(\d{1,15})", task):
        return int(number[1])
    rows: list[Json] = []
    if PRONOUN.fullmatch(task):
        meant = [row for row in [desk.last("task")] if row]
    elif ordinal := ORDINAL.fullmatch(task):
        meant = _just_shown(desk, ordinal[1].lower())
    else:
        rows, _ = yield from _listed(desk)
        meant = [row for row in rows if name_of(row).lower() == task.lower()]
        rows = meant or [row for row in rows if task.lower() in name_of(row).lower()] or rows
    if len(meant) != 1 or "id" not in meant[0]:
        raise Ended(listed(f"Which task should I {verb}? Say its title or its id", "task", rows))
    id: int = meant[0]["id"]
    return id


def _just_shown(desk: Desk, ordinal: str) -> list[Json]:
    """Only out of the whole list that the answer before this one shows: places change."""
    before = desk.talk.past[-1] if desk.talk.past else None
    rows = before.calls[-1].rows if before and before.calls else None
    if not before or not rows or len(rows) > MOST_ROWS:
        return []
    if listed(f"You have {counted(len(rows), 'task')}", "task", rows) not in before.answer:
        return []
    return rows[-1:] if ordinal == "last" else rows[ORDINALS.index(ordinal) :][:1]


def delete_all(desk: Desk, status: str = "") -> Plan:
    """List, delete each, list again: what is said in the end is what the second list shows."""
    rows, noun = yield from _listed(desk, status, "Let me see which tasks there are.")
    if not rows:
        return f"You have no {noun}s to delete."
    calls, many = [desk.call("delete_task", id=row["id"]) for row in rows], len(rows)
    each = "it" if many == 1 else "each of them"
    done = yield Batch(calls, f"I found {counted(many, noun)}. I will delete {each}.")
    failed = [one for one in done if one.failed]
    text = f"I deleted {'all ' if many > 1 else ''}{counted(many, noun)}."
    if failed:
        rest = failure(failed[0], f"delete {counted(len(failed), noun)}")
        text = f"I deleted {many - len(failed)} of {counted(many, noun)}. {rest}"
    try:
        left, _ = yield from _listed(desk, text="Let me check what is left.")
    except Ended:
        return f"{text} I could not verify it: the list is not available now."
    if not left:
        return f"{text} Verified: your task list is now empty."
    return listed(f"{text} Verified: {counted(len(left), 'task')} left", "task", left)
