"""The simulation of docs/scale.md: its queues are right, and the page has its newest table."""

import math

import pytest
from pytest import approx

from bench.scale import page, simulation

COSTS = {
    "node_ms": 20.0, "database_ms": 4.0, "redis_ms": 1.0, "commits": 5.0,
    "written_bytes": 40_000.0, "kept_bytes": 12_000.0, "socket_kb": 34.0,
}  # fmt: skip


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_the_wait_at_one_core_is_what_the_theory_says(load):
    """M/M/1: of jobs that take a second, a share of load * exp(-(1 - load) * t) waits longer."""
    expected = math.log(load / 0.05) / (1 - load)
    assert simulation.wait(load, 1.0, servers=1) == approx(expected, rel=0.25)


def test_more_work_than_cores_is_never_done():
    assert simulation.wait(rate=2.0, seconds=1.0, servers=2) == math.inf
    assert simulation.wait(rate=2.0, seconds=1.0, servers=3) < math.inf


@pytest.mark.parametrize("number", [1, 2, 3, 50, 99])
def test_the_fewest_that_are_enough_are_found(number):
    assert simulation.fewest(lambda n: n >= number) == number


def test_ten_times_the_people_need_more_of_what_is_full():
    few, many = (simulation.need(people, COSTS) for people in (1_000, 10_000))
    assert (few.full, many.full.split(",")[0]) == ("–", "the node")
    assert many.nodes > few.nodes and many.kept == approx(10 * few.kept)


def test_the_page_has_the_table_of_the_newest_costs():
    """`python -m bench.scale.simulation --write` writes it."""
    assert page.part("simulation") == simulation.table(page.costs())
