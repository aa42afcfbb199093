"""Errors as RFC 9457 problem documents: what is wrong, for a person; nothing for an attacker."""

import logging

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turnlog import errors

_log = logging.getLogger(__name__)
STATUS: dict[type[errors.TurnlogError], tuple[int, str]] = {
    errors.TooLarge: (413, "Too large"),
    errors.BadInput: (400, "Bad request"),
    errors.Unauthorized: (401, "Not signed in"),
    errors.Forbidden: (403, "Forbidden"),
    errors.NotFound: (404, "Not found"),
    errors.Archived: (409, "Archived"),
    errors.Busy: (409, "Busy"),
    errors.BeingDeleted: (409, "Busy"),
    errors.Reused: (409, "Conflict"),
    errors.AlreadyDecided: (409, "Already decided"),
    errors.ContentErased: (409, "Content erased"),
    errors.TooMany: (429, "Too many"),
    errors.NotStored: (503, "Not stored"),
    errors.Closing: (503, "Stopping"),
    errors.ContentLost: (503, "Content lost"),
    errors.ArchiveMissing: (503, "Archive missing"),
}
_TITLES = {404: "Not found", 405: "Method not allowed"}


# The words of OpenAI's API, for its clients.
OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def response(
    status: int, title: str, detail: str, code: str, path: str = "", param: str | None = None
) -> Response:
    """Under /v1 it also says so as clients of OpenAI's API look for it."""
    document: dict[str, object] = {
        "type": f"urn:turnlog:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
    }
    if path.startswith("/v1/"):
        default = "invalid_request_error" if status < 500 else "server_error"
        kind = OPENAI_TYPES.get(status, default)
        document["error"] = {"message": detail, "type": kind, "code": code, "param": param}
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    return Response(msgspec.json.encode(document), status, headers, "application/problem+json")


async def of(request: Request, error: Exception) -> Response:
    """For any error."""
    explain = explained if isinstance(error, errors.TurnlogError) else unexplained
    return await explain(request, error)


async def explained(request: Request, error: Exception) -> Response:
    """For errors that turnlog can explain."""
    assert isinstance(error, errors.TurnlogError)
    for kind, (status, title) in STATUS.items():
        if isinstance(error, kind):
            param = getattr(error, "name", None)
            answer = response(status, title, str(error), error.code, request.url.path, param)
            if isinstance(error, errors.TooMany):
                answer.headers["retry-after"] = str(error.retry_after)
            return answer
    return await unexplained(request, error)


async def unexplained(request: Request, error: Exception) -> Response:
    """A bug: recorded here, and no detail leaves the server."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail, path = "Something went wrong. Try again.", request.url.path
    return response(500, "Internal error", detail, "internal_error", path)


async def http(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    status = getattr(error, "status_code", 500)
    title = _TITLES.get(status, "Error")
    detail = f"{request.method} {request.url.path} is not something this server answers."
    headers = getattr(error, "headers", None) or {}  # which methods it does answer
    allowed = next((text for name, text in headers.items() if name.lower() == "allow"), "")
    if methods := sorted(each.strip() for each in allowed.split(",") if each.strip()):
        detail += f" Here it answers {', '.join(methods)}."
    code = title.lower().replace(" ", "_")
    answer = response(status, title, detail, code, request.url.path)
    answer.headers.update(headers)
    return answer
