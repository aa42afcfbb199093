"""The parts of docs/scale.md that tools write, and the costs that were measured."""

import json
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "scale.md"
COSTS = Path(__file__).parent / "costs.json"
START, END = "<!-- measured: {} -->", "<!-- end -->"


def costs() -> dict[str, float]:
    """Of a turn, and of a socket that is open: see simulation.py."""
    return dict(json.loads(COSTS.read_text()))


def note_costs(**measured: float) -> None:
    COSTS.write_text(json.dumps(costs() | measured, indent=2) + "\n")


def part(place: str) -> str:
    return _split(place)[1].strip()


def put(place: str, text: str) -> None:
    """In the place of what was measured before."""
    before, _, after = _split(place)
    PAGE.write_text(f"{before}\n\n{text}\n\n{after}")


def _split(place: str) -> tuple[str, str, str]:
    start = START.format(place)
    before, found, rest = PAGE.read_text().partition(start)
    assert found, f"there is no {start} in {PAGE}"
    text, found, after = rest.partition(END)
    assert found, f"nothing ends {start}"
    return before + start, text, END + after
