"""The prices that PyPI's `genai-prices` publishes. Only this file knows the package.

Its table is a megabyte of Python, so it is imported with the first price.
"""

import logging
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnlog.prices.price import DECIMALS, Price, Rates, a_search, a_token

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

_log = logging.getLogger(__name__)

# Our names for its prices, with the multiple of input that Anthropic charges where it has none.
_NAMES = {
    "input": ("input_mtok", Decimal(1)),
    "output": ("output_mtok", Decimal(1)),
    "write_5m": ("cache_write_mtok", Decimal("1.25")),
    "write_1h": ("cache_write_1h_mtok", Decimal(2)),
    "read": ("cache_read_mtok", Decimal("0.1")),
}


def published(model: str) -> list[Price]:
    """Every price of the model, the newest first. Nothing for an unknown model."""
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import ModelPrice

    try:
        _, entry = get_snapshot().find_provider_model(model, None, "anthropic", None)
    except LookupError:
        return []
    dated: list[tuple[str | None, ModelPrice]]
    if isinstance(entry.prices, ModelPrice):
        dated = [("", entry.prices)]
    else:
        dated = [(_since(each.constraint), each.prices) for each in entry.prices]
    try:
        return [_price(prices, since) for since, prices in reversed(dated) if since is not None]
    except ValueError as error:
        _log.warning(
            "a published price cannot be used: %s", error, extra={"facts": {"model": model}}
        )
        return []


def _since(constraint: Any) -> str | None:
    """The first day of a price. None for prices by time of day, which Anthropic does not have."""
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
    published_rates = {
        name: _at(getattr(prices, theirs, None), bound) for name, (theirs, _) in _NAMES.items()
    }
    return Rates(
        **{
            name: a_token(
                _exact(base * times if published_rates[name] is None else published_rates[name])
            )
            for name, (_, times) in _NAMES.items()
        }
    )


def _tiers(prices: "ModelPrice", name: str) -> list[Any]:
    return list(getattr(getattr(prices, name, None), "tiers", ()))


def _at(price: Any, bound: int) -> Decimal | None:
    """The price for a prompt longer than the bound."""
    if price is None or isinstance(price, Decimal):
        return price
    tiers = [tier.price for tier in price.tiers if tier.start <= bound]
    tier_price: Decimal = tiers[-1] if tiers else price.base
    return tier_price


def _exact(price: Any) -> Decimal:
    """A price in whole picodollars. A finer one is refused, not rounded."""
    exact = Decimal(price)
    if exact != round(exact, DECIMALS):
        raise ValueError(f"{exact} has more than {DECIMALS} decimals")
    return exact
