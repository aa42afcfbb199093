"""Files of other projects' tests, good and hostile, where they are at hand; else our own.

Each good one is taken, each hostile one is taken or refused with a sentence, within the limits of
a reader, and the reader serves the next one.
"""

import asyncio
import json
from pathlib import Path

import pytest

from turnlog.errors import Unreadable
from turnlog.files.formats import media_type
from turnlog.files.inspection import Inspection
from turnlog.files.workers import Workers
from turnlog.testing import made_files as made

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
NEAR = [folder / "shared" / "files" for folder in (ROOT.parent, ROOT.parent.parent)]
CORPUS = next((folder for folder in NEAR if (folder / "index.json").exists()), Path("nowhere"))
OURS = {
    "good/photo.jpg": made.photo_with_place(),
    "good/line.png": made.picture(),
    "good/birds.pdf": made.pdf("Ducks swim."),
    "hostile/bomb.png": made.bomb(),
    "hostile/cut.pdf": made.pdf("Ducks swim.")[:80],
    "hostile/cut.png": made.noise("PNG")[:2000],
    "hostile/no-pdf.pdf": b"%PDF-1.7\n" + b"\xff" * 5000,
}
# What must be refused: those that are no such file, or cannot be opened at all.
REFUSED = ("bomb", "encrypted", "wrongtype")


def theirs():
    index = CORPUS / "index.json"
    return json.loads(index.read_text()) if index.exists() else []


CASES = [(e["file"], e["cls"]) for e in theirs()]
CASES += [(name, "bomb" if "bomb" in name else "ours") for name in OURS]


def content_of(name):
    return OURS[name] if name in OURS else (CORPUS / name).read_bytes()


async def outcome(workers, folder, name):
    """What is read of the file, or the sentence that it is refused with."""
    content = await asyncio.to_thread(content_of, name)
    found = media_type(content[:1024], name)
    if found is None:
        return "it is no kind of file that is taken"
    folder.mkdir()
    await asyncio.to_thread((folder / "original").write_bytes, content)
    inspection = Inspection(workers, 1568, 5000)
    try:
        return await inspection.inspect(found, folder / "original", folder, lambda *step: None)
    except Unreadable as refused:
        return str(refused)


async def test_good_files_are_taken_and_hostile_ones_do_no_harm(tmp_path):
    workers = Workers(2)
    taken, refused = {}, {}
    try:
        async with asyncio.timeout(120):
            for number, (name, kind) in enumerate(CASES):
                told = await outcome(workers, tmp_path / str(number), name)
                (refused if isinstance(told, str) else taken)[name, kind] = told
        after = await outcome(workers, tmp_path / "after", "good/line.png")
    finally:
        await workers.close()
    assert [name for name, _ in refused if name.startswith("good/")] == []
    must = [(name, kind) for name, kind in CASES if name.startswith("hostile/") and kind in REFUSED]
    assert [case for case in must if case in taken] == []
    assert all(sentence.endswith((".", "taken")) for sentence in refused.values())
    assert after["width"] == 60
