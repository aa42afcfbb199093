"""Every door: how to ask and to allow through it, and what it shows of a session."""

import json
from contextlib import asynccontextmanager

import openai

from turnlog import Agent, tool
from turnlog.ports.engine import handover_tool
from turnlog.simulator import Reply, Text, ToolCall
from turnlog.testing.apps import SECRET, client_of, scripted_app
from turnlog.tokens import mint

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


def handed_over():
    """The same by two: the first passes it on to the one who pays."""
    passing = Reply("I pass it on. ", ToolCall(handover_tool("clerk"), {"reason": "It is money."}))
    return [passing, *script()]


TEAM = [Agent("front", hands_over_to=["clerk"]), Agent("clerk", tools=[pay])]


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
        "speakers": [e["agent"]["id"] for e in events if e["type"] == "message"],
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
    places = [p["providerMetadata"]["turnlog"] for p in parts if p["type"] == "text"]
    return {
        "asked": [m["parts"][0]["text"] for m in messages if m["role"] == "user"],
        "said": joined(texts),
        "speakers": list({p["messageId"]: p["agent"] for p in places}.values()),
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
        "speakers": [m["name"] for m in answers],
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
async def openai_client(server, user=None):
    base = str(server.http.base_url).rstrip("/")
    key = mint(SECRET, user) if user else "none"
    made = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0)
    async with made as one:
        yield one


@asynccontextmanager
async def open_doors(*script, agents=TEAM[1:], **settings):
    paid.clear()
    scripted = scripted_app(*script, agents=list(agents), **settings)
    async with scripted as (app, sim), client_of(app) as http:
        app.sim = sim
        yield app, http
