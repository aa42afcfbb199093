"""API v2.0 without HTTP: a call goes in, an answer comes out. `server.py` puts it on a socket."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from turnlog.contrib.business_central.sandbox.books import records
from turnlog.contrib.business_central.sandbox.books.actions import ACTIONS
from turnlog.contrib.business_central.sandbox.books.company import Company, Row, etag
from turnlog.contrib.business_central.sandbox.query import options, pages
from turnlog.contrib.business_central.sandbox.refusal import Refused, body, refuse
from turnlog.contrib.business_central.sandbox.schema import metadata
from turnlog.contrib.business_central.sandbox.schema.entities import COMPANY, ENTITIES, SETS
from turnlog.contrib.business_central.sandbox.targets import Target, resolve

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
    """The companies, and the API over them."""

    def __init__(self, companies: list[Company], page_size: int) -> None:
        self.companies, self._page_size = companies, page_size
        self.base = ""  # the address of the API, for links and contexts
        self._answered = 0

    def answer(self, call: Call) -> Answer:
        """The answer to a call. No call makes it raise."""
        self._answered += 1
        request_id = str(uuid5(NAMESPACE_URL, f"request/{self._answered}"))
        try:
            answer = self._carry_out(call)
        except Refused as refused:
            error = body(refused.code, refused.message, request_id)
            answer = Answer(refused.status, error)
        return Answer(answer.status, answer.body, {"request-id": request_id, **answer.headers})

    def _carry_out(self, call: Call) -> Answer:
        if len(call.path) + sum(len(k) + len(v) + 2 for k, v in call.query) > LONGEST_URL:
            refuse("BadRequest", "The request URL is too long.")
        if call.path.strip("/") in ("", "$metadata"):
            return self._about(call)
        default = call.headers.get("company", dict(call.query).get("company", ""))
        target = resolve(call.path, self.companies, default)
        _check_method(call.method, target)
        unit = target.company.all_or_nothing() if target.company else nullcontext()
        with unit:
            return self._dispatch(call, target)

    def _about(self, call: Call) -> Answer:
        if call.method != "GET":
            refuse("BadRequest_MethodNotAllowed", f"'{call.method}' requests are not allowed.")
        if call.path.strip("/"):
            return Answer(200, metadata.document(), {"content-type": "application/xml"})
        sets = [{"name": name, "kind": "EntitySet", "url": name} for name in SETS]
        return Answer(200, {"@odata.context": f"{self.base}/$metadata", "value": sets})

    def _dispatch(self, call: Call, target: Target) -> Answer:
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
        wanted = options.read(call.query, target.entity, ENTITIES)
        pages.check_lines_have_a_document(target, wanted)
        rows = pages.rows_of(target, self.companies)
        if target.count:
            return Answer(200, str(len(pages.arrange(rows, wanted))))
        page = pages.page(rows, wanted, _preferred(call.headers), self._page_size)
        reply: dict[str, Any] = {"@odata.context": self._context(target)}
        if wanted.count:
            reply["@odata.count"] = page.count
        reply["value"] = [
            pages.show_row(target.company, target.entity, row, wanted) for row in page.rows
        ]
        if page.last_id:
            url = f"{self.base}/{call.path.strip('/')}"
            reply["@odata.nextLink"] = pages.next_link(url, call.query, page)
        return Answer(200, reply)

    def _row(self, call: Call, target: Target) -> Answer:
        wanted = options.read(call.query, target.entity, ENTITIES)
        return self._reply(target, self._find(target), 200, wanted)

    def _find(self, target: Target) -> Row:
        rows = pages.rows_of(target, self.companies)
        row = next((row for row in rows if row["id"] == target.id), None)
        if row is None:
            refuse(
                "Internal_RecordNotFound",
                f"The {target.entity.caption} does not exist."
                f" Identification fields and values: SystemId='{target.id}'",
            )
        return row

    # --- writing ---

    def _create(self, call: Call, target: Target) -> Answer:
        company, values = _company(target), _json(call.body)
        if target.document_id:
            values = values | {"documentId": target.document_id}
        row = records.create(company, target.entity, values)
        location = f"{self.base}/{target.path}({row['id']})"
        return Answer(201, self._reply(target, row, 201).body, {"location": location})

    def _change(self, call: Call, target: Target) -> Answer:
        row = self._find(target)
        _check_etag(call.headers, row)
        changed = records.change(_company(target), target.entity, row, _json(call.body))
        return self._reply(target, changed, 200)

    def _remove(self, call: Call, target: Target) -> Answer:
        row = self._find(target)
        _check_etag(call.headers, row)
        records.remove(_company(target), target.entity, row)
        return Answer(204)

    def _act(self, target: Target) -> Answer:
        ACTIONS[target.entity.name, target.action](_company(target), self._find(target))
        return Answer(204)

    # --- replies ---

    def _context(self, target: Target) -> str:
        return f"{self.base}/$metadata#{target.path}"

    def _reply(
        self, target: Target, row: Row, status: int, wanted: options.Options | None = None
    ) -> Answer:
        context = {"@odata.context": self._context(target) + "/$entity"}
        wanted = wanted or options.Options()
        return Answer(status, context | pages.show_row(target.company, target.entity, row, wanted))


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
    claimed = headers.get("if-match", "").strip()
    if claimed == "*":
        return
    if not _ETAG.fullmatch(claimed):
        refuse(
            "BadRequest_InvalidToken",
            "Could not validate the client concurrency token required by the service. Please"
            " provide a valid token in the client request.",
        )
    if claimed != etag(row):
        refuse("Request_EntityChanged", "Another user has already changed the record.")


def _preferred(headers: Mapping[str, str]) -> int:
    size = re.search(r"odata\.maxpagesize=(\d{1,9})(?!\d)", headers.get("prefer", ""))
    return int(size[1]) if size else 0


def _json(raw: bytes) -> Row:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        refuse("BadRequest", "Invalid Request Body")
    return value
