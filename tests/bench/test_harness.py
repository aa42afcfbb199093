"""The table of the harness that also measures others."""

from pathlib import Path

import pytest

from bench.beside.harness import Run, measured, table

GOAL = "≤ 0.8×"


def _run(floor: float, ours: float) -> Run:
    return {"cpu_us_chunk_10x20": {"floor": [floor], "turnlog": [ours], "turnlog-sse": [floor]}}


def test_ratios_are_to_the_floor_of_the_same_run() -> None:
    row = table([_run(100, 50), _run(10, 9)]).splitlines()[-1]
    assert GOAL in row
    assert "0.50–0.90×" in row


def test_what_a_run_did_not_measure_has_no_row() -> None:
    assert GOAL not in table([{"cpu_us_chunk_10x20": {"floor": [1.0]}}])


def test_whoever_has_no_harness_is_told_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--at"):
        measured(tmp_path / "nowhere", 1)
