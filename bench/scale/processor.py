"""Seconds of CPU that a process has taken, with the processes that it started."""

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def seconds(pid: int) -> float:
    """Those that have ended count, too, if they were waited for."""
    mine, ended = _ticks(pid)
    return mine + ended + sum(sum(_ticks(child)) for child in _below(pid))


def _below(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, children) for each in (child, *_below(child))]


def _ticks(pid: int) -> tuple[float, float]:
    """Its own, and those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0.0
    own, ended = (int(fields[n]) + int(fields[n + 1]) for n in (11, 13))
    return own * TICK, ended * TICK
