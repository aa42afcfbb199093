"""What may be spent: budgets as data, and how far each is used up. Pure, no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from turnlog.errors import ConfigError
from turnlog.events.money import usd
from turnlog.ports import Spent

EVERYBODY = "*"
PERIODS = ("session", "day", "month")
MOST_USD = 10**15  # of a budget: more is a slip
WARN_AT = Decimal("0.8")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """So many dollars or tokens a session, a day or a month, for one user or for each; for what all
    agents spend together, or one of them."""

    who: str = EVERYBODY
    agent: str | None = None
    per: str
    usd: Decimal | None = None
    tokens: int | None = None

    def used(self, spent: Spent) -> Decimal:
        """The share that is used up: 1 is all of it. The larger one where there are two limits."""
        shares = []
        if self.usd is not None:
            shares.append(usd(spent.picousd) / self.usd if self.usd else Decimal(1))
        if self.tokens is not None:
            shares.append(Decimal(spent.tokens) / self.tokens if self.tokens else Decimal(1))
        return max(shares)

    def allows(self, spent: Spent, next_call: Spent) -> bool:
        """Whether a call that costs at least so much still fits in."""
        after = Spent(spent.tokens + next_call.tokens, spent.picousd + next_call.picousd)
        return self.used(spent) < 1 and self.used(after) <= 1

    def facts(self, spent: Spent) -> dict[str, Any]:
        """The fields of the events that tell of it."""
        return {
            "who": self.who if self.agent is None else f"{self.who}, agent {self.agent}",
            "per": self.per,
            "limit_usd": self.usd,
            "limit_tokens": self.tokens,
            "spent_usd": usd(spent.picousd),
            "spent_tokens": spent.tokens,
        }


def read_budgets(rows: Any) -> tuple[Budget, ...]:
    """The [[budgets]] of turnlog.toml. Raises ConfigError, naming the one that cannot be."""
    if not isinstance(rows, list | tuple):
        raise ConfigError("'budgets' must be tables: [[budgets]].")
    return tuple(_row(row, f"Budget {n}") for n, row in enumerate(rows, 1))


def _row(row: Any, name: str) -> Budget:
    if isinstance(row, Budget):
        return row
    known = {field.name for field in fields(Budget)}
    if not isinstance(row, dict) or not row.keys() <= known:
        raise ConfigError(f"{name} has {row!r}; a budget is made of {', '.join(sorted(known))}.")
    if row.get("per") not in PERIODS:
        raise ConfigError(f"{name}: 'per' must be one of {', '.join(PERIODS)}.")
    dollars, tokens = row.get("usd"), row.get("tokens")
    if (dollars, tokens) == (None, None):
        raise ConfigError(f"{name}: say 'usd' or 'tokens' or both.")
    if not _is_amount(dollars) or not _is_amount(tokens) or type(tokens) is Decimal:
        raise ConfigError(f"{name}: 'usd' and 'tokens' must be numbers from 0 on.")
    return Budget(
        who=str(row.get("who", EVERYBODY)),
        agent=None if row.get("agent") is None else str(row["agent"]),
        per=row["per"],
        usd=None if dollars is None else Decimal(dollars),
        tokens=tokens,
    )


def _is_amount(value: Any) -> bool:
    """None is one too: no limit. Dollars have cents and four decimals more, at most."""
    if value is None or type(value) is int:
        return value is None or value >= 0
    is_finite = type(value) is Decimal and value.is_finite()
    return is_finite and 0 <= value < MOST_USD and value == round(value, 6)


def budgets_of(user_id: str, budgets: Iterable[Budget]) -> list[Budget]:
    """A user's own budget stands in the place of everybody's for the same period."""
    fitting = [b for b in budgets if b.who in (EVERYBODY, user_id)]
    own = {(b.per, b.agent) for b in fitting if b.who != EVERYBODY}
    return [b for b in fitting if b.who != EVERYBODY or (b.per, b.agent) not in own]


def state_of(used: Decimal) -> str:
    if used >= 1:
        return "exceeded"
    return "warned" if used >= WARN_AT else "ok"


def estimated_tokens(characters: int) -> int:
    """A quick guess at what a request of that size is for the model: four bytes a token."""
    return -(-characters // 4)
