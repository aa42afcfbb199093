"""`$batch`: many requests in one. With `Isolation: snapshot` they all happen, or none does.

The answer is 200 either way, and what came before a failure still says that it went well: a
client has to look at every response.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from .service import Answer, Call, Service

MOST = 100
PATH = "$batch"


class _Undo(Exception):
    """Raised to leave every company as it was."""


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
        asked = msgspec.json.decode(raw, type=_Requests).requests
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _refused("Invalid Request Body")
    if len(asked) > MOST:
        return _refused(f"The batch holds more than {MOST} requests.")
    snapshot = headers.get("isolation", "").strip().lower() == "snapshot"
    return Answer(200, {"responses": _responses(service, asked, snapshot)})


def _responses(service: Service, asked: list[_Request], snapshot: bool) -> list[dict[str, Any]]:
    said: list[tuple[_Request, Answer]] = []
    try:
        with ExitStack() as stack:
            for company in service.companies if snapshot else ():
                stack.enter_context(company.all_or_nothing())
            said = [(one, service.answer(_call(one))) for one in asked]
            if snapshot and any(answer.status >= 400 for _, answer in said):
                raise _Undo
    except _Undo:
        pass
    return [_told(one, answer) for one, answer in said]


def _call(one: _Request) -> Call:
    parts = _split(one.url)
    headers = {name.lower(): value for name, value in one.headers.items()}
    query = parse_qsl(parts.query, keep_blank_values=True)
    return Call(one.method.upper(), parts.path, query, headers, msgspec.json.encode(one.body))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")  # no address: nothing will be found there


def _told(one: _Request, answer: Answer) -> dict[str, Any]:
    told = {"id": one.id, "status": answer.status, "headers": answer.headers}
    return told | ({} if answer.body is None else {"body": answer.body})


def _refused(message: str) -> Answer:
    return Answer(400, {"error": {"code": "BadRequest", "message": message}})
