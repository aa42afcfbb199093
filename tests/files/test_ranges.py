"""A part of a file over HTTP: which bytes come, and what is answered where there are none."""

import httpx2
import pytest

from turnlog.stores.files import folder
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import client_of, is_problem, scripted_app
from turnlog.transports.http.bodies.ranges import Slice, wanted

TEXT = b"".join(b"%05d " % n for n in range(1000))  # 6,000 bytes
ETAG = '"e"'


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-99", Slice(0, 100)),
        ("bytes=5990-9999", Slice(5990, 6000)),
        ("bytes=10-", Slice(10, 6000)),
        ("bytes=-10", Slice(5990, 6000)),
        ("bytes=-9000", Slice(0, 6000)),
        ("BYTES = 1 - 2", Slice(1, 3)),
        ("", None),
        ("bytes=-", None),
        ("bytes=9-3", None),
        ("bytes=0-1,5-6", None),
        ("pages=1-2", None),
        ("bytes=a-b", None),
        ("bytes=" + "9" * 400 + "-", None),
    ],
)
def test_one_range_is_understood_and_anything_else_is_the_whole_file(header, part):
    assert wanted({"range": header}, ETAG, 6000) == part


@pytest.mark.parametrize("header", ["bytes=6000-", "bytes=7000-8000", "bytes=-0"])
def test_a_range_behind_the_end_is_empty(header):
    part = wanted({"range": header}, ETAG, 6000)
    assert part is not None and not part and part.told(6000) == "bytes */6000"


async def test_a_part_of_a_file_is_given_out():
    async with scripted_app() as (app, _), client_of(app) as http:
        session = (await http.post("/api/sessions")).json()["id"]
        path = f"/api/sessions/{session}/files/document"
        sent = await http.post(path, files={"file": ("numbers.txt", TEXT)})
        path = f"/api/files/{sent.json()['fileId']}/content"
        whole = await http.get(path)
        etag = whole.headers["etag"]
        assert (whole.status_code, whole.content) == (200, TEXT)
        assert whole.headers["accept-ranges"] == "bytes"

        part = await http.get(path, headers={"range": "bytes=6-10", "if-range": etag})
        assert (part.status_code, part.content) == (206, b"00001")
        assert part.headers["content-range"] == "bytes 6-10/6000"
        assert (part.headers["content-length"], part.headers["etag"]) == ("5", etag)
        assert part.headers["content-disposition"] == whole.headers["content-disposition"]
        assert part.headers["content-security-policy"] == whole.headers["content-security-policy"]

        changed = await http.get(path, headers={"range": "bytes=6-10", "if-range": '"old"'})
        assert (changed.status_code, changed.content) == (200, TEXT)
        assert (await http.get(path, headers={"if-none-match": f'"x", {etag}'})).status_code == 304

        beyond = await http.get(path, headers={"range": "bytes=6000-"})
        is_problem(beyond, 416, "bad_input")
        assert beyond.headers["content-range"] == "bytes */6000"


@pytest.mark.parametrize("piece", [1_000_000, 10], ids=["in one piece", "in many"])
async def test_a_file_that_the_storage_has_changed_is_not_given_out_as_whole(
    tmp_path, monkeypatch, piece
):
    (tmp_path / "numbers.txt").write_bytes(TEXT)
    async with scripted_app(store=SqliteStore(tmp_path)) as (app, _), client_of(app) as http:
        file = await app.files.add("local", "s", tmp_path / "numbers.txt")
        path = f"/api/files/{file.id}/content"
        (original,) = (tmp_path / "files").rglob("original")
        original.write_bytes(TEXT[:-1] + b"x")
        monkeypatch.setattr(folder, "PIECE", piece)
        if len(TEXT) < piece:
            is_problem(await http.get(path), 404, "not_found")
        else:
            with pytest.raises(httpx2.RemoteProtocolError):  # it ends before its length
                await http.get(path)
        part = await http.get(path, headers={"range": "bytes=0-3"})
        assert (part.status_code, part.content) == (206, TEXT[:4])
