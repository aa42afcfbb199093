"""What answers rest on, over HTTP."""

from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.projections.citations import shown
from turnlog.transports.http.request import UserRequest, json_response


async def of_message(request: UserRequest) -> Response:
    store = request.backend.store
    rows = await store.citations_of_message(request.user.id, request.id("message_id"))
    return json_response({"citations": _shown(rows)})


async def of_session(request: UserRequest) -> Response:
    """Oldest first; `after` is the number of the last answer that is known already."""
    limit = request.number("limit", 500, least=1, most=5000)
    after = request.number("after", -1, least=-1, most=2**62)
    rows = await request.backend.store.citations_of_session(
        request.user.id, request.id("session_id"), limit=limit, after=after
    )
    return json_response({"citations": _shown(rows)})


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [shown(row, msgspec.json.decode(row["location"])) for row in rows]
