"""What was used and what it cost: rows for bills and budgets, and who prices a call."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from turnlog.events.usage import UsagePart

# (model, the API's usage object, when) -> the cost of each of its parts, None where unknown.
Rate = Callable[[str, dict[str, Any], str], list[Decimal | None]]


def no_price(model: str, reported: dict[str, Any], at: str) -> list[Decimal | None]:
    """A rate for those who have no price book: every cost is unknown."""
    return []


class Charge(NamedTuple):
    """One part of one model call: a row of `usage`."""

    message_id: str
    session_id: str
    user_id: str
    created_at: str
    agent_id: str
    tools: str  # that the call asked for, with commas between them
    kind: str
    model: str
    input_tokens: int
    output_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cache_read_tokens: int
    thinking_tokens: int | None
    web_searches: int
    service_tier: str
    geo: str
    speed: str
    partial: int  # 1: cut off, and counted by what had been reported until then
    cost_picousd: int | None  # None: unknown

    @property
    def is_call(self) -> bool:
        """Not so where a turn was stopped while no model was asked: its last message has a row."""
        return bool(self.model or self.input_tokens or self.output_tokens)

    @property
    def part(self) -> UsagePart:
        """The same as the API reported it: what a price book needs."""
        return UsagePart(
            self.kind,
            self.model,
            self.input_tokens,
            self.output_tokens,
            self.cache_write_5m_tokens,
            self.cache_write_1h_tokens,
            self.cache_read_tokens,
            self.thinking_tokens,
            self.web_searches,
            self.service_tier,
            self.geo,
            self.speed,
        )


class Spent(NamedTuple):
    """A sum of charges, for budgets."""

    tokens: int = 0
    picousd: int = 0  # of what has a known cost


class Billing(Protocol):
    """Usage, as the events wrote it.

    Promises: a row for each part of each model call, there as soon as the message is; times
    are half-open, `start` in and `end` out, and are those of the messages.
    """

    async def charges(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> Sequence[Charge]:
        """Oldest first; of everybody where no user is named."""
        ...

    async def spent(
        self,
        user_id: str,
        *,
        session_id: str | None = None,
        start: str | None = None,
        agent_id: str | None = None,
    ) -> Spent:
        """The sum of the same, without reading the rows out; of one agent, where it is named."""
        ...

    async def count_messages(self, user_id: str, session_id: str) -> int:
        """Visible messages of the session, questions and answers. Raises NotFound."""
        ...
