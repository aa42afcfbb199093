"""The OpenAPI document, made from the table of routes, and a page to read it."""

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.transports.http import answers
from turnlog.transports.http.answers import answer_of
from turnlog.transports.http.event_schemas import EVENT, event_schemas
from turnlog.transports.http.resources.approvals import STATUSES
from turnlog.transports.http.resources.sessions import ORDERS

if TYPE_CHECKING:  # the table has a route for the document
    from turnlog.transports.http.routes import Route

Json = dict[str, Any]
QUERY: dict[str, Json] = {  # by name, or by path and name
    "after": {"type": ["string", "integer"]},
    "archived": {"type": "boolean"},
    "before": {"type": "integer", "minimum": 0},
    "cursor": {"type": "string"},
    "endDate": {"type": "string", "format": "date"},
    "format": {"type": "string", "enum": ["json", "csv"]},
    "internal": {"type": "boolean"},
    "limit": {"type": "integer", "minimum": 1},
    "search": {"type": "string", "maxLength": 200},
    "page": {"type": "integer", "minimum": 1},
    "pages": {"type": "string", "pattern": r"^\d+(-\d+)?(,\d+(-\d+)?)*$"},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "/api/sessions order": {"type": "string", "enum": list(ORDERS)},
    "session": {"type": "string", "maxLength": 200},
    "user": {"type": "string", "maxLength": 200},
    "startDate": {"type": "string", "format": "date"},
    "status": {"type": "string", "enum": list(STATUSES)},
    "stream": {"type": "boolean"},
    "starting_after": {"type": "integer", "minimum": 0},
    "timezone": {"type": "string"},
    "turnId": {"type": "string", "maxLength": 200},
    "width": {"type": "integer", "minimum": 16, "maximum": 1600},
}


def document(routes: "Sequence[Route]", version: str) -> Json:
    """OpenAPI 3.1, with a schema for every body, every answer and every event."""
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "turnlog", "version": version},
        "paths": paths,
        "components": {
            "schemas": _schemas(routes),
            "securitySchemes": {"bearer": bearer},
        },
    }


def _schemas(routes: "Sequence[Route]") -> dict[str, Json]:
    bodies = [route.body for route in routes if route.body]
    types = [a for r in routes if not isinstance(a := answer_of(r.method, r.path), str)]
    _, made = msgspec.json.schema_components(
        list(dict.fromkeys([*bodies, *types])), ref_template="#/components/schemas/{name}"
    )
    for page in ("EventPage", "LogPage"):
        if page in made:
            made[page]["properties"]["events"]["items"] = _reference(EVENT)
    numbers: dict[str, Json] = _as_numbers(made)
    return numbers | event_schemas() | {"Problem": _PROBLEM}


def _as_numbers(schema: Any) -> Any:
    """Decimals are numbers on our wire; msgspec's own way would be text. And lists have items."""
    if isinstance(schema, list):
        return [_as_numbers(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        return {"type": "number"}
    if schema.get("type") == "array":  # of anything: generators want that said
        schema = {"items": {}} | schema
    return {name: _as_numbers(each) for name, each in schema.items()}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_PROBLEM: Json = {
    "type": "object",
    "description": "RFC 9457",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}


def _operation(route: "Route") -> Json:
    problem = {"schema": _reference("Problem")}
    wrong = {"description": "What is wrong.", "content": {"application/problem+json": problem}}
    operation: Json = {
        "operationId": _name(route),
        "tags": [_tag(route)],
        "summary": route.summary,
        "parameters": [_in_path(name) for name in re.findall(r"{(\w+)}", route.path)]
        + [_in_query(route.path, name) for name in route.query],
        "responses": {str(route.status): _answer(route), **_streamed(route), "default": wrong},
    }
    if route.body:
        content = {"schema": _reference(route.body.__name__), "example": route.example}
        operation["requestBody"] = {"content": {"application/json": content}}
    elif route.path.startswith(_UPLOADS) and route.method == "POST":
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": _FORM}}}
    open_to_all = route.who in ("none", "guest")
    return operation | ({} if open_to_all else {"security": [{"bearer": []}]})


_UPLOADS = "/api/sessions/{session_id}/files"
_FORM: Json = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}
_BYTES: Json = {"type": "string", "format": "binary"}
_CONTENT: dict[str, Json] = {
    answers.PAGE: {"type": "string"},
    answers.TEXT: {"type": "string"},
    answers.STREAM: {"type": "string", "description": "Each `data:` is an Event."},
    answers.FOREIGN: {},
    answers.BYTES: _BYTES,
}


def _answer(route: "Route") -> Json:
    kind = answer_of(route.method, route.path)
    if kind == answers.NOTHING:
        return {"description": route.answer}
    if isinstance(kind, str):
        content = {kind: {"schema": _CONTENT[kind]}}
    else:
        content = {"application/json": {"schema": _reference(kind.__name__)}}
    return {"description": route.answer, "content": content}


def _streamed(route: "Route") -> Json:
    """A question is also answered as a stream, where the client asks for one."""
    if (route.method, route.path) != ("POST", "/api/sessions/{session_id}/messages"):
        return {}
    content = {answers.STREAM: {"schema": _CONTENT[answers.STREAM]}}
    return {"200": {"description": "The turn's events.", "content": content}}


def _tag(route: "Route") -> str:
    """What a generated client puts together: the module of the handler."""
    module = "mcp" if route.handler is None else route.handler.__module__
    return module.rpartition(".")[2]


def _name(route: "Route") -> str:
    own = route.method.lower() if route.handler is None else route.handler.__name__
    return f"{_tag(route)}_{own}"


def _in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(path: str, name: str) -> Json:
    schema = QUERY.get(f"{path} {name}") or QUERY[name]
    return {"name": name, "in": "query", "required": False, "schema": schema}


WHO = {"none": "anybody", "guest": "anybody, a user more", "scraper": "the metrics token, an admin"}


def page(routes: "Sequence[Route]") -> str:
    """The same, for people."""
    rows = "".join(
        f"<tr><td><b>{route.method}</b></td><td><code>{escape(route.path)}</code></td>"
        f"<td>{_prose(route.summary)}</td><td>{_fields(route)}</td>"
        f"<td>{_prose(route.answer)}</td><td>{WHO.get(route.who, route.who)}</td></tr>"
        for route in routes
    )
    return _PAGE.replace("ROWS", rows)


def _prose(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text))


def _fields(route: "Route") -> str:
    names = route.body.__struct_encode_fields__ if route.body else route.query
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>turnlog: HTTP</title>
<meta name="viewport" content="width=device-width"><style>:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem}
td,th{text-align:left;padding:.3rem 1rem .3rem 0;vertical-align:top;border-bottom:1px solid #8884}
@media(max-width:60rem){tr:first-child{display:none}code{overflow-wrap:anywhere}
tr,td{display:block}tr{padding:.6rem 0;border-bottom:1px solid #8884}td{border:0;padding:0}
td:nth-child(-n+2){display:inline;padding-right:.5rem}}
</style></head><body><h1>HTTP</h1><p>The same for programs:
<a href="openapi.json">openapi.json</a>. Errors are problem documents (RFC 9457).</p>
<table><tr><th></th><th>path</th><th>what it does</th><th>body or query</th><th>answer</th>
<th>who may</th></tr>ROWS</table>
</body></html>"""
