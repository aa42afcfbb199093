"""Price books as TOML files: the one that ships, and your own.

[[price]]
model = "claude-sonnet-5-5"    # dated ones too; or the start of a name: "claude-sonnet-5*"
since = 2026-12-01             # optional: from this day on, UTC
input = 2.00                   # USD a million tokens
output = 10.00
"""

import tomllib
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

from turnlog.errors import ConfigError
from turnlog.prices.price import DECIMALS, Price, Rates, a_search, a_token

Table = dict[str, Any]
Listed = Sequence[tuple[str, Price]]  # (name or start of a name, price), as the file has them

# Prices that the file may leave out, as a multiple of the price of fresh input.
_TIMES = {"cache_write_5m": Decimal("1.25"), "cache_write_1h": Decimal("2"),
          "cache_read": Decimal("0.1")}  # fmt: skip
_RATES = ("input", "output", *_TIMES)
_KNOWN = {"model", "since", "web_search", "above", *_RATES}
_MOST = Decimal(1_000_000)


def read_book(path: Path | str) -> Listed:
    """Every price of the file. Raises ConfigError, which names the price that is wrong."""
    try:
        text = Path(path).read_text()
        tables = tomllib.loads(text, parse_float=Decimal)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"The price book {str(path)!r} cannot be read: {error}.") from None
    rows = tables.pop("price", None)
    if tables or not isinstance(rows, list):
        raise ConfigError(f"The price book {str(path)!r} holds [[price]] tables and nothing else.")
    return [_row(row, f"{str(path)!r}, price {n}") for n, row in enumerate(rows, 1)]


@cache
def built_in() -> Listed:
    return read_book(Path(__file__).with_name("anthropic.toml"))


def _row(row: Any, where: str) -> tuple[str, Price]:
    if not isinstance(row, dict) or not isinstance(row.get("model"), str) or not row["model"]:
        raise ConfigError(f"{where}: 'model' must be a name.")
    where = f"{where} ({row['model']!r})"
    if unknown := sorted(row.keys() - _KNOWN):
        raise ConfigError(f"{where}: {unknown[0]!r} is not known. There are: {sorted(_KNOWN)}.")
    steps = row.get("above", [])
    above = [_above(each, where) for each in (steps if isinstance(steps, list) else [steps])]
    price = Price(
        rates=_rates(row, where),
        above=sorted(above, reverse=True),
        web_search=a_search(_number(row.get("web_search", 10), f"{where}: 'web_search'")),
        since=_day(row.get("since", ""), where),
    )
    return row["model"].lower(), price


def _above(table: Table, where: str) -> tuple[int, Rates]:
    bound = table.get("prompt") if isinstance(table, dict) else None
    if type(bound) is not int or bound <= 0:  # True is an int, too
        raise ConfigError(f"{where}: [[price.above]] needs 'prompt', a number of tokens.")
    return bound, _rates(table, f"{where} above {bound}")


def _rates(table: Table, where: str) -> Rates:
    for name in ("input", "output"):
        if name not in table:
            raise ConfigError(f"{where}: {name!r} is missing.")
    prices = {n: _number(table[n], f"{where}: {n!r}") for n in _RATES if n in table}
    for name in _TIMES.keys() - prices.keys():
        prices[name] = _number(prices["input"] * _TIMES[name], f"{where}: {name!r}")
    return Rates(*(a_token(prices[name]) for name in _RATES))


def _number(value: Any, where: str) -> Decimal:
    try:
        number = Decimal(value) if type(value) in (int, Decimal, str) else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not 0 <= number <= _MOST:
        raise ConfigError(f"{where} must be a price in USD, not {value!r}.")
    if number != round(number, DECIMALS):
        raise ConfigError(f"{where} has more than {DECIMALS} decimals: {value}.")
    return number


def _day(value: Any, where: str) -> str:
    if value == "" or (isinstance(value, date) and type(value) is date):
        return str(value)
    raise ConfigError(f"{where}: 'since' must be a day, as 2026-12-01, not {value!r}.")
