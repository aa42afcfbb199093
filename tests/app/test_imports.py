"""What an app loads before anybody asks it: a server answers soon, and stays small."""

import subprocess
import sys

import pytest

import turnlog

HEAVY = {
    "aiohttp",
    "anthropic",
    "cryptography",
    "genai_prices",
    "httpx2",
    "jsonschema",
    "jwt",
    "langgraph",
    "mcp",
    "PIL",
    "pydantic",
    "requests",
    "socketio",
}
APPS = {"of an agent": "create_app([Agent('a')])", "of the demo": "create_app()"}


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS.values(), ids=APPS)
def test_an_app_is_made_without_what_it_may_never_need(app, tmp_path):
    code = f"import sys; from turnlog import Agent, create_app; {app}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not HEAVY & set(done.stdout.split())


TURN = """
import asyncio, sys
from turnlog import create_app

async def main():
    async with create_app() as app:
        assert (await app.run_turn("Hello")).success

asyncio.run(main())
print(*sys.modules)
"""


@pytest.mark.slow
def test_a_turn_needs_no_client_of_others(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TURN], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not {"aiohttp", "anthropic"} & set(done.stdout.split())


def test_a_shell_completes_what_the_package_offers():
    assert set(turnlog.__all__) <= set(dir(turnlog))
