"""The same session through every door: written through one, read through another, all pairs."""

import json
from contextlib import asynccontextmanager
from itertools import product

import pytest

from turnlog import Agent, tool
from turnlog.simulator import Reply, Text, ToolCall
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, client_of, is_problem, scripted_app
from turnlog.transports.protocols import carries
from turnlog.transports.protocols import story as s

paid = []
CITED = {"type": "web_search_result_location", "url": "https://ducks.example", "title": "Ducks",
         "cited_text": "Ducks quack.", "encrypted_index": "x"}  # fmt: skip


@tool(describe="Pay {amount}")
async def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


def script():
    cited = Text("Ducks quack.", citations=(CITED,))
    return [Reply("Sure. ", ToolCall("pay", {"amount": 3})), Reply("Done. ", cited, " So it is.")]


def frames(answer):
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line[6:]) for line in lines]


# How to ask "Pay" in a session, and to allow what is asked for, through each door.


async def write_http(http, session):
    await http.post(f"/api/sessions/{session}/messages", json={"message": "Pay"})
    approval = await pending(http)
    await http.post(f"/api/approvals/{approval}", json={"approved": True})


async def write_ui(http, session):
    path = f"/api/sessions/{session}/ui-stream"
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Pay"}]}
    asked = frames(await http.post(path, json={"messages": [message]}))
    (name,) = [c["approvalId"] for c in asked if c["type"] == "tool-approval-request"]
    part = {"type": "dynamic-tool", "state": "approval-responded",
            "approval": {"id": name, "approved": True}}  # fmt: skip
    answer = {"id": "a1", "role": "assistant", "parts": [part]}
    assert frames(await http.post(path, json={"messages": [answer]}))[-1]["type"] == "finish"


async def write_agui(http, session):
    body = {"threadId": session, "runId": "r1", "messages": [{"role": "user", "content": "Pay"}]}
    (interrupt,) = frames(await http.post("/agui", json=body))[-1]["outcome"]["interrupts"]
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    again = {"threadId": session, "runId": "r2", "resume": [entry]}
    assert frames(await http.post("/agui", json=again))[-1]["type"] == "RUN_FINISHED"


async def write_openai(http, session):
    body = {"model": "turnlog", "input": "Pay", "conversation": session}
    asked = (await http.post("/v1/responses", json=body)).json()
    reply = {"type": "mcp_approval_response", "approve": True,
             "approval_request_id": asked["output"][-1]["id"]}  # fmt: skip
    body = {"model": "turnlog", "input": [reply], "previous_response_id": asked["id"]}
    assert (await http.post("/v1/responses", json=body)).json()["status"] == "completed"


async def write_chatkit(http, session):
    given = {"content": [{"type": "input_text", "text": "Pay"}], "attachments": [],
             "inference_options": {}}  # fmt: skip
    params = {"thread_id": session, "input": given}
    body = {"type": "threads.add_user_message", "params": params}
    events = frames(await http.post("/chatkit", json=body))
    (widget,) = [e["item"] for e in events
                 if e["type"] == "thread.item.done" and e["item"]["type"] == "widget"]  # fmt: skip
    action = widget["widget"]["children"][1]["children"][0]["onClickAction"]
    params = {"thread_id": session, "item_id": widget["id"], "action": action}
    frames(await http.post("/chatkit", json={"type": "threads.custom_action", "params": params}))


async def pending(http):
    while True:
        found = (await http.get("/api/approvals", params={"status": "pending"})).json()["approvals"]
        if found:
            return found[0]["id"]


# What each door shows of a session: the question, messages with ids, calls, approvals, citations.


async def read_http(http, session):
    events = (await http.get(f"/api/sessions/{session}/messages")).json()["events"]
    return {
        "asked": [e["content"] for e in events if e["type"] == "user_message_sent"],
        "said": [(e["messageId"], e["content"]) for e in events if e["type"] == "message"],
        "calls": [e["toolUseId"] for e in events if e["type"] == "tool_use"],
        "approvals": [e["approvalId"] for e in events if e["type"] == "approval_requested"],
        "citations": [c["url"] for e in events for c in e.get("citations", ())],
    }


async def read_ui(http, session):
    messages = (await http.get(f"/api/sessions/{session}/ui-messages")).json()["messages"]
    parts = [p for m in messages if m["role"] == "assistant" for p in m["parts"]]
    texts = [(p["providerMetadata"]["turnlog"]["messageId"], p["text"])
             for p in parts if p["type"] == "text"]  # fmt: skip
    tools = [p for p in parts if p["type"] == "dynamic-tool"]
    return {
        "asked": [m["parts"][0]["text"] for m in messages if m["role"] == "user"],
        "said": joined(texts),
        "calls": [p["toolCallId"] for p in tools],
        "approvals": [p["approval"]["id"] for p in tools],
        "citations": [p["url"] for p in parts if p["type"] == "source-url"],
    }


