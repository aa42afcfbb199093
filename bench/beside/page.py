"""docs/benchmarks.md: the table and the plots, from what was measured."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from bench.beside.measure import Values

DOCS = Path(__file__).parent.parent.parent / "docs"
COLORS = {"floor": "#888888", "Socket.IO": "#1f6feb", "SSE": "#d2691e"}
WIDTH, HEIGHT, LEFT, BOTTOM = 520, 240, 60, 30
IN_TABLE = ("200 ", "10 sessions at", "4 kB")  # beside those that begin with no number
START, END = "<!-- measured: {} -->", "<!-- end -->"


def table(values: dict[str, Values]) -> str:
    """Medians over the rounds, with their ranges, and the ratio to the floor, where there is one.
    An empty cell was not measured.
    """
    lines = ["| | " + " | ".join(values) + " |", "|---" * (len(values) + 1) + "|"]
    for key in dict.fromkeys(key for of in values.values() for key in of):
        floor = None if key not in values["floor"] else median(values["floor"][key])
        cells = [
            _cell(of[key], None if name == "floor" else floor) if key in of else ""
            for name, of in values.items()
        ]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(rounds: Sequence[float], floor: float | None) -> str:
    middle = median(rounds)
    digits = 0 if middle >= 100 else 1
    text = f"{middle:,.{digits}f} ({min(rounds):,.{digits}f}–{max(rounds):,.{digits}f})"
    return f"{text}, {middle / floor:.1f}×" if floor else text


def plot(title: str, across: Sequence[int], lines: dict[str, list[float]]) -> str:
    """A line for each server, as SVG. Both axes begin at nothing: what is flat looks flat."""
    most = max(value for line in lines.values() for value in line) or 1
    far = max(across)

    def place(x: float, y: float) -> str:
        right, up = (WIDTH - LEFT - 10) * x / far, (HEIGHT - BOTTOM - 30) * y / most
        return f"{LEFT + right:.1f},{HEIGHT - BOTTOM - up:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="16">{title}</text>',
        f'<text x="4" y="40">{most:,.0f}</text><text x="4" y="{HEIGHT - BOTTOM}">0</text>',
        f'<path d="M{place(0, most)} L{place(0, 0)} L{place(far, 0)}" fill="none" stroke="#444"/>',
    ]
    for number, (name, line) in enumerate(lines.items()):
        points = " ".join(place(x, y) for x, y in zip(across, line, strict=True))
        color = COLORS[name]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - 90}" y="{30 + 16 * number}" fill="{color}">{name}</text>')
    right = f'x="{WIDTH - 10}" y="{HEIGHT - 8}" text-anchor="end"'
    return "\n".join([*parts, f"<text {right}>{far:,}</text>", "</svg>", ""])


def write(
    values: dict[str, Values],
    machine: str,
    load: float,
    sessions: Sequence[int],
    lengths: Sequence[int],
) -> None:
    def line(keys: Sequence[str]) -> dict[str, list[float]]:
        return {name: [median(of[key]) for key in keys] for name, of in values.items()}

    live = line([f"{n} sessions, us a chunk" for n in sessions])
    long = line([f"{n} chunks, ms a turn" for n in lengths])
    plots = {
        "sessions": plot("CPU-µs a live chunk, by sessions at once", sessions, live),
        "answers": plot("CPU-ms a turn, by chunks of its answer", lengths, long),
    }
    for name, svg in plots.items():
        draw(name, svg)
    shown = {
        name: {key: each for key, each in of.items() if not key.split(",")[0].split()[0].isdigit()}
        | {key: each for key, each in of.items() if key.startswith(IN_TABLE)}
        for name, of in values.items()
    }
    said = f"{machine}; the load of the machine was {load:.1f}."
    put("beside", "\n\n".join([said, table(shown), pictures(plots)]))


def draw(name: str, svg: str) -> None:
    (DOCS / "pictures" / f"bench-{name}.svg").write_text(svg)


def pictures(names: Iterable[str]) -> str:
    return "\n".join(f"![{name}](pictures/bench-{name}.svg)" for name in names)


def put(place: str, text: str) -> None:
    """In the place of what was measured before."""
    page, start = DOCS / "benchmarks.md", START.format(place)
    before, found, rest = page.read_text().partition(start)
    assert found, f"there is no {start} in {page}"
    page.write_text("\n\n".join([before + start, text, END]) + rest.partition(END)[2])
