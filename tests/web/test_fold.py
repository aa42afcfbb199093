"""The web UI folds events as the server does: on every golden page, after every event."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
import nodejs
import pytest

from turnlog.projections.transcript import transcript
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.golden import flows, pages

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "tests" / "flows").glob("*.md"))


async def performed(path):
    """What a page shows live and after a reload, and the server's screen after each event."""
    seen = await flows.perform(pages.read_page(path), MemoryStore(), flows.by_library)
    screens = [
        [vars(turn) for turn in transcript(seen.live[:end])] for end in range(1, len(seen.live) + 1)
    ]
    return {"name": path.stem, "live": seen.live, "log": seen.log, "screens": screens}


async def test_the_fold_of_the_browser_is_the_fold_of_the_server(tmp_path):
    file = tmp_path / "pages.json"
    file.write_bytes(msgspec.json.encode([await performed(path) for path in PAGES]))
    vitest = ROOT / "web" / "node_modules" / "vitest" / "vitest.mjs"
    assert vitest.is_file(), "run `make .venv/.site` in the project's folder"
    process = await asyncio.create_subprocess_exec(
        *(nodejs.node(), vitest, "run", "--reporter=json", f"--outputFile={tmp_path}/out.json"),
        cwd=ROOT / "web",
        env={**os.environ, "TURNLOG_PAGES": str(file)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    report = json.loads((tmp_path / "out.json").read_bytes())
    failed = [
        (test["fullName"], test["failureMessages"][0][:2000])
        for file in report["testResults"]
        for test in file["assertionResults"]
        if test["status"] != "passed"
    ]
    assert failed[:3] == [], err.decode()[-2000:]
    assert report["numPassedTests"] >= 5 * len(PAGES)
