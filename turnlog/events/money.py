"""Money, exact. A cost is a Decimal in dollars outside, and a whole number of picodollars in SQL.

Prices have at most four decimals a million tokens, and the discounts on them two more, so a
token costs a whole number of picodollars (10^-12 USD): sums are sums of integers, in Python
as in SQL, and nothing is ever rounded.
"""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

PICO = 12  # decimals


@lru_cache(maxsize=1024)  # a call, its message and its turn often cost the same
def usd(picousd: int) -> Decimal:
    """Dollars, without zeros at the end."""
    if picousd % 10**PICO == 0:
        return Decimal(picousd // 10**PICO)
    return Decimal(picousd).scaleb(-PICO).normalize()


def picousd(cost: Decimal) -> int:
    """The same amount as an integer. Raises ValueError for what is not a whole number of them."""
    scaled = cost.scaleb(PICO)
    if not scaled.is_finite() or scaled != scaled.to_integral_value():
        raise ValueError(f"{cost} USD has more than {PICO} decimals")
    return int(scaled)


def total(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The sum; unknown as soon as one of them is, because half a bill must not pass for one."""
    known = 0
    for cost in costs:
        if cost is None:
            return None
        known += picousd(cost)
    return usd(known)
