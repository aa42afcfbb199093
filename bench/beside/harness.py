"""`python -m bench.beside.harness [FILE...]`: runs of the harness that also measures others.

Without a file it makes the runs: the harness lies beside the project, or where `--at` says. A file
is the `results.json` of a run. Ratios are to the floor of the same run. With `--write` the table
goes into docs/benchmarks.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.beside import page

PROJECT = Path(__file__).parent.parent.parent
BESIDE = PROJECT.parent / "shared" / "bench"
PLACE = PROJECT / ".venv" / "harness"  # of its Python and its runs
PARTS = "cost,latency,memory,history,load100,load500"
MOST_SECONDS = 900  # of a run
OURS = {"Socket.IO": "turnlog", "SSE": "turnlog-sse"}  # by the names of its targets
Run = dict[str, dict[str, list[float]]]  # by metric, then by target: one value a round


class Row(NamedTuple):
    """A row of the table: a metric of the harness, and what we want of it."""

    says: str
    metric: str
    goal: str
    ratio: bool = True


# fmt: off
ROWS = (
    Row("CPU-ms, chat turn of 200 chunks, burst", "cpu_ms_chat", "≤ 1.5×"),
    Row("CPU-ms, tool turn", "cpu_ms_tool", "≤ 2.0×"),
    Row("CPU-µs a live chunk, 10 sessions at 50 a second", "cpu_us_chunk_10x20", "≤ 0.8×"),
    Row("p50 of a live chunk, µs", "chunk_us_p50_10x20", "≤ 27,000", ratio=False),
    Row("p99 of a live chunk, µs", "chunk_us_p99_10x20", "≤ 60,000", ratio=False),
    Row("first chunk, 1 session, ms", "first_ms_1x5", "≤ 1.5×"),
    Row("first chunk, 10 sessions at 50 a second, ms", "first_ms_10x20", "≤ 1.5×"),
    Row("first chunk, 10 sessions at 200 a second, ms", "first_ms_10x5", "≤ 1.5×"),
    Row("turns a second, 100 sessions at once", "turns_s_100", "≥ 0.9×"),
    Row("CPU-ms a turn, 100 sessions at once", "cpu_ms_load_100", "–"),
    Row("turns a second, 500 sessions at once", "turns_s_500", "≥ 0.9×"),
    Row("first chunk when 500 ask at once, s", "first_s_load_500", "≤ 2×"),
    Row("CPU-ms, short turn after 10 turns", "cpu_ms_after_10", "flat"),
    Row("CPU-ms, short turn after 100 turns", "cpu_ms_after_100", "flat"),
    Row("CPU-ms, short turn after 1000 turns", "cpu_ms_after_1000", "flat"),
    Row("bytes stored a turn, turns 100 to 1000", "disk_per_turn_to_1000", "≤ 4×"),
    Row("CPU-ms, reload of 1000 turns", "reload_cpu_ms_1000", "≤ 15", ratio=False),
    Row("kB a session that has had a turn and idles", "rss_kb_per_session", "≤ 20", ratio=False),
    Row("MB at start", "rss_start_mb", "≤ 70", ratio=False),
    Row("seconds to start", "start_s", "≤ 0.5", ratio=False),
)
# fmt: on


def table(runs: list[Run]) -> str:
    """One line for each row that was measured; ranges are over the runs."""
    lines = ["| | goal | floor | " + " | ".join(OURS) + " |", "|---" * (3 + len(OURS)) + "|"]
    for row in ROWS:
        whole = [run[row.metric] for run in runs if _is_whole(run.get(row.metric))]
        if not whole:
            continue
        cells = [_range([median(each["floor"]) for each in whole])]
        for target in OURS.values():
            values = [median(each[target]) for each in whole]
            if row.ratio:
                floors = [median(each["floor"]) for each in whole]
                ratios = [value / floor for value, floor in zip(values, floors, strict=True)]
                cells.append(f"{_range(ratios)}×")
            else:
                cells.append(_range(values))
        lines.append(f"| {row.says} | {row.goal} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _is_whole(values: Any) -> bool:
    return bool(values) and all(values.get(name) for name in ("floor", *OURS.values()))


def _range(values: list[float]) -> str:
    least, most = (_number(value) for value in (min(values), max(values)))
    return least if least == most else f"{least}–{most}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def measured(harness: Path, runs: int) -> list[Path]:
    """The results of so many runs, one after the other, about a minute each."""
    if not (harness / "bench").is_dir():
        sys.exit(f"No harness lies at {harness}. Say where it is with --at.")
    copy = shutil.copytree(harness, PLACE / "copy", dirs_exist_ok=True)  # servers write into it
    python = _python(copy)
    environment = os.environ | {"BENCH_ROOT": str(PLACE), "TURNLOG_VENV": sys.prefix}
    for run in range(runs):
        command = [python, "-m", "bench", "run", "floor", *OURS.values()]
        subprocess.run(
            [*command, "--only", PARTS, "--out", str(run)],
            cwd=copy,
            env=environment,
            check=True,
            timeout=MOST_SECONDS,
        )
    return [PLACE / "run" / str(run) / "results.json" for run in range(runs)]


def _python(harness: Path) -> str:
    """The harness's own Python, with its pinned packages."""
    place = PLACE / "venvs" / "harness"
    python = str(place / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", str(harness / "venvs" / "harness.txt")], check=True)
    return python


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.beside.harness")
    parser.add_argument("files", nargs="*", type=Path, help="results.json of earlier runs")
    parser.add_argument("--at", type=Path, default=BESIDE, help="the folder of the harness")
    parser.add_argument("--runs", type=int, choices=range(1, 11), default=3, metavar="1-10")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args()
    files = options.files or measured(options.at.resolve(), options.runs)
    runs = [json.loads(file.read_text())["values"] for file in files]
    text = table(runs)
    sys.stdout.write(f"{text}\n")
    if options.write:
        page.put("harness", f"{len(runs)} runs.\n\n{text}" if len(runs) != 1 else text)


if __name__ == "__main__":
    main()
