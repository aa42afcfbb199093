"""Files through every door: they come in by one, and are shown by all."""

import json

import pytest
from protocols.doors import frames, open_doors

from turnlog.simulator import Reply
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user


# A question with a picture: how each door names the file, and where it shows it.
def ask_http(session, file):
    return f"/api/sessions/{session}/messages", {"message": "Look", "fileIds": [file]}


def ask_ui(session, file):
    look = {"type": "file", "mediaType": "image/png", "url": f"/api/files/{file}/content"}
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Look"}, look]}
    return f"/api/sessions/{session}/ui-stream", {"messages": [message]}


def ask_agui(session, file):
    source = {"type": "url", "value": f"/api/files/{file}/content"}
    content = [{"type": "text", "text": "Look"}, {"type": "image", "source": source}]
    return "/agui", {"threadId": session, "runId": "r1",
                     "messages": [{"role": "user", "content": content}]}  # fmt: skip


def ask_openai(session, file):
    content = [{"type": "input_text", "text": "Look"}, {"type": "input_image", "file_id": file}]
    given = [{"role": "user", "content": content}]
    return "/v1/responses", {"model": "turnlog", "input": given, "conversation": session}


def ask_chatkit(session, file):
    given = {"content": [{"type": "input_text", "text": "Look"}], "attachments": [file],
             "inference_options": {}}  # fmt: skip
    params = {"thread_id": session, "input": given}
    return "/chatkit", {"type": "threads.add_user_message", "params": params}


async def shown_files(http, session):
    """The files of the first question, as each door shows them."""
    events = (await http.get(f"/api/sessions/{session}/messages")).json()["events"]
    ui = (await http.get(f"/api/sessions/{session}/ui-messages")).json()["messages"]
    look = {"threadId": session, "runId": "look", "messages": []}
    agui = frames(await http.post("/agui", json=look))
    (snapshot,) = [e["messages"] for e in agui if e["type"] == "MESSAGES_SNAPSHOT"]
    path = f"/v1/conversations/{session}/items"
    items = (await http.get(path, params={"order": "asc"})).json()["data"]
    body = {"type": "threads.get_by_id", "params": {"thread_id": session}}
    thread = (await http.post("/chatkit", json=body)).json()["items"]["data"]
    return {
        "http": [file["id"] for file in events[0]["files"]],
        "ui": [p["url"].split("/")[3] for p in ui[0]["parts"] if p["type"] == "file"],
        "agui": [p["source"]["value"].split("/")[3] for p in snapshot[0]["content"][1:]],
        "openai": [part["file_id"] for part in items[0]["content"][1:]],
        "chatkit": [attachment["id"] for attachment in thread[0]["attachments"]],
    }


ASKERS = {"http": ask_http, "ui": ask_ui, "agui": ask_agui, "openai": ask_openai,
          "chatkit": ask_chatkit}  # fmt: skip


@pytest.mark.parametrize("asker", ASKERS)
async def test_a_file_that_comes_in_by_one_door_is_seen_by_the_model_and_through_every_other(asker):
    async with open_doors(Reply("A square."), auth_secret=SECRET) as (app, http):
        http.headers.update(as_user("alice"))
        session = (await http.post("/api/sessions")).json()["id"]
        picture = {"file": ("a.png", made.picture("PNG", (20, 20)), "image/png")}
        sent = await http.post(f"/api/sessions/{session}/files", files=picture)
        file = sent.json()["fileId"]
        path, body = ASKERS[asker](session, file)
        http.headers.update(as_user("bob"))
        own = (await http.post("/api/sessions")).json()["id"]
        stolen, theft = ASKERS[asker](own, file)
        refused = await http.post(stolen, json=theft)
        assert refused.status_code == 404 or "There is no file" in refused.text, refused.text
        assert app.sim.accepted == 0
        http.headers.update(as_user("alice"))
        assert (await http.post(path, json=body)).status_code < 300
        await app.rest()
        assert '"image"' in json.dumps(app.sim.requests[0]["messages"])
        assert await shown_files(http, session) == dict.fromkeys(ASKERS, [file])


HOSTILE = {
    "only options": "data:" + ";" * 1_000_000,
    "letter by letter": "data:," + "%41" * 1_000_000,
    "no base64": "data:;base64,%%%",
    "nothing in it": "data:",
    "no picture": "data:image/png;base64,AAAA",
    "elsewhere": "http://" + "a" * 9_000,
    "of the machine": "file:///etc/passwd",
    "empty": "",
}


@pytest.mark.parametrize("url", HOSTILE.values(), ids=HOSTILE)
async def test_an_address_that_is_none_is_refused_at_once(url):
    async with open_doors() as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        part = {"type": "file", "mediaType": "image/png", "url": url}
        message = {"role": "user", "parts": [{"type": "text", "text": "Look"}, part]}
        path = f"/api/sessions/{session}/ui-stream"
        assert (await http.post(path, json={"messages": [message]})).status_code == 400
        assert app.sim.accepted == 0


PLAIN = "data:text/plain;base64,"


def bring_ui(session, url):
    part = {"type": "file", "mediaType": "text/plain", "url": url}
    return f"/api/sessions/{session}/ui-stream", {
        "messages": [{"role": "user", "parts": [part] * 21}]
    }


def bring_agui(session, url):
    part = {"type": "document", "source": {"type": "url", "value": url}}
    messages = [{"role": "user", "content": [part] * 21}]
    return "/agui", {"threadId": session, "runId": "r1", "messages": messages}


def bring_openai(session, url):
    part = {"type": "input_file", "file_data": url}
    given = [{"role": "user", "content": [part] * 21}]
    return "/v1/responses", {"model": "turnlog", "input": given, "conversation": session}


@pytest.mark.parametrize("bring", [bring_ui, bring_agui, bring_openai])
@pytest.mark.parametrize("url", [PLAIN + "eA==", PLAIN + "%%%"])
async def test_too_many_files_are_refused_before_one_of_them_is_read(bring, url):
    async with open_doors() as (_, http):
        session = (await http.post("/api/sessions")).json()["id"]
        path, body = bring(session, url)
        refused = await http.post(path, json=body)
        assert refused.status_code == 413 and "may have 20 files" in refused.text
        assert (await http.get("/api/files")).json()["files"] == []


@pytest.mark.parametrize("path", ["responses", "chat/completions"])
async def test_a_file_that_is_refused_begins_no_session(path):
    url = "data:image/png;base64,AAAA"
    parts = {
        "responses": {"type": "input_image", "image_url": url},
        "chat/completions": {"type": "image_url", "image_url": {"url": url}},
    }
    asked = [{"role": "user", "content": [parts[path]]}]
    async with open_doors() as (_, http):
        body = {"model": "turnlog", "input": asked, "messages": asked}
        refused = await http.post(f"/v1/{path}", json=body)
        assert refused.status_code == 400
        assert (await http.get("/api/sessions")).json()["sessions"] == []
