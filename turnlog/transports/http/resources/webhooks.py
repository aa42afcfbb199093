"""Notices of webhooks, for admins: how far each has come, and send again."""

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput, NotFound
from turnlog.events.base import Value
from turnlog.events.clock import now
from turnlog.transports.http.request import UserRequest, json_response

STATUSES = ("waiting", "delivered", "failed")


class Replay(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/webhooks/replay: one notice by its id, or all with a status."""

    id: str | None = None
    status: str | None = None


class NoticeView(Value, frozen=True, kw_only=True):
    """A notice without what it says: that is for its endpoint."""

    id: str
    endpoint: str
    type: str
    created_at: str
    due_at: str
    status: str
    tries: int
    outcome: str


async def notices(request: UserRequest) -> Response:
    status = _status(request.query("status"))
    limit = request.number("limit", 100, least=1, most=1000)
    page = await request.backend.store.outbox.page(status=status, limit=limit)
    fields = NoticeView.__struct_fields__
    views = [NoticeView(**{name: getattr(each, name) for name in fields}) for each in page]
    return json_response({"notices": views})


async def replay(request: UserRequest) -> Response:
    wanted = await request.body(Replay)
    if (wanted.id is None) == (wanted.status is None):
        raise BadInput("Say the 'id' of a notice, or a 'status'; not both.")
    count = await request.backend.store.outbox.replay(
        now(), id=wanted.id, status=_status(wanted.status)
    )
    if wanted.id is not None and not count:
        raise NotFound(f"There is no notice {wanted.id!r}.")
    return json_response({"replayed": count})


def _status(text: str | None) -> str | None:
    if text is not None and text not in STATUSES:
        raise BadInput(f"'status' must be one of {', '.join(STATUSES)}, not {text!r}.")
    return text
