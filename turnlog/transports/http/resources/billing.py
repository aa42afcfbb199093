"""Bills over HTTP, by the time of the messages. Rows are snake_case, as the contract has them."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from starlette.responses import Response

from turnlog.errors import BadInput, NotFound
from turnlog.events.money import usd
from turnlog.ports import Charge
from turnlog.projections.billing.bill import grouped, key, whole
from turnlog.projections.billing.calendar import day_of, moment, zone
from turnlog.transports.http.request import UserRequest, json_response

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what makes a spreadsheet calculate


async def session(request: UserRequest) -> Response:
    """A session's bill is for its owner."""
    backend, user_id = request.backend, request.user.id
    session = await backend.store.get_session(user_id, request.id("session_id"))
    where, as_csv = _where(request), _wants_csv(request)
    charges = await backend.store.charges(user_id=user_id, session_id=session.id)
    if as_csv:
        return _csv(charges, where)
    bill = whole(charges)
    sums = {
        "session_id": session.id,
        "user_id": session.user_id,
        "session_start": session.created_at,
        "message_count": await backend.store.count_messages(user_id, session.id),
        "total_input_tokens": bill.input_tokens,
        "total_output_tokens": bill.output_tokens,
        "total_cache_write_tokens": bill.cache_write_tokens,
        "total_cache_read_tokens": bill.cache_read_tokens,
        "total_thinking_tokens": bill.thinking_tokens,
        "total_tokens": bill.total_tokens,
        "web_searches": bill.web_searches,
        "estimated_cost_usd": bill.cost_usd,
        "known_cost_usd": usd(bill.picousd),
        "unpriced": bill.unpriced,
    }
    budgets = await backend.budgets(user_id, session.id)
    return json_response(sums | _groups(charges, where) | {"budgets": budgets})


async def user(request: UserRequest) -> Response:
    """A user's bill is for the user, and for admins."""
    backend, user_id = request.backend, request.id("user_id")
    if user_id != request.user.id and not request.user.admin:
        raise NotFound(f"There is no user {user_id!r}.")
    where, as_csv = _where(request), _wants_csv(request)
    charges = await backend.store.charges(user_id=user_id, **_range(request, where))
    if as_csv:
        return _csv(charges, where)
    sums = {"user_id": user_id} | _sums(charges, where)
    budgets = await backend.budgets(user_id)
    return json_response(sums | _groups(charges, where) | {"budgets": budgets})


async def users(request: UserRequest) -> Response:
    """Everybody's bill, by user: for admins."""
    backend, where = request.backend, _where(request)
    as_csv = _wants_csv(request)
    charges = await backend.store.charges(**_range(request, where))
    if as_csv:
        return _csv(charges, where)
    return json_response(_sums(charges, where) | _groups(charges, where, "user"))


def _where(request: UserRequest) -> tzinfo:
    """The time zone in which days begin."""
    name = request.query("timezone")
    return request.backend.timezone if name is None else zone(name)


def _range(request: UserRequest, where: tzinfo) -> dict[str, str | None]:
    """Half-open: the day of `endDate` is not in it."""
    names = {"start": "startDate", "end": "endDate"}
    texts = {bound: request.query(name) for bound, name in names.items()}
    times = {
        bound: None if text is None else moment(text, where, names[bound])
        for bound, text in texts.items()
    }
    if times["start"] and times["end"] and times["start"] > times["end"]:
        raise BadInput("'startDate' is after 'endDate'.")
    return times


def _sums(charges: Sequence[Charge], where: tzinfo) -> dict[str, Any]:
    bill = whole(charges)
    return {
        "total_sessions": len({charge.session_id for charge in charges}),
        "total_tokens": bill.total_tokens,
        "total_cost_usd": bill.cost_usd,
        "known_cost_usd": usd(bill.picousd),
        "unpriced": bill.unpriced,
        "timezone": str(where),
    }


def _groups(charges: Sequence[Charge], where: tzinfo, *more: str) -> dict[str, Any]:
    plain = {
        f"by_{by}": [
            {by: name, **bill.shown()} for name, bill in grouped(charges, key(by, where)).items()
        ]
        for by in ("day", "model", "agent", "tool", *more)
    }
    return plain | {f"by_day_and_{by}": _by_day(charges, where, by) for by in ("agent", "model")}


def _by_day(charges: Sequence[Charge], where: tzinfo, by: str) -> list[dict[str, Any]]:
    """For a chart: each day with what each agent, or each model, cost on it."""
    day, name = key("day", where), key(by, where)
    bills = grouped(charges, lambda charge: f"{day(charge)} {name(charge)}")
    rows = ((both.partition(" "), bill) for both, bill in bills.items())
    return [
        {
            "day": each[0],
            by: each[2],
            "cost_usd": bill.cost_usd,
            "known_cost_usd": usd(bill.picousd),
            "tokens": bill.total_tokens,
        }
        for each, bill in rows
    ]


def _wants_csv(request: UserRequest) -> bool:
    name = request.query("format")
    if name not in (None, "csv", "json"):
        raise BadInput("'format' must be json or csv.")
    return name == "csv" or (name is None and request.accepts("text/csv"))


def _csv(charges: Iterable[Charge], where: tzinfo) -> Response:
    headers = {"content-disposition": 'attachment; filename="usage.csv"'}
    return Response(as_csv(charges, where), 200, headers, "text/csv; charset=utf-8")


def as_csv(charges: Iterable[Charge], where: tzinfo) -> str:
    """One line for each part of each call, the costs to the last digit."""
    names = [name for name in Charge._fields if name != "cost_picousd"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["day", *names, "cost_usd"])
    for charge in (each for each in charges if each.is_call):
        cells = [_cell(getattr(charge, name)) for name in names]
        writer.writerow([day_of(charge.created_at, where), *cells, _cost(charge.cost_picousd)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A name must not be a formula for whoever opens the file: a quote makes it a text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _cost(picousd: int | None) -> str:
    return "" if picousd is None else f"{Decimal(usd(picousd)):f}"
