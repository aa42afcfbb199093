"""Every golden page, once. `test_flows_everywhere` has the other stores, transports and engines."""

from pathlib import Path

import pytest

from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.golden import flows, pages

PAGES = sorted(Path(__file__).parent.glob("flows/*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow(path, request):
    page = pages.read_page(path)
    seen = await flows.perform(page, MemoryStore(), flows.by_library, "claude")
    if request.config.getoption("--accept"):
        pages.accept(page, seen.rows)
        return
    assert seen.broken == []
    assert seen.rows == page.expected
