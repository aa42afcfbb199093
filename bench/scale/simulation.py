"""What is full next: how many machines so many people need, by queues and measured costs.

    python -m bench.scale.simulation [--write]

Each person asks once a minute. A turn comes to its node, to PostgreSQL and to Redis so many times,
and takes so long there as `bench.cluster` has measured on this machine (costs.json). Jobs come
at random, wait for a free core, and take a time that varies as much as it is long. There are as
many cores as keep the wait of 95 in 100 jobs below a bound. The dice have a seed, so that the
table is the same in each run.
"""

import heapq
import math
import random
import sys
from collections.abc import Callable
from typing import NamedTuple

from bench.scale import page

PEOPLE = (1_000, 10_000, 100_000, 10_000_000)  # 1, 10, 100 and 10,000 times
ASKS_EVERY = 60.0  # seconds
WAITS_AT_MOST = 0.02  # seconds, 95 of 100 jobs
JOBS = 4_000  # that are played, for each number of cores that is tried
DATABASE_CORES = 64  # of the largest machine that we would put PostgreSQL on
DATABASE_WRITES = 500e6  # bytes a second that its disk takes, log and tables
STEPS = 25  # how often a turn comes to its node and to Redis: its batches of events
DAY = 86_400


class Need(NamedTuple):
    """What so many people need of each kind of machine, and what the log grows by."""

    people: int
    turns: float  # a second
    nodes: int
    database_cores: int
    databases: int
    redis: int
    commits: float  # a second
    written: float  # bytes a second
    kept: float  # bytes a day
    sockets: float  # bytes

    @property
    def full(self) -> str:
        """Of what one machine is not enough, the worst first."""
        needs = {"node": self.nodes, "PostgreSQL": self.databases, "Redis": self.redis}
        beyond = sorted((name for name in needs if needs[name] > 1), key=lambda n: -needs[n])
        return ", then ".join(f"the {name}" if name == "node" else name for name in beyond) or "–"


def wait(rate: float, seconds: float, servers: int) -> float:
    """What 95 of 100 jobs wait at most; so many come each second, to so many cores."""
    if rate * seconds >= servers:
        return math.inf
    dice, now = random.Random(1), 0.0
    free = [0.0] * servers  # when each core is
    waits = []
    for _ in range(JOBS):
        now += dice.expovariate(rate)
        begins = max(now, free[0])
        waits.append(begins - now)
        heapq.heapreplace(free, begins + dice.expovariate(1 / seconds))
    return sorted(waits)[int(0.95 * JOBS)]


def fewest(is_enough: Callable[[int], bool]) -> int:
    """The smallest number that is: doubled until it is, then halved in between."""
    most = 1
    while not is_enough(most):
        most *= 2
    least = most // 2
    while most - least > max(1, most // 100):
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle, most)
    return most


def alone(rate: float, seconds: float) -> int:
    """Servers of one core each, which share the sessions and help each other with none."""
    return fewest(lambda n: wait(rate / n, seconds, 1) <= WAITS_AT_MOST)


def together(rate: float, seconds: float) -> int:
    """Cores of one machine: a job takes whichever is free."""
    return fewest(lambda n: wait(rate, seconds, n) <= WAITS_AT_MOST)


def need(people: int, costs: dict[str, float]) -> Need:
    turns = people / ASKS_EVERY
    steps, commits = STEPS * turns, costs["commits"] * turns
    database = costs["database_ms"] / 1e3 / costs["commits"]  # a commit
    written = costs["written_bytes"] * turns
    # One core more than all jobs fill is found by playing; thousands are not played.
    by_disk = math.ceil(written / DATABASE_WRITES)
    parts = max(1, by_disk, math.ceil(commits * database / DATABASE_CORES))
    while (cores := together(commits / parts, database)) > DATABASE_CORES:
        parts += 1
    return Need(
        people=people,
        turns=turns,
        nodes=alone(steps, costs["node_ms"] / 1e3 / STEPS),
        database_cores=cores * parts,
        databases=parts,
        redis=alone(steps, costs["redis_ms"] / 1e3 / STEPS),
        commits=commits,
        written=written,
        kept=costs["kept_bytes"] * turns * DAY,
        sockets=costs["socket_kb"] * 1e3 * people,
    )


def table(costs: dict[str, float]) -> str:
    lines = [
        "| people | turns a second | nodes of one core | PostgreSQL: cores, machines | commits,"
        " MB written a second | the log grows a day | Redis: servers | memory of sockets |"
        " more than one machine |",
        "|---" * 9 + "|",
    ]
    for each in (need(people, costs) for people in PEOPLE):
        lines.append(
            f"| {each.people:,} | {each.turns:,.0f} | {each.nodes:,} |"
            f" {each.database_cores:,}, {each.databases:,} | {each.commits:,.0f},"
            f" {each.written / 1e6:,.1f} | {_bytes(each.kept)} | {each.redis:,} |"
            f" {_bytes(each.sockets)} | {each.full} |"
        )
    return "\n".join(lines)


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"


def write() -> None:
    page.put("simulation", table(page.costs()))


if __name__ == "__main__":
    sys.stdout.write(table(page.costs()) + "\n")
    if "--write" in sys.argv[1:]:
        write()
