"""Performs a golden page: the real server, engine and store, a scripted Claude.

Whatever the page says, the invariants are checked too: the grammar, the numbers, the pairs,
and that a reload leads to the same screen from every point where a client may drop off.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import msgspec

from turnlog.app import Turnlog, create_app
from turnlog.config import Settings
from turnlog.engines.claude.sse import SseSplitter
from turnlog.errors import TurnlogError
from turnlog.events.base import Stamped
from turnlog.events.kinds import UserMessageSent
from turnlog.events.rows.record import Record, stamped
from turnlog.ports import Question, Store
from turnlog.projections.history.fold import history
from turnlog.projections.history.lint import Finding, lint
from turnlog.projections.history.request import Request
from turnlog.projections.proof import prove
from turnlog.projections.transcript import Shown
from turnlog.simulator import SimulatedClaude
from turnlog.simulator.listener import listen
from turnlog.testing import invariants
from turnlog.testing.golden import attached, people, teams
from turnlog.testing.golden import thoughts as thinking
from turnlog.testing.golden.pages import Page
from turnlog.testing.golden.rows import rows
from turnlog.testing.golden.stages import add_tasks, stage_for
from turnlog.testing.golden.steps import PersonStep, UserStep
from turnlog.testing.tabs import Tab, serve_sockets, tab
from turnlog.transports import splicing, wire
from turnlog.transports.access.auth import LOCAL_USER

USER = LOCAL_USER
Send = Callable[[Turnlog, str, UserStep], Awaitable[list[Shown]]]
Act = Callable[[Turnlog, str, Sequence[Shown], PersonStep], Awaitable[list[Shown]]]


@dataclass
class Performance:
    """What happened, and what should not have."""

    rows: list[tuple[str, ...]]
    broken: list[str]
    live: list[Shown]  # as it was streamed
    log: list[Shown]  # as a reload shows it


async def perform(page: Page, store: Store, send: Send, engine: str = "claude") -> Performance:
    """Play the page over this store, this transport and this engine."""
    sim = SimulatedClaude(pace=0)
    with TemporaryDirectory() as data:  # for what a shared store does not hold
        async with sim.serve() as url, stage_for(page) as stage:
            settings = Settings(
                api_key="test",
                base_url=url,
                data=data,
                approval_timeout=patience(page),
                tool_errors="type",  # as on a server with users
                **page.settings,
            )
            connections = stage.connections
            app = create_app(
                stage.agents,
                settings=settings,
                store=store,
                connections=connections,
                engine=engine,
            )
            async with app:
                await add_tasks(page, app.tasks)
                return await _perform(page, app, sim, send)


async def _perform(page: Page, app: Turnlog, sim: SimulatedClaude, send: Send) -> Performance:
    session = await app.create_session(USER)
    live, thoughtless = await play(page, app, sim, session.id, send)
    evidence = await app.store.evidence(session.id)
    kept = [stamped(row) for row in evidence.log]
    log = [wire.decode(wire.encode(entry)) for entry in kept if not entry.envelope.internal]
    broken = [
        *invariants.broken(live, log),
        *prove(evidence).problems,
        *(f"number {row.seq} is spliced otherwise" for row in evidence.log if _differs(row)),
        *(
            f"history: {finding}"
            for agent in page.team or (None,)
            for finding in _findings([*kept, _next_question(kept)], agent)
        ),
        *thoughtless,
        *(f"refused by the API: {refused}" for refused in sim.refused),
        *([f"{sim.pending} replies of the script were not asked for"] if sim.pending else []),
        *([f"turns still run: {evidence.running}"] if evidence.running else []),
    ]
    return Performance(rows(teams.in_order(live, page), bool(page.team)), broken, live, log)


def _differs(row: Record) -> bool:
    """Whether a reload, which is spliced from rows, shows it otherwise."""
    if row.is_internal:
        return False
    (spliced,) = splicing.spliced([row.bare])
    return wire.decode(wire.as_json(spliced)) != wire.decode(wire.encode(stamped(row)))


async def play(
    page: Page, app: Turnlog, sim: SimulatedClaude, session_id: str, send: Send
) -> tuple[list[Shown], list[str]]:
    """The page's turns, and what people do in them: what was shown, and wrong requests."""
    live: list[Shown] = []
    thoughtless: list[str] = []
    ids = await page.attached.upload(app, USER, session_id)
    for turn in page.turns:
        turn.file_ids = attached.ids_of(turn.attached, ids)
        for name in turn.deleted:
            await app.files.delete(USER, ids[name])
        if turn.refused:
            await _refused(app, session_id, turn)
            continue
        sim.queue(*(teams.replies(turn) if page.team else turn.entries))
        if turn.searching:
            await app.change_session(USER, session_id, web_search=True)
        await thinking.switch(app, session_id, turn.setting)
        before = len(sim.requests)
        async with (
            teams.stopping(app, session_id, turn.stopped_in),
            teams.dying(app, session_id, turn),
        ):
            live += await send(app, session_id, turn)
        for step in turn.people:
            live += await ACTS.get(send, act_by_library)(app, session_id, live, step)
        await app.rest()  # then the log has the notes about this turn, before the next one
        wanted = turn.thinking or (await app.store.get_session(USER, session_id)).thinking_enabled
        thoughtless += thinking.asked_otherwise(sim.requests[before:], wanted)
    return live, thoughtless


