"""Files over HTTP: sent, listed, looked at, given out, deleted; and what is refused."""

import asyncio
import hashlib
import json

import pytest

from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, STREAM, as_user, client_of, is_problem, scripted_app

ANN, BOB = as_user("ann"), as_user("bob")
PDF = made.pdf("Ducks swim.", "Geese fly.", title="Birds")


@pytest.fixture
async def served(migrated):
    """A server with small limits, its client as Ann, and a session of hers."""
    limits = {"image_bytes": 50_000, "pdf_bytes": 95_000, "files_quota": 100_000}
    store = SqliteStore(migrated)
    async with (
        scripted_app(store=store, auth_secret=SECRET, **limits) as (app, _),
        client_of(app, headers=ANN) as http,
    ):
        http.session = (await http.post("/api/sessions")).json()["id"]
        yield app, http


def send(http, content, name="a.png", route="", **headers):
    path = f"/api/sessions/{http.session}/files{route}"
    return http.post(path, files={"file": (name, content)}, headers=headers)


def left(tmp_path):
    """Every file below the folder for files."""
    return [path for path in (tmp_path / "files").rglob("*") if path.is_file()]


async def until(is_so):
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.01)  # another task, or a thread, does it


async def test_an_image_is_sent_listed_and_given_out(served):
    _, http = served
    png = made.picture("PNG", (60, 40))
    sent = await send(http, png, "Ärger.png")
    assert sent.status_code == 200
    answer = sent.json()
    file_id = answer.pop("fileId")
    assert answer == {
        "mediaType": "image/png",
        "size": len(png),
        "dimensions": {"width": 60, "height": 40},
    }
    (listed,) = (await http.get("/api/files")).json()["files"]
    assert (listed["id"], listed["name"], listed["sessionId"]) == (
        file_id,
        "Ärger.png",
        http.session,
    )
    assert (await http.get(f"/api/files/{file_id}")).json() == listed
    content = await http.get(f"/api/files/{file_id}/content")
    assert content.content == png
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["content-type"] == "image/png"
    assert content.headers["content-disposition"] == "inline; filename*=UTF-8''%C3%84rger.png"
    assert "sandbox" in content.headers["content-security-policy"]
    thumb = await http.get(f"/api/files/{file_id}/thumbnail", params={"width": 30})
    assert thumb.headers["content-type"] in ("image/jpeg", "image/png")


async def test_a_pdf_is_sent_and_its_pages_are_read_and_taken_out(served):
    _, http = served
    answer = (await send(http, PDF, "birds.pdf", "/pdf")).json()
    file_id = answer.pop("fileId")
    assert answer == {
        "pages": 2,
        "textLength": 21,
        "metadata": {"Title": "Birds"},
        "size": len(PDF),
    }
    path = f"/api/files/{file_id}"
    both = await http.get(f"{path}/pages", params={"pages": "2,1"})
    assert both.json()["pages"] == [
        {"page": 2, "text": "Geese fly."},
        {"page": 1, "text": "Ducks swim."},
    ]
    content = await http.get(f"{path}/content", headers={"accept-encoding": "gzip"})
    assert content.content == PDF
    assert content.headers["content-length"] == str(len(PDF))
    assert "sandbox" not in content.headers["content-security-policy"]
    assert "default-src 'none'" in content.headers["content-security-policy"]
    taken = await http.get(
        f"{path}/pages", params={"pages": "2"}, headers={"accept": "application/pdf"}
    )
    again = await send(http, taken.content, "second.pdf", "/pdf")
    assert (again.json()["pages"], again.json()["textLength"]) == (1, 10)
    picture = await http.get(f"{path}/thumbnail", params={"page": 2})
    assert picture.content.startswith(b"\xff\xd8")
    for wrong in ("0", "3", "1-3", "2-1", "x", "1,,2", "-1", "9" * 30):
        is_problem(await http.get(f"{path}/pages", params={"pages": wrong}), 400, "bad_input")
    is_problem(await http.get(f"{path}/thumbnail", params={"page": 3}), 400, "bad_input")


