"""What every test in a browser needs: the built site, and one browser for each module."""

import sys
from pathlib import Path

import pytest
import pytest_asyncio
from web.browser import chromium

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
import hatch_build


@pytest.fixture(autouse=True, scope="session")
def is_built():
    assert hatch_build.is_up_to_date(), "run `make .venv/.site` in the project's folder"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser():
    async with chromium() as one:
        yield one
