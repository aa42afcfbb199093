"""The checker of histories finds what it is there for."""

import pytest
from history import Asked, History, Read, anomalies

LOG = [("a", "one"), ("b", ""), ("c", "two"), ("d", "")]
ONE, TWO = Asked(0, 1, "one"), Asked(4, 5, "two")


def read(began, *ids):
    return Read(began, began + 0.5, ids)


def found(*, reads=(), questions=(), log=LOG):
    return list(anomalies(History(list(reads), list(questions)), log))


def test_what_can_have_happened_is_no_anomaly():
    overlapping = [read(3, "a", "b"), Read(2.9, 3.4, ("a",)), read(6, "a", "b", "c")]
    assert found(reads=overlapping, questions=[ONE, TWO]) == []


@pytest.mark.parametrize(
    ("seen", "anomaly"),
    [
        ({"reads": [read(2, "a", "c")]}, "no beginning of the log"),
        ({"reads": [read(2, "b", "a")]}, "no beginning of the log"),
        ({"reads": [read(2, "a", "b", "c", "d", "e")]}, "no beginning of the log"),
        ({"reads": [read(2, "a", "b"), read(3, "a")]}, "one before it had 2"),
        ({"reads": [read(2)], "questions": [ONE]}, "a later read has it not"),
        ({"questions": [Asked(0, 1, "three")]}, "is not there"),
        ({"questions": [Asked(4, 5, "one"), Asked(0, 1, "two")]}, "stands before"),
    ],
)
def test_what_cannot_have_happened_is_named(seen, anomaly):
    (said,) = found(**seen)
    assert anomaly in said
