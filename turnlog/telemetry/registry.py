"""Counters, gauges and histograms in the text form of Prometheus, without a dependency.

There are no locks: one thread writes each metric (the event loop's, or the writer's), and a reader
sees a number of a moment ago. Labels are bounded: values beyond the limit of a metric are counted
together as `other`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_SERIES = 100  # of one metric
OTHER = "other"
Labels = tuple[str, ...]


class Counter:
    """A number for each combination of label values, or the value of a function. It only grows."""

    kind = "counter"
    _ask: Callable[[], float] | None = None

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.about = about
        self._names = tuple(labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, amount: float = 1, *labels: str) -> None:
        values = self._values
        if labels not in values:
            labels = self._begun(labels)
        values[labels] += amount

    def add_each(self, amounts: Mapping[str, float], *labels: str) -> None:
        """One for each value of the last label."""
        values = self._values
        for name, amount in amounts.items():
            key = (*labels, name)
            if key not in values:
                key = self._begun(key)
            values[key] += amount

    def _begun(self, labels: Labels) -> Labels:
        labels = _bounded(labels, len(self._values))
        self._values.setdefault(labels, 0)
        return labels

    def ask(self, value: Callable[[], float]) -> None:
        """Take the value from this function from now on. It must be quick."""
        self._ask = value

    def lines(self) -> Iterator[str]:
        if self._ask is not None:
            self._values[()] = self._ask()
        for labels, value in list(self._values.items()):
            yield f"{self.name}{_shown(self._names, labels)} {value:.15g}"


class Gauge(Counter):
    """A number that rises and falls."""

    kind = "gauge"


class Histogram:
    """How many values are below each of some fixed bounds."""

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: Sequence[float]) -> None:
        self.name = name
        self.about = about
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)  # the last: above every bound
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self) -> Iterator[str]:
        counts, total = list(self._counts), 0
        for bound, count in zip((*self._bounds, "+Inf"), counts, strict=True):
            total += count
            yield f'{self.name}_bucket{{le="{bound}"}} {total}'
        yield f"{self.name}_sum {self._sum:.15g}"
        yield f"{self.name}_count {total}"


Metric = Counter | Histogram


def render(metrics: Sequence[Metric]) -> str:
    """The page for Prometheus."""
    return "".join(f"{line}\n" for metric in metrics for line in _page(metric))


def _page(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.about}"
    yield f"# TYPE {metric.name} {metric.kind}"
    yield from metric.lines()


def _bounded(labels: Labels, known: int) -> Labels:
    return labels if known < MOST_SERIES else tuple(OTHER for _ in labels)


def _shown(names: Labels, values: Labels) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    # https://prometheus.io/docs/instrumenting/exposition_formats/: "has the same escaping rules"
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
