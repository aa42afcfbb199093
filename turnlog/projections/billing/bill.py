"""What was used and what it cost: sums over charges, grouped by whatever one asks for.

A sum with an unknown cost in it has no known cost: it says so, and what is known beside it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Any

from turnlog.events.base import Event, Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import HistorySummarized, Message
from turnlog.events.money import usd
from turnlog.ports import Charge
from turnlog.projections import tables
from turnlog.projections.billing import calendar

ANSWER = "(answer)"  # what a call without tools is listed under, where bills go by tool
Key = Callable[[Charge], str]


@dataclass
class Bill:
    """A sum of charges."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    thinking_tokens: int = 0  # part of the output
    web_searches: int = 0
    partial: int = 0  # calls that were cut off
    unpriced: int = 0  # parts of calls whose cost is unknown
    picousd: int = 0  # of the others

    @property
    def total_tokens(self) -> int:
        cached = self.cache_write_tokens + self.cache_read_tokens
        return self.input_tokens + self.output_tokens + cached

    @property
    def cost_usd(self) -> Decimal | None:
        return None if self.unpriced else usd(self.picousd)

    def add(self, charge: Charge, first: bool) -> None:
        """`first`: whether it is the call's first part here."""
        self.calls += first
        self.partial += first and charge.partial
        self.input_tokens += charge.input_tokens
        self.output_tokens += charge.output_tokens
        self.cache_write_tokens += charge.cache_write_5m_tokens + charge.cache_write_1h_tokens
        self.cache_read_tokens += charge.cache_read_tokens
        self.thinking_tokens += charge.thinking_tokens or 0
        self.web_searches += charge.web_searches
        self.unpriced += charge.cost_picousd is None
        self.picousd += charge.cost_picousd or 0

    def shown(self) -> dict[str, Any]:
        """As the billing API tells it."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "thinking_tokens": self.thinking_tokens,
            "total_tokens": self.total_tokens,
            "web_searches": self.web_searches,
            "partial_calls": self.partial,
            "cost_usd": self.cost_usd,
            "known_cost_usd": usd(self.picousd),
            "unpriced": self.unpriced,
        }


def key(by: str, where: tzinfo = UTC) -> Key:
    """What charges are grouped by: a row of GROUPS."""
    return GROUPS[by](where)


GROUPS: dict[str, Callable[[tzinfo], Key]] = {
    "day": lambda where: lambda charge: calendar.day_of(charge.created_at, where),
    "model": lambda _: lambda charge: charge.model,
    "user": lambda _: lambda charge: charge.user_id,
    "session": lambda _: lambda charge: charge.session_id,
    "agent": lambda _: lambda charge: charge.agent_id,
    "tool": lambda _: lambda charge: charge.tools or ANSWER,
}


def grouped(charges: Iterable[Charge], by: Key) -> dict[str, Bill]:
    bills: dict[str, Bill] = {}
    seen: set[tuple[str, str]] = set()
    for charge in charges:
        if not charge.is_call:
            continue
        name = by(charge)
        call = (name, charge.message_id)
        bills.setdefault(name, Bill()).add(charge, first=call not in seen)
        seen.add(call)
    return dict(sorted(bills.items()))


def whole(charges: Iterable[Charge]) -> Bill:
    return grouped(charges, lambda _: "").get("", Bill())


def charges_of(user_id: str, log: Iterable[Stamped]) -> list[Charge]:
    """The charges of a session, from its log alone: what a store must agree with."""
    rows = tables.fold(user_id, log)["usage"].values()
    return [Charge(*(row[name] for name in Charge._fields)) for row in rows]


def total(events: Iterable[Event]) -> TokenUsage:
    """All tokens of all model calls, internal ones included: they were paid for."""
    calls = (event for event in events if isinstance(event, Message | HistorySummarized))
    return sum((call.token_usage for call in calls), TokenUsage())
