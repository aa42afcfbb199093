"""`turnlog bill`: usage and cost as a table for people, or as CSV for programs."""

import argparse
from collections.abc import Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING

from turnlog.commands.shared import Add, add_data, count, say, settings_of, with_store
from turnlog.errors import BadInput
from turnlog.ports import Charge, Store

if TYPE_CHECKING:
    from turnlog.prices import PriceBook
    from turnlog.projections.billing.bill import Bill

GROUPS = ("day", "model", "user", "session", "agent", "tool")
BLOCKS = " ▏▎▍▌▋▊▉█"
SIMULATED = (
    "Here a simulated Claude answers, because no API key is set. What it used is priced like the"
    " model whose name it has; nobody is charged for it."
)
BAR = 20  # characters of the longest bar
_NUMBERS = ("calls", "input", "cache write", "cache read", "output", "searches", "cost USD")


def bill(args: argparse.Namespace) -> int:
    """Print what was used and what it cost."""
    from turnlog.prices import PriceBook
    from turnlog.projections.billing.calendar import moment, zone
    from turnlog.transports.http.resources.billing import as_csv

    settings = settings_of(args)
    where = zone(args.timezone or settings.timezone)
    book = PriceBook.of(args.reprice or settings.prices)
    start = None if args.start is None else moment(args.start, where, "--from")
    end = None if args.end is None else moment(args.end, where, "--to")
    if start is not None and end is not None and start >= end:
        raise BadInput("'--to' must be a later day than '--from': it is the first one not in it.")

    async def run(store: Store) -> int:
        charges = await store.charges(user_id=args.user, start=start, end=end)
        if args.reprice is not None:
            charges = repriced(charges, book)
        if args.csv:
            say(as_csv(charges, where).rstrip())
        else:
            for line in report(charges, args.by, where, book):
                say(line)
            if settings.simulated and charges:
                say(SIMULATED)
        return 0

    return with_store(args, run)


def repriced(charges: Sequence[Charge], book: "PriceBook") -> list[Charge]:
    """The same usage at the prices of another book. The log keeps what it says."""
    return [c._replace(cost_picousd=book.cost(c.part, c.created_at)) for c in charges]


def report(
    charges: Sequence[Charge], by: str | None, where: tzinfo, book: "PriceBook"
) -> list[str]:
    """The tables, line by line: by one thing, or by day, model and user."""
    from turnlog.projections.billing.bill import grouped, key, whole

    if not charges:
        return ["Nothing was used."]
    lines: list[str] = []
    for group in (by,) if by else ("day", "model", "user"):
        lines += _table(group, grouped(charges, key(group, where)))
        lines.append("")
    everything = whole(charges)
    lines += [_line("all", everything, 0), "", *_summary(charges, everything, book)]
    return lines


def _table(by: str, bills: "dict[str, Bill]") -> list[str]:
    widest = max(bill.picousd for bill in bills.values())
    head = f"{by:28}" + "".join(f"{name:>13}" for name in _NUMBERS)
    return [head, *(_line(name, bill, widest) for name, bill in bills.items())]


def _line(name: str, bill: "Bill", widest: int) -> str:
    counts = (
        bill.calls,
        bill.input_tokens,
        bill.cache_write_tokens,
        bill.cache_read_tokens,
        bill.output_tokens,
        bill.web_searches,
    )
    shown = "".join(f"{count:>13,}" for count in counts)
    bar = f"  {_bar(bill.picousd, widest)}" if widest else ""
    return f"{_short(name):28}{shown}{_dollars(bill):>13}{bar}".rstrip()


def _summary(charges: Sequence[Charge], everything: "Bill", book: "PriceBook") -> list[str]:
    saved = sum(book.savings(charge.part, charge.created_at) for charge in charges)
    sessions = len({charge.session_id for charge in charges})
    users = len({charge.user_id for charge in charges})
    lines = [
        f"{count(sessions, 'session')} of {count(users, 'user')};"
        f" {everything.thinking_tokens:,} of the output tokens were thought;"
        f" {count(everything.partial, 'call')} {'was' if everything.partial == 1 else 'were'}"
        " cut off.",
        _cache(saved),
    ]
    if everything.unpriced:
        lines.append(f"* {everything.unpriced} costs are unknown and not in these sums.")
    return lines


def _cache(saved: int) -> str:
    if saved < 0:
        return (
            f"The cache cost {_amount(-saved)} USD more than it saved: too little of what was"
            " written was read again."
        )
    return (
        f"The cache saved {_amount(saved)} USD: what it read would have cost more as fresh input,"
        " less what writing it cost extra."
    )


def _dollars(bill: "Bill") -> str:
    return _amount(bill.picousd) + ("*" if bill.unpriced else "")


def _amount(picousd: int) -> str:
    from turnlog.events.money import usd

    return f"{usd(picousd).quantize(Decimal('0.000001')):,f}"


def _bar(value: int, widest: int) -> str:
    eighths = max(value, 0) * BAR * 8 // widest
    return BLOCKS[8] * (eighths // 8) + BLOCKS[eighths % 8].strip()


def _short(name: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= 27 else f"{plain[:26]}…"


def register(add: Add) -> None:
    parser = add(bill)
    parser.add_argument("--user", metavar="U", help="default: everybody")
    parser.add_argument("--from", dest="start", metavar="D", help="the first day")
    parser.add_argument("--to", dest="end", metavar="D", help="the first day that is not in it")
    parser.add_argument("--by", choices=GROUPS, help="default: day, model and user")
    parser.add_argument(
        "--reprice", nargs="?", const="", metavar="BOOK",
        help="at the prices of this book; without one, at today's",
    )  # fmt: skip
    parser.add_argument("--timezone", metavar="TZ", help="where days begin; default: UTC")
    parser.add_argument("--csv", action="store_true", help="every call as a line")
    add_data(parser)
