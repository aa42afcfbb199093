"""The shape of the project: small files with docstrings, pins without addresses, no caches."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(
    [*ROOT.glob("turnlog/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/*.py")]
)
PINS = sorted(ROOT.glob("requirements/*.txt"))
LONGEST = 350  # lines
# Has a word in it, and nothing that has to be parsed to see where it ends.
PLAIN_DOCSTRING = re.compile(r'"""\s*[^\s"\\][^"\\]*"""\n')
# Folders and files that tools write for themselves.
CACHES = re.compile(
    r"(^|/)(__pycache__|node_modules|dist|turnlog-data|\.(venv|venv-lock|hypothesis|schemathesis)"
    r"|\.(mypy|ruff|pytest|import_linter)_cache)/|\.(pyc|db|db-wal|db-shm|log)$"
)


def name(path):
    return str(path.relative_to(ROOT))


def test_no_file_is_too_long_to_read():
    assert [name(f) for f in FILES if len(f.read_text().splitlines()) > LONGEST] == []


def test_every_module_says_what_it_is():
    sources = {name(file): file.read_text() for file in FILES}
    unsure = [n for n, source in sources.items() if source and not PLAIN_DOCSTRING.match(source)]
    assert [n for n in unsure if not ast.get_docstring(ast.parse(sources[n]))] == []


@pytest.mark.parametrize("pins", PINS, ids=name)
def test_pins_hold_versions_and_hashes_and_no_address(pins):
    lines = [line for line in pins.read_text().splitlines() if not line.lstrip().startswith("#")]
    for line in lines:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+|    --hash=sha256:[0-9a-f]{64}", line)
    assert not re.search(r"://|index-url|find-links|trusted-host|@ ", pins.read_text())


def test_there_are_pins():
    assert [pins.name for pins in PINS] == ["dev.txt", "run.txt"]


SCRIPTS = sorted([*ROOT.glob("web/src/**/*.ts*"), *ROOT.glob("web/src/**/*.css")])
LONGEST_SCRIPT = 200  # lines; types that are written by `make docs` aside


def test_no_file_of_the_web_ui_is_too_long_to_read():
    assert SCRIPTS
    long = [f for f in SCRIPTS if len(f.read_text().splitlines()) > LONGEST_SCRIPT]
    assert [name(f) for f in long if f.name != "events.ts"] == []


@pytest.mark.parametrize("folder", ["tests/node", "web"])
def test_npm_pins_hold_versions_and_hashes_and_no_address_of_a_registry(folder):
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert [n for n, package in packages.items() if "resolved" in package] == []
    assert [n for n, package in packages.items() if "integrity" not in package] == []


def test_no_cache_of_a_tool_is_committed():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [file for file in listed.stdout.splitlines() if CACHES.search(file)] == []
