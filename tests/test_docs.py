"""The documentation is what the code is."""

import re
from pathlib import Path

import pytest

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
