"""kill -9 during an upload, while a file is read, and during a turn with files."""

import asyncio
import io
import os

import aiohttp
import pytest

from turnlog.cli import main
from turnlog.errors import NotFound
from turnlog.files.library import FileLibrary, FileLimits
from turnlog.files.sweep import place_of
from turnlog.files.workers import Workers
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.stores.files.folder import FolderBlobs
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import made_files as made
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow
BIRDS = made.pdf("Ducks swim.", "Geese fly.")
LONG = made.pdf(*(f"This is page {n}. " * 30 for n in range(1500)))  # some seconds to read


def left(folder):
    """Every file below the folder for files."""
    return [path for path in (folder / "data" / "files").rglob("*") if path.is_file()]


def form(content, name="a.pdf"):
    body = aiohttp.FormData()
    content = io.BytesIO(content) if isinstance(content, bytes) else content
    body.add_field("file", content, filename=name)
    return body


async def until(is_so):
    for _ in range(1500):
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


@pytest.mark.parametrize("moment", ["upload", "reading"])
async def test_a_server_that_is_killed_leaves_no_half_of_a_file(tmp_path, moment):
    async with SimulatedClaude(pace=0).serve() as claude:
        async with serving(tmp_path, claude) as server, aiohttp.ClientSession(server.url) as http:
            session, release = await session_of(http), asyncio.Event()
            whole = await upload(http, session, BIRDS)
            kept = len(left(tmp_path))
            content = half_a_file(release) if moment == "upload" else LONG
            sending = asyncio.create_task(upload(http, session, content))
            parts = tmp_path / "data" / "files" / "incoming"
            pattern = "*/original" if moment == "upload" else "*/from-*/text"
            await until(lambda: list(parts.glob(pattern)))
            await server.kill()
            release.set()
            with pytest.raises(aiohttp.ClientError):
                await sending
        assert len(left(tmp_path)) > kept
        async with serving(tmp_path, claude) as server, aiohttp.ClientSession(server.url) as http:
            assert [file["id"] for file in await listed(http)] == [whole["fileId"]]
            await until(lambda: len(left(tmp_path)) == kept)
            again = await upload(http, session, LONG)
            assert again["pages"] == 1500
    assert await asyncio.to_thread(main, ["verify", f"--data={tmp_path / 'data'}"]) == 0


async def test_a_turn_with_a_file_goes_on_after_its_server_is_killed(tmp_path, capsys):
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
