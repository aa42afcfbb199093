"""Every golden page, over every store and transport."""

from pathlib import Path

import pytest

from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import flows, pages

PAGES = sorted(Path(__file__).parent.glob("flows/*.md"))
STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}
TRANSPORTS = {
    "library": flows.by_library,
    "sse": flows.by_sse,
    "resuming": flows.by_resuming,
    "socket": flows.by_socket,
}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow(path, store, transport, tmp_path, request):
    page = pages.read_page(path)
    seen = await flows.perform(page, STORES[store](tmp_path), TRANSPORTS[transport])
    if request.config.getoption("--accept"):
        pages.accept(page, seen.rows)
        return
    assert seen.broken == []
    assert seen.rows == page.expected