async def read_agui(http, session):
    body = {"threadId": session, "runId": "look", "messages": []}
    events = frames(await http.post("/agui", json=body))
    (messages,) = [e["messages"] for e in events if e["type"] == "MESSAGES_SNAPSHOT"]
    answers = [m for m in messages if m["role"] == "assistant"]
    return {
        "asked": [m["content"] for m in messages if m["role"] == "user"],
        "said": [(m["id"], m["content"]) for m in answers],
        "calls": [call["id"] for m in answers for call in m.get("toolCalls", ())],
    }


async def read_openai(http, session):
    path = f"/v1/conversations/{session}/items"
    items = (await http.get(path, params={"order": "asc"})).json()["data"]
    answers = [i for i in items if i.get("role") == "assistant"]
    return {
        "asked": [i["content"][0]["text"] for i in items if i.get("role") == "user"],
        "said": [(i["id"], "".join(part["text"] for part in i["content"])) for i in answers],
        "calls": [i["id"] for i in items if i["type"] == "mcp_call"],
        "approvals": [i["id"] for i in items if i["type"] == "mcp_approval_request"],
        "citations": [a["url"] for i in answers for p in i["content"] for a in p["annotations"]],
    }


async def read_chatkit(http, session):
    body = {"type": "threads.get_by_id", "params": {"thread_id": session}}
    items = (await http.post("/chatkit", json=body)).json()["items"]["data"]
    answers = [i for i in items if i["type"] == "assistant_message"]
    return {
        "asked": [i["content"][0]["text"] for i in items if i["type"] == "user_message"],
        "said": [(i["id"], "".join(part["text"] for part in i["content"])) for i in answers],
        "calls": [i["id"] for i in items if i["type"] == "workflow"],
        "approvals": [i["id"] for i in items if i["type"] == "widget"],
        "citations": [a["source"]["url"] for i in answers for p in i["content"]
                      for a in p["annotations"]],
    }  # fmt: skip


def joined(texts):
    whole = {}
    for name, text in texts:
        whole[name] = whole.get(name, "") + text
    return list(whole.items())


WRITERS = {"http": write_http, "ui": write_ui, "agui": write_agui, "openai": write_openai,
           "chatkit": write_chatkit}  # fmt: skip
READERS = {"http": read_http, "ui": read_ui, "agui": read_agui, "openai": read_openai,
           "chatkit": read_chatkit}  # fmt: skip


@asynccontextmanager
async def open_doors(*script, **settings):
    paid.clear()
    agents = [Agent("clerk", tools=[pay])]
    scripted = scripted_app(*script, agents=agents, **settings)
    async with scripted as (app, sim), client_of(app) as http:
        app.sim = sim
        yield app, http


@pytest.mark.parametrize("writer", WRITERS)
async def test_written_through_one_door_and_read_through_every_other(writer):
    async with open_doors(*script()) as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        await WRITERS[writer](http, session)
        await app.rest()
        assert paid == [3]
        own = await read_http(http, session)
        assert own["asked"] == ["Pay"] and len(own["said"]) == 2
        assert [len(own[name]) for name in ("calls", "approvals", "citations")] == [1, 1, 1]
        for reader in READERS.values():
            seen = await reader(http, session)
            assert seen == {name: own[name] for name in seen}


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


@pytest.mark.parametrize("reader", READERS)
async def test_bob_reads_nothing_of_alices_through_any_door(reader):
    async with open_doors(*script(), auth_secret=SECRET) as (app, http):
        made = await http.post("/api/sessions", headers=as_user("alice"))
        session = made.json()["id"]
        http.headers.update(as_user("alice"))
        await write_http(http, session)
        await app.rest()
        assert (await READERS[reader](http, session))["asked"] == ["Pay"]
        http.headers.update(as_user("bob"))
        if reader == "agui":  # the name is Bob's own there, and leads to a session of his
            assert (await read_agui(http, session))["said"] == []
            return
        with pytest.raises((KeyError, TypeError, AssertionError)):
            await READERS[reader](http, session)


