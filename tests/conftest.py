"""Options of the suite."""

import hypothesis
import pytest

# For `make quick`: few examples where a test does not ask for more.
hypothesis.settings.register_profile("quick", max_examples=20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the tables of golden pages anew")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL for this worker of the test run."""
    from turnlog.testing.servers.postgres import Postgres

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
    """A Valkey for this worker of the test run."""
    from turnlog.testing.servers.valkey import Valkey

    server = Valkey()
    server.start()
    yield server
    server.close()
