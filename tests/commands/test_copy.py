"""`turnlog copy`: files with their bytes and all that waits move along with the sessions."""

import asyncio
from hashlib import sha256

import pytest

from turnlog.cli import main
from turnlog.files.sweep import place_of
from turnlog.stores.files.folder import FolderBlobs
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.deposits import deposit
from turnlog.testing.contracts.files import file
from turnlog.testing.contracts.line import waiting
from turnlog.testing.contracts.outbox import listening

PAGES = b"%PDF-1.7 some pages"
LEASE = file("lease", sha256=sha256(PAGES).hexdigest(), size=len(PAGES))


async def furnish(folder):
    """A turn that waits, a question behind it, a notice on its way, a file and its deposit."""
    async with open_store(f"sqlite:{folder}") as store:
        await listening(store).create_session(s.new_session())
        turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
        asks = [s.said(s.call("a"), stop="tool_use"), s.used("a"), s.approval("ok", "a")]
        await store.append(turn, s.placed(*asks))
        await store.suspend_turn(turn)
        await store.line.join(waiting("next"))
        await store.files.add(LEASE, quota=10**6)
        await store.deposits.add(deposit("there", LEASE.id))
    blobs = FolderBlobs(folder / "files")
    await blobs.open()
    for part, content in {"original": PAGES, "text": b"some pages"}.items():
        async with blobs.incoming() as incoming:
            (incoming / part).write_bytes(content)
            await blobs.put(place_of(LEASE), part, incoming / part)


async def found(url, folder):
    async with open_store(url, read_only=True) as store:
        return [
            await store.line.get("next"),
            await store.outbox.page(),
            await store.deposits.every("account", limit=9),
            await store.files.get("ann", LEASE.id),
            await FolderBlobs(folder / "files").read(place_of(LEASE), "original"),
            await FolderBlobs(folder / "files").read(place_of(LEASE), "text"),
        ]


def moved(tmp_path, target, capsys, monkeypatch):
    """Into a store whose files are in tmp_path/new."""
    old, new = tmp_path / "old", tmp_path / "new"
    monkeypatch.setenv("TURNLOG_DATA", str(new))
    asyncio.run(furnish(old))
    assert main(["copy", f"sqlite:{old}", target]) == 0
    said = capsys.readouterr().out
    assert "1 session, 4 events, 1 file: the copy is proven." in said
    assert "Not copied: the tasks and the library" in said
    before, after = asyncio.run(found(f"sqlite:{old}", old)), asyncio.run(found(target, new))
    assert before == after
    assert before[0] is not None and before[1] and before[2]


def test_all_that_waits_moves_along(tmp_path, capsys, monkeypatch):
    moved(tmp_path, f"sqlite:{tmp_path / 'new'}", capsys, monkeypatch)


@pytest.mark.slow
def test_it_moves_to_postgresql_too(tmp_path, capsys, monkeypatch, database):
    moved(tmp_path, database, capsys, monkeypatch)


def test_bytes_that_are_nowhere_are_told(tmp_path, capsys):
    old, new = tmp_path / "old", tmp_path / "new"
    asyncio.run(furnish(old))
    asyncio.run(FolderBlobs(old / "files").delete(place_of(LEASE)))
    assert main(["copy", f"sqlite:{old}", f"sqlite:{new}"]) == 1
    assert "its part 'original' is missing" in capsys.readouterr().out
