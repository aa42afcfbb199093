"""kill -9 during an upload, while a file is read, before its row, and during a turn with files."""

import asyncio
import io
import os
import signal
import sqlite3
from pathlib import Path

import aiohttp
import pytest

from turnlog.cli import main
from turnlog.errors import BadInput, NotFound
from turnlog.files.library import FileLibrary, FileLimits
from turnlog.files.sweep import MOST_UNFINISHED, place_of
from turnlog.files.workers import Workers
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.stores.files.folder import FolderBlobs
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import made_files as made
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow
BIRDS = made.pdf("Ducks swim.", "Geese fly.")
LONG = made.pdf(*(f"This is page {n}. " * 30 for n in range(300)))


def left(folder):
    """Every file below the folder for files."""
    return [path for path in (folder / "data" / "files").rglob("*") if path.is_file()]


def form(content, name="a.pdf"):
    body = aiohttp.FormData()
    content = io.BytesIO(content) if isinstance(content, bytes) else content
    body.add_field("file", content, filename=name)
    return body


async def until(is_so):
    for _ in range(6000):
        if is_so():
            return
        await asyncio.sleep(0.01)  # another process does it
    raise AssertionError("it never came to that")


async def session_of(http):
    async with http.post("/api/sessions") as response:
        return (await response.json())["id"]


async def upload(http, session, content):
    path = f"/api/sessions/{session}/files/pdf"
    async with http.post(path, data=form(content)) as response:
        return await response.json()


async def listed(http):
    async with http.get("/api/files") as response:
        return (await response.json())["files"]


async def half_a_file(release):
    yield BIRDS[:100] + b"x" * 2_000_000
    await release.wait()


@pytest.fixture(params=["folder", "s3"])
def where(request, monkeypatch):
    """Where servers and `verify` keep files: in the folder beside the log, or in a bucket."""
    if request.param == "folder":
        return None
    bucket = request.getfixturevalue("bucket")
    monkeypatch.setenv("TURNLOG_FILES_URL", f"s3://{bucket}/files")
    return bucket


async def stored(folder, where):
    """How many parts of files are kept there."""
    if where is None:
        return len([path for path in left(folder) if "content" in path.parts])
    address = f"{os.environ['AWS_ENDPOINT_URL']}/{where}?list-type=2"
    async with aiohttp.ClientSession() as http, http.get(address) as response:
        return (await response.text()).count("<Key>")


async def until_stored(count, folder, where):
    for _ in range(600):
        if await stored(folder, where) == count:
            return
        await asyncio.sleep(0.1)  # another process does it
    raise AssertionError("it never came to that")


def readers(server):
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in children.split()]


@pytest.mark.parametrize("moment", ["upload", "reading", "row"])
async def test_a_server_that_is_killed_leaves_no_half_of_a_file(tmp_path, moment, where):
    env = {"TURNLOG_FILE_WORKERS": "1"}
    incoming = tmp_path / "data" / "files" / "incoming"
    async with SimulatedClaude(pace=0).serve() as claude:
        async with (
            serving(tmp_path, claude, env=env) as server,
            aiohttp.ClientSession(server.url) as http,
        ):
            session, release = await session_of(http), asyncio.Event()
            whole = await upload(http, session, BIRDS)
            await until_stored(2, tmp_path, where)
            if moment == "reading":  # its reader never gets to the end
                (reader,) = readers(server)
                os.kill(reader, signal.SIGSTOP)
            locked = sqlite3.connect(
                tmp_path / "data" / "turnlog.db", isolation_level=None, timeout=60
            )
            if moment == "row":  # its bytes are there, and its row waits for us
                locked.execute("BEGIN IMMEDIATE")
            content = half_a_file(release) if moment == "upload" else LONG
            sending = asyncio.create_task(upload(http, session, content))
            if moment == "row":
                await until_stored(4, tmp_path, where)
            else:
                size = 1_000_000 if moment == "upload" else len(LONG)
                await until(lambda: any(p.stat().st_size >= size for p in incoming.glob("*/o*")))
            await server.kill()
            locked.close()
            release.set()
            with pytest.raises(aiohttp.ClientError):
                await sending
        async with (
            serving(tmp_path, claude, env=env) as server,
            aiohttp.ClientSession(server.url) as http,
        ):
            assert [file["id"] for file in await listed(http)] == [whole["fileId"]]
            await until(lambda: not list(incoming.iterdir()))
            await until_stored(2, tmp_path, where)
            again = await upload(http, session, LONG)
            assert again["pages"] == 300
            assert await stored(tmp_path, where) == 4
    assert await asyncio.to_thread(main, ["verify", f"--data={tmp_path / 'data'}"]) == 0


async def test_a_turn_with_a_file_goes_on_after_its_server_is_killed(tmp_path, where):
    sim = SimulatedClaude(answer=lambda body: Reply("word " * 400), pace=0.02)
    async with sim.serve() as claude:
        async with serving(tmp_path, claude) as server, aiohttp.ClientSession(server.url) as http:
            session = await session_of(http)
            file = (await upload(http, session, BIRDS))["fileId"]
            ask = {"message": "What do geese do?", "fileIds": [file]}
            async with http.post(f"/api/sessions/{session}/messages", json=ask) as response:
                assert response.status == 202
            await until(lambda: sim.requests)
            await server.kill()
        async with serving(tmp_path, claude) as server, aiohttp.ClientSession(server.url) as http:
            async with http.post(
                f"/api/sessions/{session}/messages",
                json={"message": "And now?", "onBusy": "enqueue"},
            ) as response:
                assert response.status == 202
            await until(lambda: len(sim.requests) > 1)
            told = [b for m in sim.requests[-1]["messages"] for b in m["content"]]
            assert [b["type"] for b in told if b["type"] != "text"] == ["document"]
    assert await asyncio.to_thread(main, ["verify", f"--data={tmp_path / 'data'}"]) == 0


