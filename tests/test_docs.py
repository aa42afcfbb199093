"""The documentation is what the code is."""

import re
from pathlib import Path

import pytest

from turnlog.engines.claude import errors as claude_errors
from turnlog.engines.claude import models as claude_models
from turnlog.projections.history.models import FAMILIES, SINCE
from turnlog.testing import manual

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/flows/*.md")]


def test_generated_pages_are_up_to_date():
    for place, text in manual.pages(ROOT).items():
        assert place.read_text() == text, f"{place.name}: run `make docs`"


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


CLAUDE = (ROOT / "docs" / "claude.md").read_text().splitlines()


def rows(head):
    """The rows of the table under this head."""
    after = CLAUDE[CLAUDE.index(head) + 2 :]
    return after[: next(n for n, line in enumerate(after) if not line.startswith("|"))]


def test_the_page_about_claude_has_every_way_to_think():
    words = {claude_models.UNASKED, claude_models.ALWAYS}
    assert rows("| family | from version | to think | not to think |") == [
        f"| {family} | {'.'.join(map(str, since)) if any(since) else 'any'} | `{way.on}` | "
        + (f"{way.off} |" if way.off in words else f"`{way.off}` |")
        for family in FAMILIES
        for way, since in reversed(ways_to_think(family).items())
    ]


def ways_to_think(family):
    """Each way, and the version since when it holds, oldest first."""
    versions = {(0, 0), *(v for row in SINCE.values() for v in row.values())}
    ways = {}
    for major, minor in sorted(versions):
        way = claude_models.thinking_of(f"claude-{family}-{major}-{minor}")
        ways.setdefault(way, (major, minor))
    return ways


def test_the_page_about_claude_has_every_failure():
    every = [*claude_errors.FAILURES.values(), *claude_errors.OF_THE_STREAM]
    assert rows("| code | what the user reads | again |") == [
        f"| `{each.code}` | {failed} | {'yes' if failed.retryable else 'no'} |"
        for each in every
        for failed in [claude_errors.failed(each)]
    ]
