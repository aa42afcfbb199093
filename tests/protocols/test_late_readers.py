"""Who reads late, through any door: the turn does not wait for them, and they miss nothing.

The answer is larger than the buffers of a connection, so the server must wait with the rest.
"""

import asyncio
import json

import pytest
from protocols.doors import open_doors, read_http

from turnlog.simulator import Reply, Thinking

pytestmark = pytest.mark.slow
WORDS = "Ducks quack, and geese honk. " * 200_000
LARGE = Reply(WORDS, chunk=50_000)


def ask_ui(session):
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Tell"}]}
    return f"/api/sessions/{session}/ui-stream", {"messages": [message]}


def ask_agui(session):
    message = {"role": "user", "content": "Tell"}
    return "/agui", {"threadId": session, "runId": "r", "messages": [message]}


def ask_responses(session):
    return "/v1/responses", {"input": "Tell", "conversation": session, "stream": True}


def ask_completions(session):
    messages = [{"role": "user", "content": "Tell"}]
    named = {"conversation": session}
    return "/v1/chat/completions", {"messages": messages, "metadata": named, "stream": True}


def ask_chatkit(session):
    content = [{"type": "input_text", "text": "Tell"}]
    given = {"content": content, "attachments": [], "inference_options": {}}
    params = {"thread_id": session, "input": given}
    return "/chatkit", {"type": "threads.add_user_message", "params": params}


# How to ask through each door, and where its events have the text.
DOORS = {
    "ui": (ask_ui, lambda e: e["delta"] if e["type"] == "text-delta" else ""),
    "agui": (ask_agui, lambda e: e["delta"] if e["type"] == "TEXT_MESSAGE_CONTENT" else ""),
    "responses": (
        ask_responses,
        lambda e: e["delta"] if e["type"] == "response.output_text.delta" else "",
    ),
    "completions": (
        ask_completions,
        lambda e: e["choices"][0]["delta"].get("content", "") if e.get("choices") else "",
    ),
    "chatkit": (ask_chatkit, lambda e: e.get("update", {}).get("delta", "")),
}


async def read_late(app, http, session, door, meanwhile=lambda: None):
    """The events of an answer that is read when its turn is over, and their text."""
    ask, text_of = DOORS[door]
    path, body = ask(session)
    async with http.stream("POST", path, json=body) as answer:
        while session not in app.bus.channels:  # the head of an answer may come before its turn
            await asyncio.sleep(0.01)
        await app.rest()
        meanwhile()
        lines = (await answer.aread()).splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    return events, "".join(map(text_of, events))


@pytest.mark.parametrize("door", DOORS)
async def test_who_reads_when_the_turn_is_over_misses_nothing(door):
    async with open_doors(LARGE, max_tokens=1_000_000) as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        _events, text = await read_late(app, http, session, door)
        assert text == WORDS


@pytest.mark.parametrize("door", ["ui", "chatkit"])  # the others stream as the first does
async def test_who_is_too_late_is_told_so_and_finds_it_in_the_log(door):
    async with open_doors(LARGE, max_tokens=1_000_000) as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]

        def lose():  # as if others had needed the room
            app.bus.channels.get(session).lose()

        events, text = await read_late(app, http, session, door, lose)
        assert text == WORDS or "error" in [event["type"] for event in events]
        assert (await read_http(http, session))["said"][0][1] == WORDS


async def test_a_long_thought_grows_in_steps_through_chatkit():
    """This protocol tells a thought anew each time: it is told when it has grown by a part."""
    thought = "Hm, ducks. " * 4_000
    async with open_doors(Reply(Thinking(thought), "So it is.", chunk=20)) as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        await http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        path, body = ask_chatkit(session)
        answer = await http.post(path, json=body)
        assert len(answer.content) < 15 * len(thought)
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:6] == "data: "]
        items = [event["item"] for event in events if event["type"] == "thread.item.done"]
        thoughts = [item for item in items if item["type"] == "workflow"]
        assert [item["workflow"]["tasks"][0]["content"] for item in thoughts] == [thought]
