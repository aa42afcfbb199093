"""Plays a capture through a real app: HTTP, the engine, all stages, a store.

A server on loopback answers each request with the recorded bytes of the next call. So the log and
the wire hold what they would hold with the real API.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.diagnosis.captures import Capture, RecordedCall
from turnlog.events.rows.record import stamped
from turnlog.ports import Agent
from turnlog.simulator.listener import listen
from turnlog.transports import wire

Json = dict[str, Any]
# Events that do not come from the recording: our question, and the results of our tools.
OUR_OWN = ("user_message_sent", "tool_result")
ANSWERS = ("thinking", "message", "citations")  # how the events of an answer begin


@dataclass
class PlayedCall:
    """The events of one model call, in the log and on the wire."""

    log: list[Json] = field(default_factory=list)
    wire: list[Json] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether the pipeline took it for an answer that the model has ended."""
        reasons = [event["stopReason"] for event in self.log if event["type"] == "message"]
        return bool(reasons) and reasons[-1] != "interrupted"


async def play(capture: Capture) -> list[PlayedCall]:
    """The events of each call that the pipeline made."""
    async with _recorded_claude(capture.calls) as url:
        settings = Settings(api_key="recorded", base_url=url, max_calls=len(capture.calls))
        app = create_app([Agent("assistant")], settings=settings, store="memory:")
        async with app:
            result = await app.run_turn(f"Play {capture.name}")
            evidence = await app.store.evidence(result.session_id)
    log = [msgspec.to_builtins(stamped(row).event) for row in evidence.log]
    return _by_call(log, [wire.decode(wire.encode(at)) for at in result.events])


@asynccontextmanager
async def _recorded_claude(calls: Iterable[RecordedCall]) -> AsyncIterator[str]:
    bodies = iter([call.body for call in calls])

    async def answer(request: Request) -> Response:
        return Response(next(bodies), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/messages", answer, methods=["POST"])])
    async with listen(app, "127.0.0.1", 0) as url:
        yield url


def _by_call(log: list[Json], shown: list[Json]) -> list[PlayedCall]:
    played: list[PlayedCall] = []
    for side, events in (("log", log), ("wire", shown)):
        for number, call in enumerate(_calls(events)):
            if number == len(played):
                played.append(PlayedCall())
            getattr(played[number], side).extend(call)
    return played


def _calls(events: list[Json]) -> list[list[Json]]:
    """The events of each call. A call ends with its message and its tool calls."""
    calls: list[list[Json]] = [[]]
    ended = False
    for event in events:
        if event["type"] in OUR_OWN or event.get("code") == "too_many_calls":
            continue  # too_many_calls: the recording ends before the model has
        if ended and event["type"].startswith(ANSWERS):
            calls.append([])
            ended = False
        calls[-1].append(event)
        ended = ended or event["type"] == "message"
    return calls
