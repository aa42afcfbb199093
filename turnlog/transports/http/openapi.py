"""The OpenAPI document, made from the types that check the requests, and a page to read it.

A test compares the table with the routes of the application: none can be forgotten.
"""

import re
from html import escape
from typing import Any, NamedTuple

import msgspec

from turnlog.transports.http.approvals import STATUSES, Answer, Finding
from turnlog.transports.http.sessions import Change, NewSession, ThinkingChange
from turnlog.transports.http.turns import NewMessage

Json = dict[str, Any]


class Operation(NamedTuple):
    """What a route takes and gives."""

    says: str
    body: type[msgspec.Struct] | None = None
    query: tuple[str, ...] = ()
    status: int = 200
    open: bool = False  # needs no token


_ONE = "/api/sessions/{session_id}"
OPERATIONS: dict[tuple[str, str], Operation] = {
    ("GET", "/"): Operation("What runs here, as a page.", open=True),
    ("GET", "/docs"): Operation("This document, as a page.", open=True),
    ("GET", "/openapi.json"): Operation("This document.", open=True),
    ("GET", "/healthz"): Operation("The process lives.", open=True),
    ("GET", "/readyz"): Operation("The store answers.", open=True),
    ("GET", "/metrics"): Operation("Counters in Prometheus' text format."),
    ("GET", "/api/config"): Operation("What a user interface needs to know.", open=True),
    ("GET", "/api/sessions"): Operation(
        "The user's sessions, newest first.", query=("limit", "cursor", "archived")
    ),
    ("POST", "/api/sessions"): Operation("Start a conversation.", NewSession, status=201),
    ("GET", _ONE): Operation("One session."),
    ("PATCH", _ONE): Operation("Rename or archive a session, let it search.", Change),
    ("PATCH", f"{_ONE}/thinking"): Operation("Let the model think, or not.", ThinkingChange),
    ("GET", f"{_ONE}/messages"): Operation(
        "The reload: the newest page of kept events, and the cursor to go on from.",
        query=("before", "limit"),
    ),
    ("POST", f"{_ONE}/messages"): Operation(
        "Ask. With `Accept: text/event-stream` the answer streams; otherwise 202.",
        NewMessage,
        status=202,
    ),
    ("POST", f"{_ONE}/stop"): Operation("Stop what runs; what was shown is kept."),
    ("GET", f"{_ONE}/stream"): Operation(
        "Server-sent events from the cursor on, then live.", query=("after",)
    ),
    ("GET", f"{_ONE}/events"): Operation(
        "The log itself; internal events for admins.", query=("after", "limit", "internal")
    ),
    ("GET", f"{_ONE}/verify"): Operation("The proof that nothing is missing."),
    ("GET", "/api/approvals"): Operation(
        "What the user is asked to allow, oldest first.", query=("status", "limit")
    ),
    ("POST", "/api/approvals/{approval_id}"): Operation(
        "Allow a call, refuse it, or allow it with other arguments; once.", Answer
    ),
    ("GET", "/api/doubts"): Operation("Writes of which nobody knows whether they took effect."),
    ("POST", f"{_ONE}/doubts/{{tool_use_id}}"): Operation(
        "Say what became of a write that is in doubt.", Finding
    ),
    ("GET", "/api/billing/sessions/{session_id}"): Operation(
        "What a session has used and what that cost; as rows with `format=csv`.",
        query=("timezone", "format"),
    ),
    ("GET", "/api/billing/user/{user_id}"): Operation(
        "The same of a user, for the user and for admins. `startDate` is in, `endDate` is not.",
        query=("startDate", "endDate", "timezone", "format"),
    ),
    ("POST", "/mcp"): Operation("The task tools, for MCP clients (streamable HTTP)."),
}
_TYPES: dict[str, Json] = {
    "limit": {"type": "integer", "minimum": 1},
    "before": {"type": "integer", "minimum": 0},
    "status": {"type": "string", "enum": list(STATUSES)},
    "archived": {"type": "boolean"},
    "internal": {"type": "boolean"},
    "startDate": {"type": "string", "format": "date"},
    "endDate": {"type": "string", "format": "date"},
    "timezone": {"type": "string"},
    "format": {"type": "string", "enum": ["json", "csv"]},
}


def document(version: str) -> Json:
    """OpenAPI 3.1."""
    bodies = [op.body for op in OPERATIONS.values() if op.body]
    _, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, Json] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _described(method, path, operation)
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


def _described(method: str, path: str, operation: Operation) -> Json:
    problem = {"$ref": "#/components/schemas/Problem"}
    described: Json = {
        "summary": operation.says,
        "parameters": [_in_path(name) for name in re.findall(r"{(\w+)}", path)],
        "responses": {
            str(operation.status): {"description": "As asked."},
            "default": {
                "description": "What is wrong.",
                "content": {"application/problem+json": {"schema": problem}},
            },
        },
    }
    described["parameters"] += [_in_query(name) for name in operation.query]
    if operation.body:
        schema = {"$ref": f"#/components/schemas/{operation.body.__name__}"}
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return described | ({} if operation.open else {"security": [{"bearer": []}]})


def _in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> Json:
    kind = _TYPES.get(name, {"type": ["string", "integer"]})
    return {"name": name, "in": "query", "required": False, "schema": kind}


def page() -> str:
    """The same, for people."""
    rows = "".join(
        f"<tr><td><b>{method}</b></td><td><code>{escape(path)}</code></td>"
        f"<td>{_prose(op.says)}</td><td>{_fields(op)}</td></tr>"
        for (method, path), op in OPERATIONS.items()
    )
    return _PAGE.replace("ROWS", rows)


def _prose(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text))


def _fields(operation: Operation) -> str:
    names = operation.body.__struct_encode_fields__ if operation.body else operation.query
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>turnlog: HTTP</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
td,th{text-align:left;padding:.3rem 1rem .3rem 0;vertical-align:top;border-bottom:1px solid #e4e8ed}
</style></head><body><h1>HTTP</h1><p>The same for programs:
<a href="/openapi.json">/openapi.json</a>. Errors are problem documents (RFC 9457).</p>
<table><tr><th></th><th>path</th><th>what it does</th><th>body or query</th></tr>ROWS</table>
</body></html>"""
