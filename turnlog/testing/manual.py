"""Generated pages of the documentation. `make docs` writes them; a test compares."""

import sys
from pathlib import Path
from typing import Any

from turnlog.contrib.business_central import BusinessCentral, business_central_tools
from turnlog.events.base import Event
from turnlog.events.kinds import KINDS
from turnlog.projections.history.lint import RULES
from turnlog.testing import blocking_client, event_types
from turnlog.tools.tool import Tool
from turnlog.transports.http import openapi
from turnlog.transports.http.routes import ROUTES
from turnlog.transports.protocols import carries

_HEAD = "<!-- Written by `make docs`. Do not edit. -->\n\n"
_COPY = "// Written by `make docs` from web/src/wire/json.ts. Do not edit.\n\n"
_CARRIED = "<!-- carried: written by `make docs` from the tables -->"
_END_OF_CARRIED = "<!-- end of carried -->"
_RULES, _END = "<!-- rules: written by `make docs` -->", "<!-- end of rules -->"


def pages(root: Path) -> dict[Path, str]:
    """Every generated page, by its path."""
    return {
        root / "docs" / "events.md": _HEAD + _events(),
        root / "docs" / "flows.md": _HEAD + _flows(root),
        root / "docs" / "lint.md": _with_rules((root / "docs" / "lint.md").read_text()),
        root / "docs" / "protocols.md": _with_carried((root / "docs" / "protocols.md").read_text()),
        root / "docs" / "erp-tools.md": _HEAD + _erp_tools(),
        root / "docs" / "http.md": _HEAD + _routes(),
        root / "clients" / "typescript" / "src" / "events.ts": event_types.typescript(),
        root / "web" / "src" / "wire" / "events.ts": event_types.typescript(),
        root / "clients" / "typescript" / "src" / "json.ts": _COPY + _numbers(root),
        root / "turnlog" / "client" / "events.py": event_types.python(),
        root / "turnlog" / "client" / "blocking.py": blocking_client.source(
            root / "turnlog" / "client" / "waiting.py"
        ),
    }


def _numbers(root: Path) -> str:
    """How the page reads numbers: the npm client stands for itself, and reads them alike."""
    return (root / "web" / "src" / "wire" / "json.ts").read_text()


def _events() -> str:
    rows = [_event_row(kind) for kind in KINDS.values() if not kind.internal]
    return "\n".join(
        [
            "# Events",
            "",
            "Every event also has `eventId`, `sessionId`, `turnId`, `timestamp`, `eventIndex`,",
            "`persistenceState`, `agent` and `cursor`; a persisted one has its `sequenceNumber`.",
            "",
            "| type | state | its own fields | what it says |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _event_row(kind: type[Event]) -> str:
    names = [name for name in kind.__struct_encode_fields__ if name not in kind.log_only]
    if kind is KINDS["message"]:
        names += ["content", "citations", "stopDetails"]
    summary = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    fields = ", ".join(f"`{name}`" for name in names)
    return f"| `{kind.__struct_config__.tag}` | {kind.shown_as} | {fields} | {summary} |"


def _flows(root: Path) -> str:
    paths = sorted((root / "tests" / "flows").glob("*.md"))
    rows = [f"- [{_title(path)}](../tests/flows/{path.name})" for path in paths]
    return "\n".join(
        [
            "# Golden flows",
            "",
            "What happens, event by event. Each page is prose, a script and the table of events",
            "that follow; each is run as a test over every store and transport.",
            "",
            *rows,
            "",
        ]
    )


def _with_rules(page: str) -> str:
    """The page with the table of rules between its two marks."""
    before, _, rest = page.partition(_RULES)
    rows = [
        f"| `{name}` | {rule.says} | {rule.fix} | {_quoted(rule.api)} |"
        for name, rule in RULES.items()
    ]
    head = ["| rule | what must hold | what is done | what the API says |", "|---|---|---|---|"]
    return before + "\n".join([_RULES, *head, *rows, _END + rest.partition(_END)[2]])


def _with_carried(page: str) -> str:
    """The page with the table of what protocols carry between its two marks."""
    before, _, rest = page.partition(_CARRIED)
    table = [_CARRIED, *carries.page(), _END_OF_CARRIED]
    return before + "\n".join(table) + rest.partition(_END_OF_CARRIED)[2]


def _quoted(sentence: str) -> str:
    mark = "``" if "`" in sentence else "`"
    return f"{mark} {sentence} {mark}".replace("|", "\\|") if sentence else ""


def _routes() -> str:
    paths = openapi.document(ROUTES, "")["paths"]
    rows = [
        _route_row(method, path, operation)
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return "\n".join(
        [
            "# HTTP",
            "",
            "Every route. `/openapi.json` has a schema for every body, every answer and every",
            "event, made from the types of the code; `/docs` is this as a page. Errors are problem",
            "documents (RFC 9457). Routes that are not *open* need a token where there are",
            "[users](settings.md#users). A query parameter that is nearly one of the route's is",
            "refused, with the right name.",
            "",
            "A client can be generated, and a test does it: `openapi-python-client generate --url",
            "http://127.0.0.1:8000/openapi.json`. A stream of events is text to it: for those",
            "there are clients of our own, for Python and TypeScript.",
            "",
            "| route | query | body | what it does |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _route_row(method: str, path: str, operation: dict[str, Any]) -> str:
    query = [f"`{each['name']}`" for each in operation["parameters"] if each["in"] == "query"]
    content = operation.get("requestBody", {}).get("content", {})
    named = [media["schema"].get("$ref", "/file") for media in content.values()]
    bodies = [f"`{name.rpartition('/')[2]}`" for name in named]
    summary = operation["summary"] + ("" if "security" in operation else " *Open.*")
    route = f"`{method.upper()} {path}`"
    return f"| {route} | {', '.join(query)} | {', '.join(bodies)} | {summary} |"


def _erp_tools() -> str:
    tools = business_central_tools(BusinessCentral())
    return "\n".join(
        [
            "# The ERP agent's tools",
            "",
            "As the model sees them; [Business Central](business-central.md) says how to connect.",
            "Arguments in *italics* may be left out. A write asks a person first.",
            "",
            "| tool | changes something | arguments | what it does |",
            "|---|---|---|---|",
            *map(_tool_row, tools),
            "",
        ]
    )


def _tool_row(tool: Tool) -> str:
    schema = tool.spec.input_schema
    needed = schema.get("required", [])
    names = [f"`{name}`" if name in needed else f"*{name}*" for name in schema["properties"]]
    summary = " ".join(tool.spec.description.split())
    writes = "yes" if tool.writes else ""
    return f"| `{tool.name}` | {writes} | {', '.join(names)} | {summary} |"


def _title(path: Path) -> str:
    return path.read_text().splitlines()[0].removeprefix("# ")


if __name__ == "__main__":
    for path, text in pages(Path(sys.argv[1])).items():
        path.write_text(text)
