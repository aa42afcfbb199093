"""The bytes of files: in a folder, and in an object storage that a real server serves."""

import asyncio
import errno
from contextlib import asynccontextmanager

import pytest

from turnlog.errors import ConfigError, NotStored, StoreUnusable
from turnlog.simulator import Reply
from turnlog.stores.files.folder import FolderBlobs, TemporaryBlobs
from turnlog.stores.files.s3 import S3Blobs
from turnlog.stores.files.urls import blobs_beside
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import made_files as made
from turnlog.testing.apps import scripted_app
from turnlog.testing.contracts import BlobsContract


class TestFolder(BlobsContract):
    @pytest.fixture
    async def blobs(self, tmp_path):
        folder = FolderBlobs(tmp_path / "files")
        await folder.open()
        return folder


@pytest.mark.slow
class TestS3(BlobsContract):
    @pytest.fixture
    async def blobs(self, bucket, tmp_path):
        storage = S3Blobs(bucket, "some/prefix", FolderBlobs(tmp_path / "files"))
        await storage.open()
        return storage


@pytest.mark.slow
async def test_a_server_keeps_its_files_in_object_storage(bucket, tmp_path):
    (tmp_path / "birds.pdf").write_bytes(made.pdf("Ducks swim.", "Geese fly."))
    options = {"store": SqliteStore(tmp_path), "files_url": f"s3://{bucket}/files"}
    async with scripted_app(Reply("South."), **options) as (app, sim):
        turn = await app.run_turn("Where?", files=[tmp_path / "birds.pdf"])
        assert turn.text == "South."
        assert sim.requests[-1]["messages"][0]["content"][0]["type"] == "document"
        (file,) = await app.files.page("local", limit=5)
        assert (await app.files.thumbnail(file, page=2, width=50)).startswith(b"\xff\xd8")
        assert [p.text for p in await app.files.pages("local", file.id, [2])] == ["Geese fly."]
        await app.files.delete("local", file.id)
        assert [each async for each in app.files.blobs.every()] == []
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []


@pytest.mark.slow
async def test_a_bucket_that_is_not_there_is_told_at_the_start(bucket, tmp_path):
    storage = S3Blobs("no-such-bucket", "", FolderBlobs(tmp_path / "files"))
    with pytest.raises(StoreUnusable, match="does not answer"):
        await storage.open()


async def test_a_disk_that_is_full_while_an_upload_comes_in_is_told_as_that(tmp_path):
    """It was an internal error."""
    blobs = FolderBlobs(tmp_path)
    await blobs.open()
    with pytest.raises(NotStored, match="cannot store files at the moment"):
        async with blobs.incoming():
            raise OSError(errno.ENOSPC, "No space left on device")
    assert list((tmp_path / "incoming").iterdir()) == []


@asynccontextmanager
async def storage_that(answer, tmp_path, monkeypatch):
    """A storage on loopback: what it does with each connection is up to the test."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name, value in {"ENDPOINT_URL": address, "ALLOW_HTTP": "true", "REGION": "x"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "x")
    monkeypatch.setattr("turnlog.stores.files.s3.SILENCE", 1)
    async with server:
        yield S3Blobs("bucket", "", FolderBlobs(tmp_path / "files"))


@pytest.fixture
async def silent_storage(tmp_path, monkeypatch):
    """It takes requests, and never answers."""
    connections = []

    async def say_nothing(reader, writer):
        connections.append(writer)
        await reader.read()

    async with storage_that(say_nothing, tmp_path, monkeypatch) as storage:
        yield storage
        for connection in connections:
            connection.close()
            await connection.wait_closed()


PAGE = b"""<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><KeyCount>1</KeyCount>
<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>
<Contents><Key>owner/hash/original</Key><LastModified>2026-11-18T10:00:00.000Z</LastModified>
<Size>1</Size></Contents></ListBucketResult>"""


async def test_a_storage_that_lists_the_same_page_for_ever_is_given_up(tmp_path, monkeypatch):
    async def list_again(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(PAGE) + PAGE)
        writer.close()
        await writer.wait_closed()

    async with storage_that(list_again, tmp_path, monkeypatch) as storage, asyncio.timeout(20):
        with pytest.raises(NotStored, match="the same ones without end"):
            await anext(storage.every())


@pytest.mark.slow
async def test_a_storage_that_says_nothing_is_given_up_soon(silent_storage):
    """Not after three minutes, as the library does: somebody waits for an answer."""
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnusable, match="does not answer"):
            await silent_storage.open()
        with pytest.raises(NotStored, match="does not answer"):
            await silent_storage.read("owner/hash", "original")


@pytest.mark.parametrize("url", ["nowhere", "ftp://x", "file:", "file://x/y", "s3:", "s3:///x"])
def test_a_place_that_is_none_is_refused(url):
    with pytest.raises(ConfigError):
        blobs_beside("sqlite:data", url, "data")


def test_without_a_setting_files_are_beside_the_log():
    assert blobs_beside("sqlite:place", None, "data").url == "file:place/files"
    assert blobs_beside("postgresql://x", None, "data").url == "file:data/files"
    assert isinstance(blobs_beside("memory:", None, "data"), TemporaryBlobs)
    assert blobs_beside("sqlite:x", "s3://b/some/where/", "data").url == "s3://b/some/where"


async def test_what_waits_to_come_in_is_kept_from_other_servers_and_swept_after_a_while(tmp_path):
    shared = FolderBlobs(tmp_path, alone=False)
    await shared.open()
    async with shared.incoming() as folder:
        await FolderBlobs(tmp_path, alone=False).open()
        assert await asyncio.to_thread(folder.exists)
        await FolderBlobs(tmp_path, alone=True).open()
        assert not await asyncio.to_thread(folder.exists)
