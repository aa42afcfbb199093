"""What agents say to each other: kept, numbered, for auditors; never on any wire of a user."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from team_scripts import AGENTS, NAMES, SECRET, Team, plans

from turnlog import Settings, create_app
from turnlog.events import kinds as k
from turnlog.events.handovers import is_reserved
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import SimulatedClaude
from turnlog.stores.memory.store import MemoryStore
from turnlog.terminal.export import as_markdown
from turnlog.testing.apps import STREAM, client_of
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.transports import wire

pytestmark = pytest.mark.slow  # servers
USER = "local"


async def by_library(app, http, url):
    seen = []
    await app.run_turn("Go", on_event=seen.append)
    return b"".join(wire.encode(entry) for entry in seen)


async def by_sse(app, http, url):
    session = (await http.post("/api/sessions")).json()["id"]
    path = f"/api/sessions/{session}/messages"
    return (await http.post(path, json={"message": "Go"}, headers=STREAM)).content


async def by_socket(app, http, url):
    session = (await http.post("/api/sessions")).json()["id"]
    seen = []
    async with serve_sockets(app) as place, tab(place) as one, asyncio.timeout(60):
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Go"})
        while not seen or seen[-1]["type"] not in ("complete", "error"):
            seen.append(await one.inbox.get())
    return json.dumps(seen).encode()


async def by_agui(app, http, url):
    asked = [{"id": "1", "role": "user", "content": "Go"}]
    body = {"threadId": "thread-1", "runId": "run-1", "messages": asked, "tools": [],
            "context": [], "state": {}, "forwardedProps": {}}  # fmt: skip
    return (await http.post("/agui", json=body)).content


async def by_responses(app, http, url):
    body = {"model": "supervisor", "input": "Go", "stream": True}
    return (await http.post("/v1/responses", json=body)).content


async def by_completions(app, http, url):
    asked = [{"role": "user", "content": "Go"}]
    body = {"model": "supervisor", "messages": asked, "stream": True}
    return (await http.post("/v1/chat/completions", json=body)).content


async def by_ui_stream(app, http, url):
    session = (await http.post("/api/sessions")).json()["id"]
    asked = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Go"}]}]
    path = f"/api/sessions/{session}/ui-stream"
    return (await http.post(path, json={"messages": asked})).content


TRANSPORTS = [by_library, by_sse, by_socket, by_agui, by_responses, by_completions, by_ui_stream]
# What can be read afterwards.
READS = ["/messages", "/events", "/ui-messages", "/citations", ""]


ENGINES = st.sampled_from(["claude", "langgraph"])


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    plan=plans,
    transport=st.sampled_from(TRANSPORTS),
    engine=st.sampled_from(["claude", "langgraph"]),
)
async def test_no_user_sees_what_agents_say_to_each_other(plan, transport, engine):
    await check(plan, transport, engine)


# Each transport at least once, with a team that hands over in every way.
BUSY = {
    "supervisor": [("hand", "erp"), ("hand to all",), ("say and hand", "tasks")],
    "erp": [("say and look",), ("hand", "supervisor")],
    "tasks": [("look and hand", "erp"), ("write",)],
}


@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda transport: transport.__name__)
async def test_no_transport_shows_what_agents_say_to_each_other(transport):
    shown, internal = await check(BUSY, transport, "claude")
    assert b"speaks." in shown and internal > 3


async def check(plan, transport, engine):
    """What was shown, and how many internal events there are."""
    sim = SimulatedClaude(answer=Team(plan), pace=0)
    async with sim.serve() as url:
        chosen = Settings(api_key="test", base_url=url, max_calls=12)
        app = create_app(AGENTS, settings=chosen, store=MemoryStore(), engine=engine)
        async with app, client_of(app) as http:
            shown = await transport(app, http, url)
            assert shown
            await app.rest()
            (session,) = [each.id for each in await app.store.list_sessions(USER, limit=10)]
            pages = [await http.get(f"/api/sessions/{session}{path}") for path in READS]
            audit = await http.get(f"/api/sessions/{session}/events?internal=true&limit=1000")
            evidence = await app.store.evidence(session)
    log = [stamped(row) for row in evidence.log]
    for text in [shown, *(page.content for page in pages), as_markdown(log).encode()]:
        assert SECRET.encode() not in text
        assert b"transfer_to_" not in text
    return shown, checked(log, evidence, audit.text)


def checked(log, evidence, audit):
    """Kept, numbered without a gap, attributed, and there for auditors."""
    assert prove(evidence).problems == []
    assert [entry.seq for entry in log] == list(range(len(log)))
    handed = [e for e in log if isinstance(e.event, k.ToolUse) and is_reserved(e.event.tool_name)]
    assert all(entry.envelope.internal for entry in handed)
    assert all(entry.envelope.agent.id in NAMES for entry in log)
    for entry in handed:
        assert entry.event.args["reason"] in audit
    return sum(entry.envelope.internal for entry in log)
