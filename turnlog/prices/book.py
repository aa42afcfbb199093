"""The price book: which price a model had on which day, and what a call cost by it.

Your own file wins, then comes what `genai-prices` publishes, then what ships with turnlog. A
model that none of them knows has an unknown cost, which is not zero, and is warned of once.
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
MOST_KNOWN = 1000  # answers remembered: models times days
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
        """The book with your own file, if there is one, on top."""
        return cls(read_book(file) if file else [])

    def rate(self, model: str, reported: Reported, at: str) -> list[Decimal | None]:
        """What each part of a report cost, at that time (RFC 3339, UTC)."""
        costs = [self.cost(part, at) for part in parts_of(model, reported)]
        return [None if picousd is None else usd(picousd) for picousd in costs]

    def cost(self, part: UsagePart, at: str) -> int | None:
        """Picodollars. Nothing costs nothing, whoever did it."""
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
            lambda: self._publish(model),
            lambda: _listed(built_in(), model),
        )
        dated = (price for source in sources for price in source() if price.since <= day)
        return next(dated, None)

    def _warn(self, part: UsagePart) -> None:
        what = (part.model, part.service_tier, part.geo or "global", part.speed)
        if what not in self._warned and len(self._warned) < MOST_KNOWN:
            self._warned.add(what)
            facts = dict(zip(("model", "tier", "geo", "speed"), what, strict=True))
            _log.warning(
                "there is no price for a call: its cost is unknown. Add one to your price book.",
                extra={"facts": facts},
            )


def _listed(listed: Listed, model: str) -> list[Price]:
    """A file's prices of the model: the closest name first, of one name the newest first."""
    undated = _DATE.sub("", model)
    fitting = [row for row in listed if _fits(row[0], model) or row[0] == undated]
    fitting.sort(key=lambda row: (not row[0].endswith("*"), len(row[0]), row[1].since))
    return [price for _, price in reversed(fitting)]


def _fits(name: str, model: str) -> bool:
    return model.startswith(name[:-1]) if name.endswith("*") else model == name
