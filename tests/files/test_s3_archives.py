"""Contents of closed sessions in an object storage: written, read, proven, brought back."""

import asyncio

import pytest

from turnlog.cli import main
from turnlog.errors import ArchiveMissing
from turnlog.stores.files.urls import archives_beside
from turnlog.stores.urls import keep_archives, open_store
from turnlog.testing import samples as s

pytestmark = pytest.mark.slow


async def opened_with(database, url, work):
    async with open_store(database) as store:
        keep_archives(store, blobs := archives_beside(database, url, "nowhere"))
        await blobs.open()
        try:
            return await work(store, blobs)
        finally:
            await blobs.close()


async def close_one(store, blobs):
    await s.keep(store, [s.asked("Where is the goose?"), s.said("Here.")])
    await store.update_session("alice", "s", archived=True)


async def seen(store, blobs):
    stored = [each.place async for each in blobs.every()]
    found = await store.list_sessions("alice", limit=9, archived=True, search="goose")
    return len(stored), [each.id for each in found], await store.read("alice", "s")


async def lose(store, blobs):
    async for each in blobs.every():
        await blobs.delete(each.place)
    with pytest.raises(ArchiveMissing):
        await store.read("alice", "s")


def test_archives_in_a_bucket_are_read_and_proven(database, bucket, monkeypatch, tmp_path, capsys):
    url = f"s3://{bucket}/ours"
    for name, value in {"DATABASE_URL": database, "FILES_URL": url, "DATA": str(tmp_path)}.items():
        monkeypatch.setenv(f"TURNLOG_{name}", value)

    def now(work):
        return asyncio.run(opened_with(database, url, work))

    now(close_one)
    (files, *before) = now(seen)
    assert (files, main(["archive", "s"])) == (0, 0)
    assert f"They are in {url}/archives" in capsys.readouterr().out
    assert now(seen) == (1, *before)
    assert [main([command, "s"]) for command in ("verify", "replay", "export")] == [0, 0, 0]
    assert "Where is the goose?" in capsys.readouterr().out
    assert main(["archive", "--restore"]) == 0
    assert now(seen) == (0, *before)
    assert main(["archive", "s"]) == 0
    now(lose)
    assert main(["verify"]) == 1
    assert "lost its content" in capsys.readouterr().out
