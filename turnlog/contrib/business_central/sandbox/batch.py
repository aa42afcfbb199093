"""`$batch`: many requests in one. With `Isolation: snapshot` all of them happen, or none.

It ends with the first that fails, unless it comes with `Prefer: odata.continue-on-error`.
The status is 200 either way, and requests before the failed one still report success. So a client
has to look at every response.
"""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from turnlog.contrib.business_central.sandbox.service import Answer, Call, Service

MOST = 100
PATH = "$batch"


class _Undo(Exception):
    """Raised to undo the whole batch."""


class _Request(msgspec.Struct):
    method: str
    url: str
    id: str = ""
    headers: dict[str, str] = {}
    body: Any = None


class _Requests(msgspec.Struct):
    requests: list[_Request]


def run(service: Service, raw: bytes, headers: Mapping[str, str]) -> Answer:
    try:
        requests = msgspec.json.decode(raw, type=_Requests).requests
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _refused("Invalid Request Body")
    if len(requests) > MOST:
        return _refused(f"The batch holds more than {MOST} requests.")
    snapshot = headers.get("isolation", "").strip().lower() == "snapshot"
    goes_on = "odata.continue-on-error" in headers.get("prefer", "").lower()
    responses: list[dict[str, Any]] = []
    with suppress(_Undo), ExitStack() as stack:
        for company in service.companies if snapshot else ():
            stack.enter_context(company.all_or_nothing())
        for request in requests:
            answer = service.answer(_call(request))
            responses.append(_response(request, answer))
            if answer.status >= 400 and not goes_on:
                break
        if snapshot and any(response["status"] >= 400 for response in responses):
            raise _Undo
    return Answer(200, {"responses": responses})


def _call(request: _Request) -> Call:
    parts = _split(request.url)
    headers = {name.lower(): value for name, value in request.headers.items()}
    query = parse_qsl(parts.query, keep_blank_values=True)
    return Call(
        request.method.upper(), parts.path, query, headers, msgspec.json.encode(request.body)
    )


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")  # not an address, so nothing matches it


def _response(request: _Request, answer: Answer) -> dict[str, Any]:
    response = {"id": request.id, "status": answer.status, "headers": answer.headers}
    return response | ({} if answer.body is None else {"body": answer.body})


def _refused(message: str) -> Answer:
    return Answer(400, {"error": {"code": "BadRequest", "message": message}})
