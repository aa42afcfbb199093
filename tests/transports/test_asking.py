"""Asking over HTTP: a message in line has its place at once, and a stream is for who takes one."""

import pytest

from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import STREAM, events, served
from turnlog.transports.http.resources import turns

WAITS = Reply(ToolCall("wait")), Reply("Done."), Reply("Yes?")


async def test_a_message_in_line_is_answered_with_its_place_at_once():
    async with served(*WAITS) as server:
        session = await server.session()
        await server.ask(session)
        waits = await server.ask(session, onBusy="enqueue", requestId="r")
        assert (waits.status_code, waits.json()["place"]) == (202, 1)
        again = await server.ask(session, requestId="r")
        assert again.json() == waits.json()
        server.go.set()
        shown = events(await server.ask(session, requestId="r", headers=STREAM))
        assert {event["turnId"] for event in shown} == {waits.json()["turnId"]}
        assert shown[-1]["type"] == "complete"


async def test_the_stream_of_a_message_in_line_shows_signs_of_life(monkeypatch):
    monkeypatch.setattr(turns, "ALIVE_EVERY", 0.001)
    async with served(*WAITS) as server:
        session = await server.session()
        await server.ask(session)
        body = {"message": "Next", "onBusy": "enqueue"}
        path = f"/api/sessions/{session}/messages"
        async with server.http.stream("POST", path, json=body, headers=STREAM) as response:
            parts = response.aiter_text()
            assert (await anext(parts)).startswith(": still here")
            server.go.set()
            assert "event: complete" in "".join([part async for part in parts])


ACCEPTED = {
    "text/event-stream": True,
    "Text/Event-Stream; charset=utf-8": True,
    "application/json, text/event-stream;q=0.5": True,
    "text/event-stream;q=0": False,
    "application/json, text/event-stream; q = 0.000": False,
    "*/*": False,
}


@pytest.mark.parametrize("accept", ACCEPTED)
async def test_a_stream_is_for_those_who_take_one(accept):
    async with served(Reply("Hello you.")) as server:
        response = await server.ask(await server.session(), headers={"accept": accept})
        streams = response.headers["content-type"].startswith("text/event-stream")
        assert streams == ACCEPTED[accept]
