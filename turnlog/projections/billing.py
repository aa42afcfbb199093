"""What was used: sums over the log. Prices come with the price book."""

from collections import defaultdict
from collections.abc import Iterable

from turnlog.events.base import Event
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import Message


def total(events: Iterable[Event]) -> TokenUsage:
    """All tokens of all model calls, internal ones included: they were paid for."""
    return sum((e.token_usage for e in events if isinstance(e, Message)), TokenUsage())


def by_model(events: Iterable[Event]) -> dict[str, TokenUsage]:
    sums: defaultdict[str, TokenUsage] = defaultdict(TokenUsage)
    for event in events:
        if isinstance(event, Message):
            sums[event.model] += event.token_usage
    return dict(sums)