async def test_a_document_is_sent_and_downloaded_not_shown(served):
    _, http = served
    html = b"<script>alert(1)</script><p>Hello</p>"
    answer = (await send(http, html, "page.html", "/document")).json()
    assert (answer["mediaType"], answer["textLength"]) == ("text/html", 5)
    content = await http.get(f"/api/files/{answer['fileId']}/content")
    assert content.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("content", "name", "route"),
    [
        (b"hello", "a.png", ""),
        (PDF, "a.png", ""),
        (made.picture("PNG"), "a.pdf", "/pdf"),
        (b"hello", "a.pdf", "/pdf"),
        (made.bomb(), "a.png", ""),
        (made.noise("PNG")[:2000], "a.png", ""),
        (PDF[:50], "a.pdf", "/pdf"),
        (b"", "a.png", ""),
        (b"\0\1\2", "a.txt", "/document"),
    ],
    ids=["text", "PDF", "image", "text for PDF", "bomb", "cut PNG", "cut PDF", "empty", "binary"],
)
async def test_what_is_no_such_file_is_refused_and_leaves_nothing(
    served, tmp_path, content, name, route
):
    _, http = served
    is_problem(await send(http, content, name, route), 400, "unreadable_file")
    assert (await http.get("/api/files")).json()["files"] == []
    assert left(tmp_path) == []


async def test_a_file_that_is_too_large_is_refused_while_it_comes(served, tmp_path):
    _, http = served
    huge = made.noise("PNG", (200, 200)) + bytes(5_000_000)
    detail = is_problem(await send(http, huge), 413, "too_large")
    assert "50000 bytes" in detail
    assert left(tmp_path) == []


PNG_PART = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
    + made.picture()
    + b"\r\n--x--\r\n"
)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"{}", "application/json"),
        (b"junk", "multipart/form-data; boundary=x"),
        (b"junk", "multipart/form-data"),
        (b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n1\r\n--x--\r\n',
         "multipart/form-data; boundary=x"),
        (b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n\x89PNG',
         "multipart/form-data; boundary=x"),
        (b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n' + bytes(99_999),
         "multipart/form-data; boundary=x"),
        (b"--x\r\nX: y\r\n\r\n\r\n" * 101 + PNG_PART, "multipart/form-data; boundary=x"),
        (PNG_PART.removesuffix(b"--x--\r\n") + PNG_PART, "multipart/form-data; boundary=x"),
    ],
    ids=["empty", "JSON", "junk", "no boundary", "no file", "cut", "much beside", "many parts",
         "two files"],
)  # fmt: skip
async def test_a_body_without_a_whole_file_is_refused(served, body, kind):
    _, http = served
    path = f"/api/sessions/{http.session}/files"
    response = await http.post(path, content=body, headers={"content-type": kind})
    is_problem(response, 400, "bad_input")


async def test_other_parts_beside_the_file_are_ignored(served):
    _, http = served
    path = f"/api/sessions/{http.session}/files"
    files = {"file": ("a.png", made.picture())}
    assert (await http.post(path, files=files, data={"caption": "x"})).status_code == 200


async def test_the_same_content_is_kept_once_for_each_user(served, tmp_path):
    _, http = served
    png = made.picture()
    first = (await send(http, png, "a.png")).json()["fileId"]
    assert (await send(http, png, "b.png")).json()["fileId"] == first
    assert (await http.get(f"/api/files/{first}")).json()["name"] == "b.png"
    bobs_session = (await http.post("/api/sessions", headers=BOB)).json()["id"]
    bobs = await http.post(
        f"/api/sessions/{bobs_session}/files", files={"file": ("a.png", png)}, headers=BOB
    )
    assert bobs.json()["fileId"] != first
    assert len(left(tmp_path)) == 4  # an original and an image for a model, twice
    assert (await http.delete(f"/api/files/{first}")).status_code == 204
    assert (
        await http.get(f"/api/files/{bobs.json()['fileId']}/content", headers=BOB)
    ).content == png
    assert len(left(tmp_path)) == 2


async def test_nothing_of_a_file_is_there_for_somebody_else(served):
    _, http = served
    file_id = (await send(http, PDF, "birds.pdf", "/pdf")).json()["fileId"]
    path = f"/api/files/{file_id}"
    for rest in ("", "/content", "/thumbnail", "/pages"):
        is_problem(await http.get(path + rest, headers=BOB), 404, "not_found")
    is_problem(await http.delete(path, headers=BOB), 404, "not_found")
    assert (await http.get("/api/files", headers=BOB)).json()["files"] == []
    theirs = f"/api/sessions/{http.session}/files"
    sent = await http.post(theirs, files={"file": ("a.png", made.picture())}, headers=BOB)
    is_problem(sent, 404, "not_found")
    assert (await http.get(path)).status_code == 200


async def test_a_deleted_file_is_gone(served, tmp_path):
    _, http = served
    file_id = (await send(http, made.picture())).json()["fileId"]
    assert (await http.delete(f"/api/files/{file_id}")).status_code == 204
    for rest in ("", "/content", "/thumbnail"):
        is_problem(await http.get(f"/api/files/{file_id}{rest}"), 404, "not_found")
    assert left(tmp_path) == []
    assert (await send(http, made.picture())).status_code == 200


