"""Replay and export of the ERP conversation of the golden pages, as the documentation shows it."""

import asyncio
import re
from pathlib import Path

import pytest

from turnlog.cli import main
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.golden import flows, pages, rows

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "erp-conversation.md"
FLOWS = ["70_erp_conversation.md", "71_erp_edited_and_refused.md"]
BLOCK = re.compile(r"```(replay|export)\n(.*?)```", re.S)
TIMES = [  # values that differ from run to run; ids are shortened below
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "2026-11-16T12:00:00.000Z"),
    (re.compile(r"(?m)^( *\d+[ ·])\d\d:\d\d:\d\d(?=  )"), r"\g<1>12:00:00"),
    (re.compile(r"\[until [^]]+\]"), "[until 2026-11-16 13:00 UTC]"),
    (re.compile(r"(?m)^# Session .*"), "# Session SESSION"),
]


@pytest.fixture
def kept(tmp_path):
    """Performs a page on its own store. Returns the --data option and the session."""

    def perform(name):
        folder = tmp_path / name
        page = pages.read_page(ROOT / "tests" / "flows" / name)
        seen = asyncio.run(flows.perform(page, SqliteStore(folder), flows.by_library))
        assert seen.broken == []
        return f"--data={folder}", asyncio.run(the_session(folder))

    return perform


async def the_session(folder):
    store = SqliteStore(folder)
    await store.open()
    (session_id,) = await store.session_ids()
    await store.close()
    return session_id


def output(capsys, *argv):
    assert main(argv) == 0
    out = capsys.readouterr().out
    for pattern, instead in TIMES:
        out = pattern.sub(instead, out)
    for made_up, short in rows.short_ids(out).items():
        out = out.replace(made_up, short)
    return "\n".join(line.rstrip() for line in out.splitlines()) + "\n"


def test_a_stored_conversation_is_replayed_and_exported_as_documented(kept, capsys, request):
    blocks = []
    for name in FLOWS:
        data, session = kept(name)
        blocks.append(output(capsys, "replay", session, data))
    page = output(capsys, "export", session, "--format", "md", data)
    blocks.append(page.partition("\n## User")[0])
    assert output(capsys, "verify", session, data).endswith("ok\n")
    now = DOC.read_text()
    for old, new in zip(BLOCK.findall(now), blocks, strict=True):
        now = now.replace(f"```{old[0]}\n{old[1]}```", f"```{old[0]}\n{new}```", 1)
    if request.config.getoption("--accept"):
        DOC.write_text(now)
    assert DOC.read_text() == now
