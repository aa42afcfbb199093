"""Every golden page, over every store, transport and engine."""

from itertools import product

import pytest
from test_flows import PAGES

from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.golden import flows, pages

pytestmark = pytest.mark.slow

STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}
TRANSPORTS = {
    "library": flows.by_library,
    "sse": flows.by_sse,
    "resuming": flows.by_resuming,
    "socket": flows.by_socket,
}
ENGINES = ("langgraph", "openai_agents")
FIRST = ("memory", "library", "claude")  # see test_flows
COMBINATIONS = [
    *(each for each in product(STORES, TRANSPORTS, ["claude"]) if each != FIRST),
    ("memory", "library", "langgraph"),
    ("sqlite", "socket", "langgraph"),
    ("memory", "library", "openai_agents"),
]
OTHERS = [each for each in product(STORES, TRANSPORTS, ENGINES) if each not in COMBINATIONS]
# Of each kind one: a text, thoughts, an approval, an error, tools at once, citations, a team.
KINDS = ("01", "04", "05", "10", "12", "26", "90")


async def check(path, store, transport, engine):
    page = pages.read_page(path)
    seen = await flows.perform(page, store, TRANSPORTS[transport], engine)
    assert seen.broken == []
    assert seen.rows == page.expected


@pytest.mark.parametrize(("store", "transport", "engine"), COMBINATIONS)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow(path, store, transport, engine, tmp_path):
    await check(path, STORES[store](tmp_path), transport, engine)


@pytest.mark.parametrize("transport", ["sse", "socket"])
@pytest.mark.parametrize("path", [p for p in PAGES if p.stem[:2] in KINDS], ids=lambda p: p.stem)
async def test_a_page_of_each_kind_on_the_agents_sdk_over_the_wire(path, transport, tmp_path):
    await check(path, SqliteStore(tmp_path), transport, "openai_agents")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow_on_postgres(path, database):
    await check(path, PostgresStore(database), "library", "claude")


# the whole matrix


@pytest.mark.soak
@pytest.mark.parametrize(("store", "transport", "engine"), OTHERS)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow_on_every_engine(path, store, transport, engine, tmp_path):
    await check(path, STORES[store](tmp_path), transport, engine)


@pytest.mark.soak
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("engine", ["claude", *ENGINES])
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_flow_on_postgres_on_every_engine(path, engine, transport, database):
    await check(path, PostgresStore(database), transport, engine)
