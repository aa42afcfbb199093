"""Stores by their URL: `sqlite:FOLDER`, `postgresql://…` and `memory:`. One row a store."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from turnlog.errors import ConfigError, NotFound
from turnlog.ports import Blobs, Store
from turnlog.telemetry.metrics import Metrics

Make = Callable[[str, Metrics | None, bool], Store]  # what follows the scheme, read only or not


def store_at(url: str, metrics: Metrics | None = None, *, read_only: bool = False) -> Store:
    """The store that the URL names, not opened yet. Raises ConfigError for what is no such URL."""
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in STORES:
        named = f"{scheme!r} is no kind of store" if colon else "That is no URL"
        raise ConfigError(f"{named}. There are: {', '.join(EXAMPLES)}.")
    return STORES[scheme](rest, metrics, read_only)


@asynccontextmanager
async def open_store(
    url: str, *, read_only: bool = False, server: str | None = None
) -> AsyncIterator[Store]:
    """The store that the URL names, open. `read_only` changes nothing, not even a lock file."""
    store = store_at(url, read_only=read_only)
    await store.open(server=server)
    try:
        yield store
    finally:
        await store.close()


def keep_archives(store: Store, blobs: Blobs) -> None:
    """This is where the store has contents of closed sessions. One in memory has none."""
    from turnlog.stores.sql.store import SqlStore

    if isinstance(store, SqlStore):
        store.archives.blobs = blobs


def _sqlite(folder: str, metrics: Metrics | None, read_only: bool) -> Store:
    from turnlog.stores.sqlite.read_only import ReadOnlyStore
    from turnlog.stores.sqlite.store import SqliteStore

    if not folder or folder.startswith("//"):
        raise ConfigError(
            "A SQLite store is named by its folder: sqlite:FOLDER, or sqlite:/absolute/FOLDER."
        )
    return ReadOnlyStore(folder) if read_only else SqliteStore(folder, metrics)


def _memory(rest: str, metrics: Metrics | None, read_only: bool) -> Store:
    from turnlog.stores.memory.store import MemoryStore

    if rest:
        raise ConfigError("A store in memory has no name: memory:")
    if read_only:
        raise NotFound("A store in memory ends with its process: there is nothing to look at.")
    return MemoryStore()


def _postgresql(rest: str, metrics: Metrics | None, read_only: bool) -> Store:
    try:
        from turnlog.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(
            f"PostgreSQL needs the package {error.name!r}: pip install 'turnlog[cluster]'."
        ) from None
    if not rest.startswith("//"):
        raise ConfigError("A PostgreSQL store is named as postgresql://USER:PASSWORD@HOST/NAME.")
    return PostgresStore(f"postgresql:{rest}", metrics, read_only=read_only)


STORES: dict[str, Make] = {"sqlite": _sqlite, "memory": _memory, "postgresql": _postgresql}
EXAMPLES = ("sqlite:FOLDER", "postgresql://HOST/NAME", "memory:")
