"""The price of a model from some day on, and the cost of a part of a call. Integers only."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from turnlog.events.usage import UsagePart

DECIMALS = 4  # of a price a million tokens; more would not come out in whole picodollars

# Factors of the price of tokens: (numerator, denominator). A value that is in no table has no
# known price. https://platform.claude.com/docs/en/about-claude/pricing: batch requests cost
# half; US-only inference 1.1 times; priority capacity is bought in advance, so what it
# answers is booked at the standard price. Fast mode is priced model by model, in the book.
SERVICE_TIERS = {"standard": (1, 1), "priority": (1, 1), "batch": (1, 2)}
GEOS = {"": (1, 1), "global": (1, 1), "not_available": (1, 1), "us": (11, 10)}
SPEEDS = {"standard": (1, 1)}


def a_token(usd_a_million: Decimal) -> int:
    """Picodollars a token: 10^12 / 10^6."""
    return int(usd_a_million.scaleb(6))


def a_search(usd_a_thousand: Decimal) -> int:
    """Picodollars a search: 10^12 / 10^3."""
    return int(usd_a_thousand.scaleb(9))


class Rates(NamedTuple):
    """Picodollars a token."""

    input: int
    output: int
    write_5m: int
    write_1h: int
    read: int


class Price(NamedTuple):
    """The price of a model. A prompt longer than a bound is billed as a whole at its rates."""

    rates: Rates
    above: Sequence[tuple[int, Rates]] = ()  # by prompt length, the longest first
    web_search: int = a_search(Decimal(10))  # picodollars each
    since: str = ""  # the first day, as 2026-11-16, UTC; empty: always

    def for_prompt(self, tokens: int) -> Rates:
        for bound, rates in self.above:
            if tokens > bound:
                return rates
        return self.rates


def cost(part: UsagePart, price: Price) -> int | None:
    """Picodollars, exact. None if the price says nothing about this kind of call."""
    tokens = _factored(_tokens(part, price.for_prompt(part.prompt_tokens)), part)
    return None if tokens is None else tokens + part.web_searches * price.web_search


def _factored(picousd: int, part: UsagePart) -> int | None:
    """The price of tokens where and how fast they were made; None where nobody knows it."""
    try:
        factors = SERVICE_TIERS[part.service_tier], GEOS[part.geo], SPEEDS[part.speed]
    except KeyError:
        return None
    for numerator, denominator in factors:
        picousd = picousd * numerator // denominator  # divides evenly: see DECIMALS
    return picousd


def _tokens(part: UsagePart, rates: Rates) -> int:
    return (
        part.input_tokens * rates.input
        + part.output_tokens * rates.output
        + part.write_5m_tokens * rates.write_5m
        + part.write_1h_tokens * rates.write_1h
        + part.read_tokens * rates.read
    )


def savings(part: UsagePart, price: Price) -> int:
    """What the cache saved, in picodollars: the price of fresh input for what was read, less what
    reads and writes cost. Below zero if writes were never read; 0 where nobody knows."""
    rates = price.for_prompt(part.prompt_tokens)
    saved = (
        part.read_tokens * (rates.input - rates.read)
        + part.write_5m_tokens * (rates.input - rates.write_5m)
        + part.write_1h_tokens * (rates.input - rates.write_1h)
    )
    return _factored(saved, part) or 0
