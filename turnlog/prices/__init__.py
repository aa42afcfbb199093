"""What a model call costs: prices as data with dates, and the arithmetic on them."""

from turnlog.prices.book import PriceBook
from turnlog.prices.files import read_book

__all__ = ["PriceBook", "read_book"]
