"""Tickets over HTTP: for `EventSource` and images, which cannot send a token."""

import msgspec
from starlette.responses import Response

from turnlog.transports.access import tickets
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.mounting import route_path


class NewTicket(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/tickets"""

    path: str


async def issue(request: UserRequest) -> Response:
    wish = await request.body(NewTicket)
    path = route_path({**request.http.scope, "path": wish.path})  # also as the host calls it
    issued = await tickets.issue(request.backend.store, request.user, path)
    return json_response({"ticket": issued.ticket, "expiresAt": issued.expires_at}, 201)
