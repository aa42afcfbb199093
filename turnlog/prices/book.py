"""The price book: the price of a model on a day, and the cost of a call at that price.

Your own file wins over the one that ships with turnlog. Models that neither has are looked up in
what `genai-prices` publishes, whose table takes a third of a second and 20 MB to load; a test
compares the two for every model that ships. A model without a price has an unknown cost, which is
not zero; the log warns of it once.
"""

import logging
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from turnlog.events.money import usd
from turnlog.events.usage import Reported, UsagePart, parts_of
from turnlog.prices.files import Listed, built_in, read_book
from turnlog.prices.price import Price, cost, savings
from turnlog.prices.published import published

_log = logging.getLogger(__name__)
MOST_KNOWN = 1000  # remembered prices: models times days
_DATE = re.compile(r"[-@]\d{8}$")  # claude-haiku-4-5-20251001 is a claude-haiku-4-5


class PriceBook:
    """Prices by model and day. `rate` is what the pipeline is given."""

    def __init__(
        self,
        own: Listed = (),
        publish: Callable[[str], Sequence[Price]] = published,
    ) -> None:
        self._own = own
        self._publish = publish
        self._known: dict[tuple[str, str], Price | None] = {}
        self._warned: set[tuple[str, ...]] = set()

    @classmethod
    def of(cls, file: Path | str | None) -> "PriceBook":
        """The book with your own file on top, if there is one."""
        return cls(read_book(file) if file else [])

    def rate(self, model: str, reported: Reported, at: str) -> list[Decimal | None]:
        """The cost of each part of a report at that time (RFC 3339, UTC)."""
        costs: list[Decimal | None] = []
        for part in parts_of(model, reported):
            picousd = self.cost(part, at)
            costs.append(None if picousd is None else usd(picousd))
        return costs

    def cost(self, part: UsagePart, at: str) -> int | None:
        """Picodollars, or None if unknown. A part without tokens and searches costs 0."""
        if not part.total_tokens and not part.web_searches:
            return 0
        price = self.price(part.model, at)
        picousd = None if price is None else cost(part, price)
        if picousd is None:
            self._warn(part)
        return picousd

    def savings(self, part: UsagePart, at: str) -> int:
        price = self.price(part.model, at)
        return 0 if price is None else savings(part, price)

    def price(self, model: str, at: str) -> Price | None:
        key = (model, at[:10])
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._find(model.lower(), at[:10])
        return self._known[key]

    def _find(self, model: str, day: str) -> Price | None:
        sources: tuple[Callable[[], Sequence[Price]], ...] = (
            lambda: _listed(self._own, model),
            lambda: _listed(built_in(), model),
            lambda: self._publish(model),
        )
        dated = (price for source in sources for price in source() if price.since <= day)
        return next(dated, None)

    def _warn(self, part: UsagePart) -> None:
        kind = (part.model, part.service_tier, part.geo or "global", part.speed)
        if kind not in self._warned and len(self._warned) < MOST_KNOWN:
            self._warned.add(kind)
            facts = dict(zip(("model", "tier", "geo", "speed"), kind, strict=True))
            _log.warning(
                "there is no price for a call: its cost is unknown. Add one to your price book.",
                extra={"facts": facts},
            )


def _listed(listed: Listed, model: str) -> list[Price]:
    """A file's prices of a model: the closest name first, then the newest day first."""
    undated = _DATE.sub("", model)
    fitting = [row for row in listed if _fits(row[0], model) or row[0] == undated]
    fitting.sort(key=lambda row: (not row[0].endswith("*"), len(row[0]), row[1].since))
    return [price for _, price in reversed(fitting)]


def _fits(name: str, model: str) -> bool:
    return model.startswith(name[:-1]) if name.endswith("*") else model == name
