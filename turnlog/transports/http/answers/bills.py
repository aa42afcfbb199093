"""What clients see of bills. Their rows are snake_case, as the plan shows them."""

from decimal import Decimal
from typing import Any

import msgspec


class _Snake(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of bills are snake_case, as the plan shows them."""


class _Sums(_Snake, frozen=True, kw_only=True):
    calls: int
    input_tokens: int
    output_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    thinking_tokens: int
    total_tokens: int
    web_searches: int
    partial_calls: int
    cost_usd: Decimal | None
    known_cost_usd: Decimal
    unpriced: int


class DaySums(_Sums, frozen=True, kw_only=True):
    day: str


class ModelSums(_Sums, frozen=True, kw_only=True):
    model: str


class AgentSums(_Sums, frozen=True, kw_only=True):
    agent: str


class ToolSums(_Sums, frozen=True, kw_only=True):
    tool: str


class UserSums(_Sums, frozen=True, kw_only=True):
    user: str


class DayAndAgent(_Snake, frozen=True, kw_only=True):
    day: str
    agent: str
    cost_usd: Decimal | None
    known_cost_usd: Decimal
    tokens: int


class DayAndModel(_Snake, frozen=True, kw_only=True):
    day: str
    model: str
    cost_usd: Decimal | None
    known_cost_usd: Decimal
    tokens: int


class _Bill(_Snake, frozen=True, kw_only=True):
    total_tokens: int
    known_cost_usd: Decimal
    unpriced: int
    by_day: list[DaySums]
    by_model: list[ModelSums]
    by_agent: list[AgentSums]
    by_tool: list[ToolSums]
    by_day_and_agent: list[DayAndAgent]
    by_day_and_model: list[DayAndModel]


class SessionBill(_Bill, frozen=True, kw_only=True):
    session_id: str
    user_id: str
    session_start: str
    message_count: int
    total_input_tokens: int
    total_output_tokens: int
    total_cache_write_tokens: int
    total_cache_read_tokens: int
    total_thinking_tokens: int
    web_searches: int
    estimated_cost_usd: Decimal | None
    budgets: list[dict[str, Any]]


class UserBill(_Bill, frozen=True, kw_only=True):
    user_id: str
    total_sessions: int
    total_cost_usd: Decimal | None
    timezone: str
    budgets: list[dict[str, Any]]


class EverybodysBill(_Bill, frozen=True, kw_only=True):
    total_sessions: int
    total_cost_usd: Decimal | None
    timezone: str
    by_user: list[UserSums]