async def test_files_may_take_up_so_much_and_no_more(served):
    _, http = served
    for name in ("a", "b", "c"):
        noise = made.noise("PNG", (120, 100))
        last = await send(http, noise, f"{name}.png")
    is_problem(last, 413, "quota_exceeded")
    first = (await http.get("/api/files")).json()["files"][0]
    await http.delete(f"/api/files/{first['id']}")
    assert (await send(http, noise)).status_code == 200


async def test_what_the_quota_refuses_leaves_no_bytes(served, tmp_path):
    _, http = served
    noises = [made.noise("PNG", (150, 100)) for _ in range(3)]
    sent = await asyncio.gather(*(send(http, noise, f"{n}.png") for n, noise in enumerate(noises)))
    assert sorted(each.status_code for each in sent) == [200, 200, 413]
    assert len(left(tmp_path)) == 4  # two of them, as they came and as a model is given them


async def test_progress_is_shown_while_pages_are_read(served):
    _, http = served
    long = made.pdf(*(f"page {n}" for n in range(1, 251)))
    streamed = await send(http, long, "long.pdf", "/pdf", **STREAM)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    frames = [frame.split("\n") for frame in streamed.text.split("\n\n") if frame]
    names = [name.removeprefix("event: ") for name, _ in frames]
    values = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    assert names == ["progress", "progress", "file"]
    assert values[1] == {"done": 250, "of": 250}
    assert values[2]["pages"] == 250
    refused = await send(http, b"no pdf", "x.pdf", "/pdf", **STREAM)
    assert refused.text.startswith("event: problem") and '"status":400' in refused.text


async def test_a_user_sends_a_few_files_at_a_time(served):
    app, http = served
    app.files._uploads["ann"] = 4
    assert (await send(http, made.picture())).status_code == 429
    app.files._uploads["ann"] = 3
    assert (await send(http, made.picture())).status_code == 200
    assert app.files._uploads["ann"] == 3


async def test_a_client_that_hangs_up_leaves_nothing(served, tmp_path):
    app, http = served
    address = http.base_url
    reader, writer = await asyncio.open_connection(address.host, address.port)
    head = (
        f"POST /api/sessions/{http.session}/files HTTP/1.1\r\nHost: {address.host}\r\n"
        f"Authorization: {ANN['authorization']}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 40000\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
    )
    writer.write(head.encode() + made.picture())
    await writer.drain()
    await until(lambda: left(tmp_path))
    writer.close()
    await writer.wait_closed()
    await until(lambda: not left(tmp_path) and not app.files._uploads)
    assert (await http.get("/api/files")).json()["files"] == []


async def ask(http, message, file_ids, **more):
    body = {"message": message, "fileIds": file_ids, **more}
    return await http.post(f"/api/sessions/{http.session}/messages", json=body)


async def test_a_message_names_files_of_its_user_only(served):
    _, http = served
    mine = (await send(http, made.picture())).json()["fileId"]
    is_problem(await ask(http, "?", [mine, "unknown"]), 404, "not_found")
    is_problem(await ask(http, "?", [f"f{n}" for n in range(21)]), 413, "too_large")
    assert (await ask(http, "?", [mine], requestId="r")).status_code == 202
    assert (await ask(http, "?", [mine], requestId="r")).status_code == 202
    is_problem(await ask(http, "?", [], requestId="r"), 409, "request_id_reused")


async def test_the_event_holds_the_facts_of_a_file_and_no_more(served):
    app, http = served
    png = made.picture("PNG", (60, 40))
    mine = (await send(http, png, "a.png")).json()["fileId"]
    await ask(http, "?", [mine])
    await app.rest()
    page = (await http.get(f"/api/sessions/{http.session}/messages")).json()
    (facts,) = page["events"][0]["files"]
    assert facts == {
        "id": mine,
        "name": "a.png",
        "mediaType": "image/png",
        "size": len(png),
        "sha256": hashlib.sha256(png).hexdigest(),
        "dimensions": {"width": 60, "height": 40},
    }


async def test_messages_with_files_are_limited(tmp_path):
    limits = {"auth_secret": SECRET, "vision_a_minute": 1}
    async with (
        scripted_app(store=SqliteStore(tmp_path), **limits) as (app, _),
        client_of(app, headers=ANN) as http,
    ):
        http.session = (await http.post("/api/sessions")).json()["id"]
        mine = (await send(http, made.picture())).json()["fileId"]
        assert (await ask(http, "?", [mine])).status_code == 202
        await app.rest()
        assert (await ask(http, "?", [mine])).status_code == 429
        assert (await ask(http, "?", [])).status_code == 202
        await app.rest()
