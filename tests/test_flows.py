"""Every golden page, over every store, transport and engine."""

from itertools import product
from pathlib import Path

import pytest

from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
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


# Every page once is fast; the other stores, transports and engines are for `make test`.
DIRECT = list(product(STORES, TRANSPORTS, ["claude"]))
OTHERS = [
    ("memory", "library", "langgraph"),
    ("sqlite", "socket", "langgraph"),
    ("memory", "library", "openai_agents"),
]
COMBINATIONS = [
    pytest.param(*names, marks=() if at == 0 else pytest.mark.slow)
    for at, names in enumerate([*DIRECT, *OTHERS])
]


@pytest.mark.parametrize(("store", "transport", "engine"), COMBINATIONS)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow(path, store, transport, engine, tmp_path, request):
    page = pages.read_page(path)
    store = STORES[store](tmp_path)
    seen = await flows.perform(page, store, TRANSPORTS[transport], engine)
    if request.config.getoption("--accept"):
        pages.accept(page, seen.rows)
        return
    assert seen.broken == []
    assert seen.rows == page.expected


# A stream that is cut off at once loses the bytes that nobody has read yet, and whether somebody
# has depends on how quickly the store answers: the pages are written for one that takes no time.
WHOLE = [path for path in PAGES if "_cut_" not in path.stem]


@pytest.mark.slow
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
async def test_flow_on_postgres(path, database):
    page = pages.read_page(path)
    seen = await flows.perform(page, PostgresStore(database), flows.by_library)
    assert seen.broken == []
    assert seen.rows == page.expected
