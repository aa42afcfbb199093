"""The library over HTTP, by two users."""

import pytest

from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.contrib.knowledge.agent import knowledge_agent
from turnlog.contrib.knowledge.shelves import Shelves, read_teams
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, client_of

ALICE, BOB = as_user("alice"), as_user("bob")
RULES = {"title": "Rules", "text": "# Hall\nNo smoking."}


@pytest.fixture
async def library():
    shelves = Shelves(None, read_teams("sales: alice; all: *"))
    app = create_app(
        [knowledge_agent(shelves)],
        settings=Settings(auth_secret=SECRET),
        store="memory:",
        connections=[shelves],
        library=shelves,
    )
    async with app, client_of(app) as http:
        yield http, shelves


async def test_a_document_is_added_listed_and_deleted(library):
    http, shelves = library
    added = await http.post("/api/library", json=RULES, headers=ALICE)
    assert added.status_code == 202 and added.json()["state"] == "waiting"
    await shelves.library.indexed()
    place = f"/api/library/{added.json()['id']}"
    assert (await http.get(place, headers=ALICE)).json()["state"] == "ready"
    assert (await http.delete(place, headers=ALICE)).status_code == 200
    assert (await http.get(place, headers=ALICE)).status_code == 404


async def test_somebody_elses_document_is_not_found(library):
    http, _ = library
    place = (
        f"/api/library/{(await http.post('/api/library', json=RULES, headers=ALICE)).json()['id']}"
    )
    assert (await http.get(place, headers=BOB)).status_code == 404
    assert (await http.delete(place, headers=BOB)).status_code == 404
    assert (await http.get("/api/library", headers=BOB)).json() == {"documents": []}
    assert (await http.get("/api/library")).status_code == 401


async def test_a_team_shares_and_who_is_not_in_it_adds_nothing(library):
    http, _ = library
    shared = await http.post("/api/library", json=RULES | {"team": "all"}, headers=ALICE)
    (seen,) = (await http.get("/api/library", headers=BOB)).json()["documents"]
    assert seen["id"] == shared.json()["id"] and seen["owner"] == "team:all"
    refused = await http.post("/api/library", json=RULES | {"team": "sales"}, headers=BOB)
    assert refused.status_code == 404


async def test_an_upload_becomes_a_document_with_its_pages(library):
    http, shelves = library
    session = (await http.post("/api/sessions", headers=ALICE)).json()["id"]
    upload = {"file": ("rules.md", b"# Hall\nNo smoking.", "text/markdown")}
    place = f"/api/sessions/{session}/files/document"
    file = (await http.post(place, files=upload, headers=ALICE)).json()["fileId"]
    added = await http.post("/api/library", json={"fileId": file}, headers=ALICE)
    assert (added.status_code, added.json()["title"]) == (202, "rules.md")
    await shelves.library.indexed()
    (found,) = await shelves.find("alice", "smoking")
    assert (found.source, found.heading) == (f"file:{file}", "Hall")
    stolen = await http.post("/api/library", json={"fileId": file}, headers=BOB)
    assert stolen.status_code == 404


async def test_a_file_with_more_text_than_is_given_out_at_once_becomes_a_document(
    library, monkeypatch
):
    """A workbook with large sheets, say."""
    monkeypatch.setattr("turnlog.files.library.MOST_TEXT", 20)
    http, shelves = library
    session = (await http.post("/api/sessions", headers=ALICE)).json()["id"]
    upload = {"file": ("rules.pdf", made.pdf("Mind the step.", "No running.", "No smoking."))}
    place = f"/api/sessions/{session}/files/pdf"
    file = (await http.post(place, files=upload, headers=ALICE)).json()["fileId"]
    added = await http.post("/api/library", json={"fileId": file}, headers=ALICE)
    assert added.status_code == 202, added.text
    await shelves.library.indexed()
    found = await shelves.library.find(["user:alice"], "smoking", by="words")
    assert [each.page for each in found] == [3]


async def test_an_image_is_no_document(library):
    http, _ = library
    session = (await http.post("/api/sessions", headers=ALICE)).json()["id"]
    upload = {"file": ("a.png", made.picture("PNG", (9, 9)))}
    place = f"/api/sessions/{session}/files"
    file = (await http.post(place, files=upload, headers=ALICE)).json()["fileId"]
    refused = await http.post("/api/library", json={"fileId": file}, headers=ALICE)
    assert (refused.status_code, refused.json()["detail"]) == (400, "An image has no text.")


async def test_a_document_is_a_file_or_a_text(library):
    http, _ = library
    for body in ({}, {"title": "x"}, {"fileId": "f", "text": "t"}):
        assert (await http.post("/api/library", json=body, headers=ALICE)).status_code == 400
