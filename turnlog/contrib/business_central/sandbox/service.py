"""API v2.0 without HTTP: a call goes in, an answer comes out. `server.py` puts it on a socket."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from . import metadata, options, query, records
from .actions import ACTIONS
from .company import Company, Row, etag
from .entities import COMPANY, ENTITIES, SETS
from .refusal import Refused, body, refuse
from .targets import Target, resolve

LONGEST_URL = 15_700  # measured on the real service: 400 above it, never 414
_ETAG = re.compile(r'W/"[A-Za-z0-9+/=]+"')
_ALLOWED = {"set": ("GET", "POST"), "row": ("GET", "PATCH", "DELETE"), "action": ("POST",)}
_WORD = {"POST": "insert", "PATCH": "modify", "DELETE": "delete"}


@dataclass(frozen=True)
class Call:
    """A request below `/api/v2.0/`. Names of headers are in lower case."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Service:
    """The companies, and what may be asked of them."""

    def __init__(self, companies: list[Company], page_size: int) -> None:
        self.companies, self._page_size = companies, page_size
        self.base = ""  # where it is served: for links and contexts
        self._answered = 0

    def answer(self, call: Call) -> Answer:
        """Never raises for what a call says."""
        self._answered += 1
        request_id = str(uuid5(NAMESPACE_URL, f"request/{self._answered}"))
        try:
            said = self._said(call)
        except Refused as refused:
            told = body(refused.code, refused.message, request_id)
            said = Answer(refused.status, told)
        return Answer(said.status, said.body, {"request-id": request_id, **said.headers})

    def _said(self, call: Call) -> Answer:
        if len(call.path) + sum(len(k) + len(v) + 2 for k, v in call.query) > LONGEST_URL:
            refuse("BadRequest", "The request URL is too long.")
        if call.path.strip("/") in ("", "$metadata"):
            return self._about(call)
        given = dict(call.query)
        chosen = call.headers.get("company", given.get("company", ""))
        target = resolve(call.path, self.companies, chosen)
        _check_method(call.method, target)
        unit = target.company.all_or_nothing() if target.company else nullcontext()
        with unit:
            return self._done(call, target)

    def _about(self, call: Call) -> Answer:
        if call.method != "GET":
            refuse("BadRequest_MethodNotAllowed", f"'{call.method}' requests are not allowed.")
        if call.path.strip("/"):
            return Answer(200, metadata.document(), {"content-type": "application/xml"})
        sets = [{"name": name, "kind": "EntitySet", "url": name} for name in SETS]
        return Answer(200, {"@odata.context": f"{self.base}/$metadata", "value": sets})

    def _done(self, call: Call, target: Target) -> Answer:
        if target.action:
            return self._act(target)
        match call.method:
            case "GET" if target.id:
                return self._row(call, target)
            case "GET":
                return self._set(call, target)
            case "POST":
                return self._create(call, target)
            case "PATCH":
                return self._change(call, target)
        return self._remove(call, target)

    # --- reading ---

    def _set(self, call: Call, target: Target) -> Answer:
        asked = options.read(call.query, target.entity, ENTITIES)
        query.check_lines_have_a_document(target, asked)
        rows = query.rows_of(target, self.companies)
        if target.count:
            return Answer(200, str(len(query.arranged(rows, asked))))
        found = query.page(rows, asked, _preferred(call.headers), self._page_size)
        told: dict[str, Any] = {"@odata.context": self._context(target)}
        if asked.count:
            told["@odata.count"] = found.count
        told["value"] = [
            query.shown(target.company, target.entity, row, asked) for row in found.rows
        ]
        if found.last_id:
            url = f"{self.base}/{call.path.strip('/')}"
            told["@odata.nextLink"] = query.next_link(url, call.query, found)
        return Answer(200, told)

    def _row(self, call: Call, target: Target) -> Answer:
        asked = options.read(call.query, target.entity, ENTITIES)
        return self._told(target, self._found(target), 200, asked)

    def _found(self, target: Target) -> Row:
        rows = query.rows_of(target, self.companies)
        found = next((row for row in rows if row["id"] == target.id), None)
        if found is None:
            refuse(
                "Internal_RecordNotFound",
                f"The {target.entity.caption} does not exist."
                f" Identification fields and values: SystemId='{target.id}'",
            )
        return found

    # --- writing ---

    def _create(self, call: Call, target: Target) -> Answer:
        company, given = _company(target), _json(call.body)
        if target.document_id:
            given = given | {"documentId": target.document_id}
        row = records.create(company, target.entity, given)
        said = self._told(target, row, 201)
        place = f"{self.base}/{target.path}({row['id']})"
        return Answer(201, said.body, {"location": place})

    def _change(self, call: Call, target: Target) -> Answer:
        row = self._found(target)
        _check_etag(call.headers, row)
        return self._told(
            target, records.change(_company(target), target.entity, row, _json(call.body)), 200
        )

    def _remove(self, call: Call, target: Target) -> Answer:
        row = self._found(target)
        _check_etag(call.headers, row)
        records.remove(_company(target), target.entity, row)
        return Answer(204)

    def _act(self, target: Target) -> Answer:
        ACTIONS[target.entity.name, target.action](_company(target), self._found(target))
        return Answer(204)

    # --- telling ---

    def _context(self, target: Target) -> str:
        return f"{self.base}/$metadata#{target.path}"

    def _told(
        self, target: Target, row: Row, status: int, asked: options.Options | None = None
    ) -> Answer:
        told = {"@odata.context": self._context(target) + "/$entity"}
        asked = asked or options.Options()
        return Answer(status, told | query.shown(target.company, target.entity, row, asked))


def _company(target: Target) -> Company:
    if target.company is None:
        refuse("BadRequest_MethodNotAllowed", "Entity does not support insert.")
    return target.company


def _check_method(method: str, target: Target) -> None:
    kind = "action" if target.action else "row" if target.id else "set"
    if method not in _ALLOWED[kind]:
        edm = "Collection" if kind == "set" else "Entity"
        refuse(
            "BadRequest_MethodNotAllowed",
            f"'{method}' requests for '{target.entity.set}' of EdmType '{edm}' are not allowed"
            " within Dynamics 365 Business Central OData web services.",
        )
    if method != "GET" and (target.entity is COMPANY or not target.entity.changeable):
        refuse("BadRequest_MethodNotAllowed", f"Entity does not support {_WORD[method]}.")


def _check_etag(headers: Mapping[str, str], row: Row) -> None:
    given = headers.get("if-match", "").strip()
    if given == "*":
        return
    if not _ETAG.fullmatch(given):
        refuse(
            "BadRequest_InvalidToken",
            "Could not validate the client concurrency token required by the service. Please"
            " provide a valid token in the client request.",
        )
    if given != etag(row):
        refuse("Request_EntityChanged", "Another user has already changed the record.")


def _preferred(headers: Mapping[str, str]) -> int:
    found = re.search(r"odata\.maxpagesize=(\d{1,9})(?!\d)", headers.get("prefer", ""))
    return int(found[1]) if found else 0


def _json(raw: bytes) -> Row:
    try:
        given = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        given = None
    if not isinstance(given, dict):
        refuse("BadRequest", "Invalid Request Body")
    return given
