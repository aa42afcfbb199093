"""The cost of a model call: prices as dated data, and the arithmetic on them."""

from turnlog.prices.book import PriceBook
from turnlog.prices.files import read_book

__all__ = ["PriceBook", "read_book"]