@pytest.mark.parametrize(("writer", "user"), list(product(WRITERS, ["bob", None])))
async def test_nobody_writes_into_alices_session_through_any_door(writer, user):
    async with open_doors(*script(), auth_secret=SECRET) as (app, http):
        made = await http.post("/api/sessions", headers=as_user("alice"))
        session = made.json()["id"]
        http.headers.update(as_user(user) if user else {})
        refused = await http.post(f"/api/sessions/{session}/messages", json={"message": "Pay"})
        is_problem(refused, *((404, "not_found") if user else (401, "unauthorized")))
        names_are_ones_own = user and writer in ("agui", "openai")
        if writer != "http" and not names_are_ones_own:
            with pytest.raises((KeyError, AssertionError, ValueError, TypeError)):
                await WRITERS[writer](http, session)
        assert (await app.store.evidence(session)).log == []
        assert paid == []


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "http"])
async def test_what_a_role_decides_is_decided_with_the_roles_of_the_token(writer):
    options = {"auth_secret": SECRET, "approver": "role:boss"}
    async with open_doors(script()[0], *script(), **options) as (app, http):
        for roles, amounts in (([], []), (["boss"], [3])):
            http.headers.update(as_user("alice", roles=roles))
            session = (await http.post("/api/sessions")).json()["id"]
            try:
                await WRITERS[writer](http, session)
            except (AssertionError, KeyError, ValueError):
                assert not roles
            await app.rest()
            assert paid == amounts


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "http"])
async def test_an_approval_of_another_session_is_not_found_through_any_door(writer):
    async with open_doors(script()[0], script()[0]) as (app, http):
        sessions = [(await http.post("/api/sessions")).json()["id"] for _ in range(2)]
        for session in sessions:
            await http.post(f"/api/sessions/{session}/messages", json={"message": "Pay"})
            await app.rest()
        events = (await http.get(f"/api/sessions/{sessions[0]}/messages")).json()["events"]
        (name,) = [e["approvalId"] for e in events if e["type"] == "approval_requested"]
        session = sessions[1]
        part = {"state": "approval-responded", "approval": {"id": name, "approved": True}}
        entry = {"interruptId": name, "status": "resolved", "payload": {"approved": True}}
        reply = {"type": "mcp_approval_response", "approve": True, "approval_request_id": name}
        action = {"type": "turnlog.decide", "payload": {"approvalId": name, "approved": True}}
        path, body = {
            "ui": (f"/api/sessions/{session}/ui-stream",
                   {"messages": [{"role": "assistant", "parts": [part]}]}),
            "agui": ("/agui", {"threadId": session, "runId": "r", "resume": [entry]}),
            "openai": ("/v1/responses", {"input": [reply], "conversation": session}),
            "chatkit": ("/chatkit", {"type": "threads.custom_action", "params": {
                "thread_id": session, "item_id": name, "action": action}}),
        }[writer]  # fmt: skip
        answer = await http.post(path, json=body)
        assert answer.status_code == 404 or "There is no" in answer.text, answer.text
        assert paid == []


async def test_broken_and_huge_bodies_and_forged_ids_are_refused_at_every_door():
    async with open_doors() as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        paths = [f"/api/sessions/{session}/ui-stream", "/agui", "/v1/responses",
                 "/v1/chat/completions", "/chatkit"]  # fmt: skip
        for path in paths:
            for broken in (b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000):
                answer = await http.post(path, content=broken)
                assert answer.status_code == 400, (path, broken[:3], answer.text)
            huge = b'{"input": "' + b"x" * 16_000_001 + b'"}'
            assert (await http.post(path, content=huge)).status_code == 413, path
        numbers = ("0", "-1", "9" * 400, "٣", "")
        ours = [f"resp_{session}_{number}" for number in numbers]
        for forged in ("x", "resp_", "resp__", "resp_%00_1", *ours):
            for method, tail in (("GET", ""), ("POST", "/cancel")):
                answer = await http.request(method, f"/v1/responses/{forged}{tail}")
                assert answer.status_code == 404, forged
        assert (await app.store.evidence(session)).log == []


def test_every_protocol_has_a_cell_for_every_step_and_every_note_is_needed():
    tables = carries.tables()
    inner = {s.Step, s.Part, s.Began, s.TextBegan, s.ThoughtBegan, s.Said}
    steps = {
        kind for kind in vars(s).values() if isinstance(kind, type) and issubclass(kind, s.Step)
    }
    assert carries.ROWS.keys() == steps - inner
    assert {name for name, _ in carries.NOTES} <= tables.keys()
    lines = carries.page()
    assert len(lines) == len(carries.ROWS) + 2 and len({line.count("|") for line in lines}) == 1


ODD = [["x"], [1], [None], [{"type": "text"}], [{"type": "text", "text": 5}], [{"text": []}]]


@pytest.mark.parametrize("parts", ODD, ids=str)
async def test_a_body_of_another_form_is_the_clients_mistake(parts):
    async with open_doors() as (_app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        message = {"role": "user", "parts": parts, "content": parts}
        for path, body in [
            (f"/api/sessions/{session}/ui-stream", {"messages": [message]}),
            (f"/api/sessions/{session}/ui-stream", {"messages": [message | {"role": "assistant"}]}),
            ("/agui", {"threadId": "t", "runId": "r", "messages": [message]}),
            ("/v1/responses", {"input": [message]}),
            ("/v1/chat/completions", {"messages": [message]}),
            ("/chatkit", {"type": "threads.create", "params": {"input": message}}),
        ]:
            answer = await http.post(path, json=body)
            assert (answer.status_code, "detail" in answer.json()) == (400, True), path
