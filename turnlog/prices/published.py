"""The prices that PyPI's `genai-prices` publishes. The only file that knows the package.

Its table is a megabyte of Python: it is imported when the first price is asked for.
"""

import logging
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnlog.prices.price import (
    DECIMALS,
    Price,
    Rates,
    a_search,
    a_token,
)

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

_log = logging.getLogger(__name__)

# Our names for its prices; what it lacks is what Anthropic charges everywhere else.
_NAMES = {
    "input": ("input_mtok", Decimal(1)),
    "output": ("output_mtok", Decimal(1)),
    "write_5m": ("cache_write_mtok", Decimal("1.25")),
    "write_1h": ("cache_write_1h_mtok", Decimal(2)),
    "read": ("cache_read_mtok", Decimal("0.1")),
}


def published(model: str) -> list[Price]:
    """Every price that the model has had, the newest first; nothing for an unknown model."""
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import ModelPrice

    try:
        _, found = get_snapshot().find_provider_model(model, None, "anthropic", None)
    except LookupError:
        return []
    dated: list[tuple[str | None, ModelPrice]]
    if isinstance(found.prices, ModelPrice):
        dated = [("", found.prices)]
    else:
        dated = [(_since(each.constraint), each.prices) for each in found.prices]
    try:
        return [_price(prices, since) for since, prices in reversed(dated) if since is not None]
    except ValueError as error:
        _log.warning(
            "a published price cannot be used: %s", error, extra={"facts": {"model": model}}
        )
        return []


def _since(constraint: Any) -> str | None:
    """The first day of a price. None for prices by the time of day, which Anthropic has not."""
    if constraint is None:
        return ""
    day = getattr(constraint, "start_date", None)
    return None if day is None else str(day.isoformat())


def _price(prices: "ModelPrice", since: str) -> Price:
    bounds = {tier.start for name, _ in _NAMES.values() for tier in _tiers(prices, name)}
    above = [(bound, _rates(prices, bound)) for bound in sorted(bounds, reverse=True)]
    search = getattr(prices, "web_searches_kcount", None)
    return Price(_rates(prices, 0), above, a_search(_exact(search or Decimal(10))), since)


def _rates(prices: "ModelPrice", bound: int) -> Rates:
    base = _at(getattr(prices, "input_mtok", None), bound) or Decimal(0)
    found = {
        name: _at(getattr(prices, theirs, None), bound) for name, (theirs, _) in _NAMES.items()
    }
    return Rates(
        **{
            name: a_token(_exact(base * times if found[name] is None else found[name]))
            for name, (_, times) in _NAMES.items()
        }
    )


def _tiers(prices: "ModelPrice", name: str) -> list[Any]:
    return list(getattr(getattr(prices, name, None), "tiers", ()))


def _at(price: Any, bound: int) -> Decimal | None:
    """The price of a prompt that is longer than the bound."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if tier.start <= bound]
    at: Decimal = reached[-1] if reached else price.base
    return at


def _exact(price: Any) -> Decimal:
    """A price that we can count with: a finer one is refused, not rounded."""
    exact = Decimal(price)
    if exact != round(exact, DECIMALS):
        raise ValueError(f"{exact} has more than {DECIMALS} decimals")
    return exact
