"""Asking over HTTP: a stream is for who takes one."""

import pytest

from turnlog.simulator import Reply
from turnlog.testing.apps import served

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
