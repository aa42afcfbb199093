"""The OpenAPI document, made from the table of routes, and a page to read it."""

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.transports.http.approvals import STATUSES

if TYPE_CHECKING:  # the table has a route for the document
    from turnlog.transports.http.routes import Route

Json = dict[str, Any]
QUERY: dict[str, Json] = {
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
    "startDate": {"type": "string", "format": "date"},
    "status": {"type": "string", "enum": list(STATUSES)},
    "stream": {"type": "boolean"},
    "timezone": {"type": "string"},
    "width": {"type": "integer", "minimum": 16, "maximum": 1600},
}


def document(routes: "Sequence[Route]", version: str) -> Json:
    """OpenAPI 3.1."""
    bodies = [route.body for route in routes if route.body]
    _, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "turnlog", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas | {"Problem": _PROBLEM},
            "securitySchemes": {"bearer": bearer},
        },
    }


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
    problem = {"$ref": "#/components/schemas/Problem"}
    operation: Json = {
        "summary": route.summary,
        "parameters": [_in_path(name) for name in re.findall(r"{(\w+)}", route.path)]
        + [_in_query(name) for name in route.query],
        "responses": {
            str(route.status): {"description": route.answer},
            "default": {
                "description": "What is wrong.",
                "content": {"application/problem+json": {"schema": problem}},
            },
        },
    }
    if route.body:
        schema = {"$ref": f"#/components/schemas/{route.body.__name__}"}
        content = {"schema": schema, "example": route.example}
        operation["requestBody"] = {"content": {"application/json": content}}
    return operation | ({} if route.who in ("none", "guest") else {"security": [{"bearer": []}]})


def _in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": QUERY[name]}


def page(routes: "Sequence[Route]") -> str:
    """The same, for people."""
    rows = "".join(
        f"<tr><td><b>{route.method}</b></td><td><code>{escape(route.path)}</code></td>"
        f"<td>{_prose(route.summary)}</td><td>{_fields(route)}</td>"
        f"<td>{_prose(route.answer)}</td><td>{route.who}</td></tr>"
        for route in routes
    )
    return _PAGE.replace("ROWS", rows)


def _prose(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text))


def _fields(route: "Route") -> str:
    names = route.body.__struct_encode_fields__ if route.body else route.query
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>turnlog: HTTP</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem}
td,th{text-align:left;padding:.3rem 1rem .3rem 0;vertical-align:top;border-bottom:1px solid #e4e8ed}
</style></head><body><h1>HTTP</h1><p>The same for programs:
<a href="/openapi.json">/openapi.json</a>. Errors are problem documents (RFC 9457).</p>
<table><tr><th></th><th>path</th><th>what it does</th><th>body or query</th><th>answer</th>
<th>who may</th></tr>ROWS</table>
</body></html>"""