async def _refused(app: Turnlog, session_id: str, turn: UserStep) -> None:
    """The question ends in this error, and leaves nothing."""
    before = await app.store.read(USER, session_id)
    try:
        await app.start_turn(USER, session_id, Question(message=turn.text, file_ids=turn.file_ids))
    except TurnlogError as error:
        assert error.code == turn.refused, error
    else:
        raise AssertionError(f"{turn.text!r} was not refused")
    assert await app.store.read(USER, session_id) == before


def patience(page: Page) -> float:
    """How long a person is waited for."""
    waits = any(step.verb == "waits" for turn in page.turns for step in turn.people)
    return people.SHORT if waits else 3600.0


def _findings(log: list[Stamped], agent: str | None) -> list[Finding]:
    return lint(Request({"messages": history(log, agent)}))


def _next_question(kept: list[Stamped]) -> Stamped:
    """The history must be valid when the user goes on."""
    event = UserMessageSent(message_id="next", content="And now?")
    placed = msgspec.structs.replace(kept[-1].envelope, event=event)
    return msgspec.structs.replace(kept[-1], envelope=placed, turn_id="next")


async def by_library(app: Turnlog, session_id: str, turn: UserStep) -> list[Shown]:
    """`run_turn`, as a Python program calls it."""
    result = await app.run_turn(
        turn.text,
        session_id=session_id,
        user_id=USER,
        enable_thinking=turn.thinking or None,
        files=turn.file_ids,
    )
    return [wire.decode(wire.encode(entry)) for entry in result.events]


def _body(turn: UserStep) -> dict[str, Any]:
    thinking = turn.thinking or None
    return {"message": turn.text, "enableThinking": thinking, "fileIds": turn.file_ids}


