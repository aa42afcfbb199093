"""Options of the suite, and what makes it quick."""

import gc
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest

# No example has a deadline: a machine may be busy with something else. The examples are the same
# in each run, so that a change is judged by what it changes; those of `searching` are new ones.
STEADY = {"deadline": None, "derandomize": True}
hypothesis.settings.register_profile("steady", **STEADY)
hypothesis.settings.load_profile("steady")
# For `make quick`: few examples where a test does not say how many; see `examples.times`.
hypothesis.settings.register_profile("quick", max_examples=20, **STEADY)
# For `make soak`, and for EXAMPLES.
hypothesis.settings.register_profile("searching", deadline=None, derandomize=False)

# Each HTTP client reads all certificates that this machine trusts: 20 ms, a thousand times. Unless
# a URL names a server elsewhere, no test talks to one, so they trust one authority, whose key was
# thrown away. (A client with `trust_env=False` does not hear of it, and reads them all.)
if not os.environ.keys() & {"TEST_POSTGRES_URL", "TEST_REDIS_URL"}:
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))


SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = \[?pytest\.mark\.(slow|soak)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module of slow tests alone, and what it imports, is not read for `make quick`."""
    if "not slow" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return SLOW_AS_A_WHOLE.search(collection_path.read_text()) is not None or None


# What is collected stays until the end. It is not searched for garbage: neither while it grows
# nor whenever a test makes some, which is looked for less often than Python does by itself. The
# process that only hands out tests collects nothing.
def pytest_collectstart() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the tables of golden pages anew")


@pytest.fixture
def hurried(monkeypatch):
    """The simulated Claude of an app that has no key writes as fast as it can."""
    from turnlog.simulator import SimulatedClaude

    monkeypatch.setitem(SimulatedClaude.__init__.__kwdefaults__, "pace", 0.0)


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A SQLite file that was migrated and has nothing in it."""
    import asyncio

    from turnlog.stores.sqlite.store import SqliteStore

    async def make():
        store = SqliteStore(folder)
        await store.open()
        await store.close()

    folder = tmp_path_factory.mktemp("tables")
    asyncio.run(make())
    return folder / "turnlog.db"


@pytest.fixture
def migrated(tmp_path, tables):
    """The folder of this test, with an empty database: a copy takes a tenth of the time."""
    shutil.copy(tables, tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL for this worker of the test run, or the one that a URL names."""
    from turnlog.testing.servers.postgres import URL, Postgres

    if URL in os.environ:
        yield SimpleNamespace(url=os.environ[URL])
        return
    server = Postgres()
    server.start()
    yield server
    server.close()


@pytest.fixture
async def database(postgres):
    """The URL of an empty database."""
    from turnlog.testing.servers.databases import emptied

    return await emptied(postgres.url)


@pytest.fixture(scope="session")
def valkey():
    """A Valkey for this worker of the test run, or the Redis that a URL names."""
    from turnlog.testing.servers.valkey import URL, Valkey

    if URL in os.environ:
        yield SimpleNamespace(url=os.environ[URL])
        return
    server = Valkey()
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def redis_7():
    """A Redis from 7 on; who asks for it has seen that there is one."""
    from turnlog.testing.servers.redis import redis_server
    from turnlog.testing.servers.valkey import Valkey

    server = Valkey(command=redis_server())
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def shards():
    """A Cluster of three Valkey servers."""
    from turnlog.testing.servers.shards import Shards

    those = Shards()
    those.start()
    yield those
    those.close()
