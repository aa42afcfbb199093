"""All SQL has a name and a description, in one file a store."""

import ast
import re
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

import turnlog
from turnlog.events.rows.record import Record
from turnlog.ports import Session
from turnlog.statements import read_statements
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sqlite.files import connect
from turnlog.stores.sqlite.migrations import migrate

HOUSE = Path(turnlog.__file__).parent
PACKAGES = {
    "turnlog.stores.sql": "stores/sql",
    "turnlog.stores.sqlite": "stores/sqlite",
    "turnlog.stores.postgres": "stores/postgres",
    "turnlog.buses.postgres": "buses/postgres",
    "turnlog.contrib.tasks": "contrib/tasks",
}
VERBS = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK"
    r"|SAVEPOINT|RELEASE|ATTACH|VACUUM)\b"
)
every_package = pytest.mark.parametrize("package", PACKAGES)


def strings(file):
    """Every string of a module that is not a docstring."""
    tree = ast.parse(file.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in docstrings:
            yield node.value


def modules(package):
    return sorted((HOUSE / PACKAGES[package]).rglob("*.py"))


@every_package
def test_no_module_has_sql_of_its_own(package):
    found = {
        file.name: [text for text in strings(file) if VERBS.match(text)]
        for file in modules(package)
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


@every_package
def test_every_statement_is_used(package):
    code = "".join(file.read_text() for file in modules(package))
    unused = [name for name in read_statements(package) if f'"{name}"' not in code]
    assert [name for name in unused if not name.startswith("bound_")] == []


@every_package
def test_every_statement_says_what_it_does(package):
    text = resources.files(package).joinpath("queries.sql").read_text()
    names = re.findall(r"^-- (\w+) --$", text, re.MULTILINE)
    described = re.findall(r"^-- (\w+) --\n-- [A-Z].*\.$", text, re.MULTILINE)
    assert len(names) == len(set(names)) and described == names


def columns(sql):
    pattern = r"(?:^SELECT|INTO events \()\s*(.*?)\s*(?:FROM|\) VALUES|\) SELECT)"
    listed = re.search(pattern, sql, re.DOTALL)
    return tuple(re.split(r",\s*", listed[1]))


@pytest.mark.parametrize("statement", ["read_events", "read_newest_events"])
def test_events_are_read_in_the_order_of_their_record(statement):
    assert columns(SQL[statement]) == Record._fields


@pytest.mark.parametrize("package", ["turnlog.stores.sqlite", "turnlog.stores.postgres"])
def test_events_are_written_in_the_order_of_their_record(package):
    written = columns(read_statements(package)["append_event"])
    assert written[: len(Record._fields)] == Record._fields


def test_sessions_are_read_in_the_order_of_their_fields(tmp_path):
    with closing(connect(tmp_path / "empty.db")) as db:
        migrate(db)
        everything = SQL["get_session"].format(columns=SQL["session_columns"])
        found = db.execute(everything, {"id": "", "user_id": ""}).description
    assert tuple(column[0] for column in found) == Session.__struct_fields__
