"""Money, exact. A cost is a Decimal in dollars outside, and a whole number of picodollars in SQL.

Prices have at most four decimals a million tokens, and the discounts on them two more, so a
token costs a whole number of picodollars (10^-12 USD): sums are sums of integers, in Python
as in SQL, and nothing is ever rounded.
"""

from collections.abc import Iterable
from decimal import Decimal

PICO = 12  # decimals


def usd(picousd: int) -> Decimal:
    """Dollars, without zeros at the end."""
    value = Decimal(picousd).scaleb(-PICO).normalize()
    whole = value == value.to_integral_value()
    return value.quantize(Decimal(1)) if whole else value


def picousd(cost: Decimal) -> int:
    """The same amount as an integer. Raises ValueError for what is not a whole number of them."""
    scaled = cost.scaleb(PICO)
    if not scaled.is_finite() or scaled != scaled.to_integral_value():
        raise ValueError(f"{cost} USD has more than {PICO} decimals")
    return int(scaled)


def total(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The sum; unknown as soon as one of them is, because half a bill must not pass for one."""
    known = list(costs)
    return usd(sum(picousd(c) for c in known if c is not None)) if None not in known else None
