"""Every golden page, over every store and transport."""

from itertools import product
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


# Every page once is fast; the other stores and transports are for `make test`.
COMBINATIONS = [
    pytest.param(store, transport, marks=() if at == 0 else pytest.mark.slow)
    for at, (store, transport) in enumerate(product(STORES, TRANSPORTS))
]


@pytest.mark.parametrize(("store", "transport"), COMBINATIONS)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow(path, store, transport, tmp_path, request):
    page = pages.read_page(path)
    seen = await flows.perform(page, STORES[store](tmp_path), TRANSPORTS[transport])
    if request.config.getoption("--accept"):
        pages.accept(page, seen.rows)
        return
    assert seen.broken == []
    assert seen.rows == page.expected
