"""The shape of the code itself: small files that say what they are, no address in the pins."""

import ast
import re
from pathlib import Path

import pytest

from turnlog.events import grammar
from turnlog.events.kinds import KINDS

ROOT = Path(__file__).parent.parent
FILES = sorted([*ROOT.glob("turnlog/**/*.py"), *ROOT.glob("tests/**/*.py")])
PINS = sorted(ROOT.glob("requirements/*.txt"))
LONGEST = 350  # lines


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("file", FILES, ids=name)
def test_no_file_is_too_long_to_read(file):
    assert len(file.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize("file", FILES, ids=name)
def test_every_module_says_what_it_is(file):
    source = file.read_text()
    assert not source or ast.get_docstring(ast.parse(source))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_event_says_what_it_is_and_has_a_place(kind):
    rows = (*grammar.TURN.values(), *grammar.MESSAGE.values())
    inside = any(kind in following for following in rows)
    assert inside != (kind in grammar.OUTSIDE_A_TURN)
    assert kind.__doc__


@pytest.mark.parametrize("pins", PINS, ids=name)
def test_pins_hold_versions_and_hashes_and_no_address(pins):
    lines = [line for line in pins.read_text().splitlines() if not line.lstrip().startswith("#")]
    for line in lines:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+|    --hash=sha256:[0-9a-f]{64}", line)
    assert not re.search(r"://|index-url|find-links|trusted-host|@ ", pins.read_text())


def test_there_are_pins():
    assert [pins.name for pins in PINS] == ["dev.txt", "run.txt"]
