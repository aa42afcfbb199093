"""How many examples a test has that wants more than others: in proportion to the profile."""

from hypothesis import settings


def times(count):
    """So many times the examples of other tests: `@times(3)` are 300, and 60 in `make quick`."""
    return settings(max_examples=count * settings.default.max_examples)
