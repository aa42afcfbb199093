"""Bills over HTTP, by the time of the messages. Rows are snake_case, as the contract has them."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from turnlog.errors import BadInput, NotFound
from turnlog.events.money import usd
from turnlog.ports import Backend, Charge
from turnlog.projections.billing.bill import grouped, key, whole
from turnlog.projections.billing.calendar import day_of, moment, zone
from turnlog.transports.auth import Auth
from turnlog.transports.http.request import json_response

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what makes a spreadsheet calculate
_LEFT_OUT = ("cost_picousd", "geo", "speed")


class BillingRoutes:
    """A session's bill is for its owner; a user's for the user and for admins."""

    def __init__(self, backend: Backend, auth: Auth) -> None:
        self._backend = backend
        self._auth = auth

    async def session(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        store = self._backend.store
        session = await store.get_session(user.id, request.path_params["session_id"])
        where, as_csv = self._where(request), _wants_csv(request)
        charges = await store.charges(user_id=user.id, session_id=session.id)
        if as_csv:
            return _csv(charges, where)
        bill = whole(charges)
        told = {
            "session_id": session.id,
            "user_id": session.user_id,
            "session_start": session.created_at,
            "message_count": await store.count_messages(user.id, session.id),
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
        budgets = await self._backend.budgets(user.id, session.id)
        return json_response(told | _groups(charges, where) | {"budgets": budgets})

    async def user(self, request: Request) -> Response:
        asking = await self._auth.identify(request.headers.get("authorization"))
        user_id = request.path_params["user_id"]
        if user_id != asking.id and not asking.admin:
            raise NotFound(f"There is no user {user_id!r}.")
        where, as_csv = self._where(request), _wants_csv(request)
        charges = await self._backend.store.charges(user_id=user_id, **_range(request, where))
        if as_csv:
            return _csv(charges, where)
        bill = whole(charges)
        told = {
            "user_id": user_id,
            "total_sessions": len({charge.session_id for charge in charges}),
            "total_tokens": bill.total_tokens,
            "total_cost_usd": bill.cost_usd,
            "known_cost_usd": usd(bill.picousd),
            "unpriced": bill.unpriced,
            "timezone": str(where),
        }
        budgets = await self._backend.budgets(user_id)
        return json_response(told | _groups(charges, where) | {"budgets": budgets})

    def _where(self, request: Request) -> tzinfo:
        name = request.query_params.get("timezone")
        return self._backend.timezone if name is None else zone(name)


def _range(request: Request, where: tzinfo) -> dict[str, str | None]:
    """Half-open: the day of `endDate` is not in it."""
    given = {"start": "startDate", "end": "endDate"}
    texts = {bound: request.query_params.get(name) for bound, name in given.items()}
    times = {
        bound: None if text is None else moment(text, where, given[bound])
        for bound, text in texts.items()
    }
    if times["start"] and times["end"] and times["start"] > times["end"]:
        raise BadInput("'startDate' is after 'endDate'.")
    return times


def _groups(charges: Sequence[Charge], where: tzinfo) -> dict[str, Any]:
    return {
        f"by_{by}": [
            {by: name, **bill.shown()} for name, bill in grouped(charges, key(by, where)).items()
        ]
        for by in ("day", "model", "agent", "tool")
    }


def _wants_csv(request: Request) -> bool:
    named = request.query_params.get("format")
    if named not in (None, "csv", "json"):
        raise BadInput("'format' must be json or csv.")
    return named == "csv" or (named is None and "text/csv" in request.headers.get("accept", ""))


def _csv(charges: Iterable[Charge], where: tzinfo) -> Response:
    headers = {"content-disposition": 'attachment; filename="usage.csv"'}
    return Response(as_csv(charges, where), 200, headers, "text/csv; charset=utf-8")


def as_csv(charges: Iterable[Charge], where: tzinfo) -> str:
    """One line for each part of each call, the costs to the last digit."""
    names = [name for name in Charge._fields if name not in _LEFT_OUT]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["day", *names, "cost_usd"])
    for charge in charges:
        cells = [_cell(getattr(charge, name)) for name in names]
        writer.writerow([day_of(charge.created_at, where), *cells, _cost(charge.cost_picousd)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A name must not be a formula for whoever opens the file: a quote makes it a text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _cost(picousd: int | None) -> str:
    return "" if picousd is None else f"{Decimal(usd(picousd)):f}"
