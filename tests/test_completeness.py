"""Nothing is forgotten: every event, setting, command and route is where a reader looks for it."""

import argparse
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from turnlog import cli, config
from turnlog.contrib.business_central.client import endpoint
from turnlog.events import grammar
from turnlog.events.kinds import KINDS
from turnlog.projections import transcript
from turnlog.terminal.export import as_jsonl, as_markdown
from turnlog.testing import samples as s
from turnlog.transports.http.routes import ROUTES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SHOWN = {name: kind for name, kind in KINDS.items() if not kind.internal}
KEPT = {name: kind for name, kind in SHOWN.items() if kind.kept}

# events

NOT_ON_THE_SCREEN = {
    "session_start": "it is for the client's connection",
    "resync_required": "it is for the client's connection",
    "thinking_complete": "the kept `thinking` follows",
    "citations_found": "the kept `message` has the citations",
    "agent_changed": "every item names its agent",
}
NOT_ON_A_PAGE = {
    "session_start": "it is sent on join, which a page does not do",
    "resync_required": "it is sent for a lost cursor, which a page does not have",
}

SIMPLE = {str: "approved", int: 1, bool: True, Any: "value", Decimal: Decimal(1)}


def example(kind):
    """An instance with a simple value in every field that has no default."""
    fields = [field for field in msgspec.structs.fields(kind) if field.required]
    return kind(**{field.name: simple(field.type) for field in fields})


def simple(hint):
    if hint in SIMPLE:
        return SIMPLE[hint]
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return example(origin)
    return origin() if origin in (list, dict) else get_args(hint)[0]


def on_golden_pages():
    """The kinds of event in the tables of all golden pages."""
    pages = [page.read_text() for page in ROOT.glob("tests/flows/*.md")]
    return {kind for page in pages for kind in re.findall(r"(?m)^\|[^|]*\| (\w+)", page)}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_event_has_a_docstring_and_its_place_in_the_grammar(kind):
    tables = (*grammar.MESSAGE.values(), *grammar.TURN.values())
    inside = any(kind in following for following in tables)
    assert inside != (kind in grammar.OUTSIDE_A_TURN)
    assert kind.__doc__


def test_every_shown_event_changes_the_screen():
    assert transcript._RULES.keys() | NOT_ON_THE_SCREEN.keys() == SHOWN.keys()
    assert not transcript._RULES.keys() & NOT_ON_THE_SCREEN.keys()


def test_every_shown_event_is_on_a_golden_page():
    assert SHOWN.keys() - on_golden_pages() == NOT_ON_A_PAGE.keys()


@pytest.mark.parametrize("kind", KEPT.values(), ids=KEPT)
def test_every_kept_event_is_in_the_export(kind):
    log = s.log_of([example(kind)])
    _title, _summary, *sections = as_markdown(log).split("\n\n")
    assert sections
    assert f'"type":"{kind.__struct_config__.tag}"' in as_jsonl(log)


def test_every_shown_event_is_documented():
    page = (DOCS / "events.md").read_text()
    assert [name for name in SHOWN if f"| `{name}` |" not in page] == []


# settings, commands, routes


def test_every_setting_is_documented():
    page = (DOCS / "settings.md").read_text()
    names = [*config.NAMES, *endpoint.SETTINGS]
    in_the_file = {"budgets": "[[budgets]]", "identity": "[identity]"}
    in_the_file |= {name: f"[{name}.NAME]" for name in ("agents", "mcp", "webhooks")}
    assert [name for name in names if f"| `{in_the_file.get(name, name)}` |" not in page] == []
    variables = [*config.ENVIRONMENT, *(f"TURNLOG_{name.upper()}" for name in endpoint.SETTINGS)]
    documented = [name for name in variables if f"`{name}`" in page]
    assert sorted(set(variables) - set(documented)) == ["TURNLOG_API_KEY", "TURNLOG_BASE_URL"]


def test_contrib_settings_have_a_prefix_that_the_core_passes_on():
    assert all(name.startswith(config.CONTRIB_PREFIXES) for name in endpoint.SETTINGS)


def commands():
    parser = cli._parser()
    (choices,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return choices.choices


def test_every_command_is_documented_with_its_options():
    page = (DOCS / "settings.md").read_text()
    assert [name for name in commands() if f"| `turnlog {name}" not in page] == []


def test_every_route_is_documented():
    page = (DOCS / "http.md").read_text()
    assert [r for r in ROUTES if f"| `{r.method} {r.path}` |" not in page] == []


# the house


def test_the_tree_in_contributing_names_every_folder():
    tree = (ROOT / "CONTRIBUTING.md").read_text().split("```")[1]
    named = set(re.findall(r"(?m)^  (\w+)/ ", tree))
    folders = {path.parent.name for path in (ROOT / "turnlog").glob("*/__init__.py")}
    assert named == folders
    files = {path.name for path in (ROOT / "turnlog").glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"(?m)^  (\w+\.py) ", tree)) == files