async def by_sse(app: Turnlog, session_id: str, turn: UserStep) -> list[Shown]:
    """HTTP with server-sent events, over a real socket, until a person must decide."""
    body = _body(turn)
    accept = {"accept": "text/event-stream"}
    splitter, seen = SseSplitter(), list[Shown]()
    async with listen(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as client:
        path = f"{url}/api/sessions/{session_id}/messages"
        async with client.post(path, json=body, headers=accept) as response:
            async for piece in response.content.iter_any():
                seen += splitter.feed(piece)
                if people.is_at_rest(seen):
                    break
    return seen


async def by_resuming(app: Turnlog, session_id: str, turn: UserStep) -> list[Shown]:
    """A client that loses its connection after every single event, and goes on each time."""
    body = _body(turn)
    seen: list[Shown] = []
    async with listen(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as client:
        session = f"{url}/api/sessions/{session_id}"
        async with client.get(f"{session}/messages") as response:
            cursor = (await response.json())["cursor"]
        async with client.post(f"{session}/messages", json=body) as response:
            assert response.status == 202
        while not people.is_at_rest(seen):
            seen.append(await _next_event(client, f"{session}/stream", cursor))
            cursor = seen[-1]["cursor"]
    return seen


async def by_socket(app: Turnlog, session_id: str, turn: UserStep) -> list[Shown]:
    """Socket.IO over a websocket: joined first, then asked."""
    message = _body(turn)
    async with serve_sockets(app) as url, tab(url) as one, asyncio.timeout(60):
        await one.join(session_id)
        asked = await one.ask("chat:message", {"sessionId": session_id, **message})
        mine: list[Shown] = []
        while not people.is_at_rest(mine):  # the turn before comes first
            event = await one.inbox.get()
            mine += [event] if event["turnId"] == asked["turnId"] else []
    return mine


async def act_by_library(
    app: Turnlog, session_id: str, seen: Sequence[Shown], step: PersonStep
) -> list[Shown]:
    follow = partial(people.until_at_rest, app, session_id)
    before = await follow(seen, until=lambda more: people.is_asked([*seen, *more], step))
    known = [*seen, *before]
    await people.decide(app, session_id, known, step)
    after = await follow(known, until=lambda more: people.is_settled(known, more, step))
    return [*before, *after]


async def act_by_http(
    app: Turnlog, session_id: str, seen: Sequence[Shown], step: PersonStep
) -> list[Shown]:
    """Answered by a request of its own, watched from where the stream ended."""
    path, known = f"/api/sessions/{session_id}/stream", list(seen)
    async with listen(app, "127.0.0.1", 0) as url, aiohttp.ClientSession(url) as client:
        while not people.is_asked(known, step):
            known.append(await _next_event(client, path, known[-1]["cursor"]))
        asked = len(known)
        await _decide_by_http(client, session_id, known, step)
        while not people.is_settled(known[:asked], known[asked:], step):
            known.append(await _next_event(client, path, known[-1]["cursor"]))
    return known[len(seen) :]


async def _decide_by_http(
    client: aiohttp.ClientSession, session_id: str, seen: Sequence[Shown], step: PersonStep
) -> None:
    if step.verb == "waits":
        return
    path, body = f"/api/sessions/{session_id}/stop", None
    if step.verb != "stops":
        path = f"/api/approvals/{people.approval_of(seen, step.tool_id)}"
        body = people.answer_of(step)
    async with client.post(path, json=body) as response:
        assert response.status == 200, await response.text()


async def act_by_socket(
    app: Turnlog, session_id: str, seen: Sequence[Shown], step: PersonStep
) -> list[Shown]:
    """From another tab than the one that asked."""
    known = list(seen)
    async with serve_sockets(app) as url, tab(url) as one, asyncio.timeout(60):
        await one.join(session_id, after=seen[-1]["cursor"])
        while not people.is_asked(known, step):
            known.append(await one.inbox.get())
        asked = len(known)
        await _decide_by_socket(one, session_id, known, step)
        while not people.is_settled(known[:asked], known[asked:], step):
            known.append(await one.inbox.get())
    return known[len(seen) :]


async def _decide_by_socket(
    one: Tab, session_id: str, seen: Sequence[Shown], step: PersonStep
) -> None:
    if step.verb == "stops":
        assert (await one.ask("chat:stop", {"sessionId": session_id}))["ok"]
    elif step.verb != "waits":
        answer = {"approvalId": people.approval_of(seen, step.tool_id), **people.answer_of(step)}
        assert await one.ask("approval:respond", answer) == {"ok": True}


ACTS: dict[Send, Act] = {
    by_library: act_by_library,
    by_sse: act_by_http,
    by_resuming: act_by_http,
    by_socket: act_by_socket,
}


async def _next_event(client: aiohttp.ClientSession, url: str, cursor: str) -> Shown:
    splitter = SseSplitter()
    async with client.get(url, headers={"last-event-id": cursor}) as response:
        async for piece in response.content.iter_any():
            for event in splitter.feed(piece):
                return event
    raise AssertionError("the stream ended without an event")