@pytest.fixture
async def library(tmp_path):
    store = SqliteStore(tmp_path)
    await store.open()
    made_library = FileLibrary(
        store.files, FolderBlobs(tmp_path / "files"), Workers(1), FileLimits(), alone=True
    )
    async with made_library:
        yield made_library, store
    await store.close()


async def test_the_sweep_removes_what_no_row_knows_and_ends_what_was_being_deleted(
    library, tmp_path
):
    files, store = library
    paths = [tmp_path / name for name in ("a.pdf", "b.txt")]
    paths[0].write_bytes(BIRDS)
    paths[1].write_text("Hello.")
    kept, dying = [await files.add("ann", "s", path) for path in paths]
    await store.files.mark_deleted("ann", dying.id)  # and then the process dies
    (tmp_path / "c").write_text("x")
    nobodys = "0" * 32 + "/" + "1" * 64
    await files.blobs.put(nobodys, "original", tmp_path / "c")
    os.utime(tmp_path / "files" / "content" / "00" / nobodys, (0, 0))  # long ago
    again = FileLibrary(store.files, files.blobs, Workers(1), FileLimits(), alone=True)
    async with again:
        await again.swept()
    assert await files.blobs.has(place_of(kept), "original")
    assert [each.id for each in await store.files.every(limit=9)] == [kept.id]
    stored = [each.place async for each in files.blobs.every()]
    assert stored == [place_of(kept)]


async def test_an_empty_database_removes_nothing_of_what_belongs_to_another(
    library, tmp_path, caplog
):
    """The wrong `database_url` beside the right `files_url` emptied a whole bucket."""
    files, _ = library
    for n in range(MOST_UNFINISHED + 1):
        (tmp_path / f"{n}.txt").write_text(str(n))
        await files.add("ann", "s", tmp_path / f"{n}.txt")
    other = FileLibrary(MemoryStore().files, files.blobs, Workers(1), FileLimits(), alone=True)
    async with other:
        await other.swept()
    assert len([each async for each in files.blobs.every()]) == MOST_UNFINISHED + 1
    assert "holds 9 that this database does not know" in caplog.text


@pytest.mark.parametrize("step", ["has", "put"])
async def test_content_that_is_deleted_while_it_comes_again_leaves_no_row_without_bytes(
    library, tmp_path, monkeypatch, step
):
    files, store = library
    (tmp_path / "a.txt").write_text("Hello.")
    first = await files.add("ann", "s", tmp_path / "a.txt")
    if step == "put":  # its bytes were lost, so they are put again
        await files.blobs.delete(place_of(first))
    do = getattr(files.blobs, step)

    async def deleted_meanwhile(*args):
        done = await do(*args)
        monkeypatch.setattr(files.blobs, step, do)
        await files.delete("ann", first.id)
        return done

    monkeypatch.setattr(files.blobs, step, deleted_meanwhile)
    with pytest.raises(BadInput, match="deleted while it came in"):
        await files.add("ann", "s", tmp_path / "a.txt")
    assert await store.files.every(limit=9) == []
    again = await files.add("ann", "s", tmp_path / "a.txt")
    assert await files.part(again, "original") == b"Hello."


async def test_verify_names_a_file_that_the_disk_does_not_give_and_goes_on(
    library, tmp_path, capsys
):
    """A folder in its place: as good as a disk that fails, also for the superuser."""
    files, _ = library
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(name)
    one, two = [await files.add("ann", "s", tmp_path / f"{name}.txt") for name in ("a", "b")]
    for file in (one, two):
        original = tmp_path / "files" / "content" / place_of(file)[:2] / place_of(file) / "original"
        original.unlink()
        original.mkdir()
    assert await asyncio.to_thread(main, ["verify", f"--data={tmp_path}"]) == 1
    said = capsys.readouterr().out
    assert f"file {one.id}: its bytes cannot be read" in said
    assert f"file {two.id}: its bytes cannot be read" in said


async def test_verify_names_a_file_whose_bytes_are_gone_or_changed(library, tmp_path, capsys):
    files, store = library
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(name)
    one, two, three = [
        await files.add("ann", "s", tmp_path / f"{name}.txt") for name in ("a", "b", "c")
    ]
    folder = tmp_path / "files" / "content" / place_of(one)[:2]
    (folder / place_of(one) / "original").write_text("x")
    (folder / place_of(two) / "text").unlink()
    assert await asyncio.to_thread(main, ["verify", f"--data={tmp_path}"]) == 1
    said = capsys.readouterr().out
    assert f"file {one.id}: its bytes are not what was uploaded" in said
    assert f"file {two.id}: its part 'text' is missing" in said
    assert three.id not in said and "2 problems with files" in said
    with pytest.raises(NotFound):
        await files.pages("ann", two.id, [1])
