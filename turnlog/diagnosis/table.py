"""A comparison as a table for people: one line for each field, its fate, and where it is."""

from collections.abc import Iterator

from turnlog.diagnosis.comparison import Comparison, Row

ORDER = ("LOST", "lost", "preserved")  # what matters first


def lines(comparison: Comparison) -> Iterator[str]:
    """The whole table of a capture."""
    yield f"\n{comparison.name}"
    width = max((len(row.path) for row in comparison.fields), default=0)
    for row in sorted(comparison.fields, key=lambda row: ORDER.index(row.fate)):
        yield f"  {row.fate:9}  {row.path:{width}}  {row.count:5}  {_details(row)}"
    for event, fields in _added(comparison).items():
        yield f"  {'added':9}  {event}: {', '.join(fields)}"
    yield from (f"  {'WRONG':9}  {problem}" for problem in comparison.problems)
    yield f"  {summary(comparison)}"


def summary(comparison: Comparison) -> str:
    return (
        f"{comparison.count('preserved')} preserved, {comparison.count('lost')} lost by name,"
        f" {comparison.count('LOST')} lost without a name, {len(comparison.added)} added"
    )


def _details(row: Row) -> str:
    """The paths that hold it, and the reasons for what is lost."""
    shown = sorted(row.wire - row.log)
    where = [", ".join(sorted(row.log)), f"shown as {', '.join(shown)}" if shown else ""]
    why = ["no reason is known"] if row.faults else sorted(row.reasons)
    return "; ".join(filter(None, [*where, *why]))


def _added(comparison: Comparison) -> dict[str, list[str]]:
    """Our own fields by event. Fields of the envelope, which all events have, come once."""
    events: dict[str, list[str]] = {}
    for path in comparison.added:
        event, _, name = path.partition(".")
        events.setdefault(event, []).append(name)
    every = [name for name in events.get("message", []) if all(name in e for e in _shown(events))]
    rest = {event: [n for n in names if n not in every] for event, names in events.items()}
    return {"every event": every} | {event: names for event, names in rest.items() if names}


def _shown(events: dict[str, list[str]]) -> list[list[str]]:
    return [names for names in events.values() if "eventId" in names]
