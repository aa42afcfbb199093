"""Who said it: on every event up to its reload, in tables, bills, metrics and export."""

import json
from collections import Counter
from itertools import groupby

import pytest
from team_scripts import AGENTS, NAMES, SECRET, Team

from turnlog import Settings, create_app
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.simulator import SimulatedClaude
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.terminal.export import as_jsonl, as_markdown
from turnlog.terminal.replay import play
from turnlog.testing.apps import STREAM, client_of, events

pytestmark = pytest.mark.slow  # a server
NAMED = {agent.id: agent.ref.name for agent in AGENTS}
BUSY = {
    "supervisor": [("hand to all",), ("say and hand", "erp")],
    "erp": [("say and look",), ("write",), ("look",)],
    "tasks": [("say and look",)],
}


@pytest.fixture(params=["claude", "langgraph"])
async def talk(request, tmp_path):
    """An app after a conversation of all its agents; its client; the session; what was shown."""
    sim = SimulatedClaude(answer=Team(BUSY), pace=0)
    async with sim.serve() as url:
        chosen = Settings(api_key="test", base_url=url, data=str(tmp_path))
        store = SqliteStore(tmp_path)
        app = create_app(AGENTS, settings=chosen, store=store, engine=request.param)
        async with app, client_of(app) as http:
            session = (await http.post("/api/sessions")).json()["id"]
            path = f"/api/sessions/{session}/messages"
            shown = events(await http.post(path, json={"message": "Go"}, headers=STREAM))
            assert shown[-1]["type"] == "complete"
            yield app, http, session, shown


def messages_by_agent(log):
    return Counter(e.envelope.agent.id for e in log if isinstance(e.event, k.Message))


async def test_every_event_names_its_agent_live_in_the_log_and_reloaded(talk):
    app, http, session, shown = talk
    log = [stamped(row) for row in (await app.store.evidence(session)).log]
    for entry in log:
        assert NAMED[entry.envelope.agent.id] == entry.envelope.agent.name
    reloaded = (await http.get(f"/api/sessions/{session}/messages")).json()["events"]
    assert all(NAMED[event["agent"]["id"]] == event["agent"]["name"] for event in shown)
    kept = [event for event in shown if "sequenceNumber" in event]
    assert groups(kept) == groups(reloaded)
    assert set(NAMES) == {event["agent"]["id"] for event in reloaded}


def groups(shown):
    """The same speaker in a row is one group on the screen."""
    kept = [event for event in shown if event["type"] in ("message", "tool_use", "tool_result")]
    return [(agent, len(list(g))) for agent, g in groupby(kept, lambda e: e["agent"]["id"])]


async def test_a_change_of_speaker_is_shown_and_its_reason_is_kept_for_the_audit(talk):
    app, http, session, shown = talk
    changes = [event for event in shown if event["type"] == "agent_changed"]
    assert [(event["from"], event["to"]) for event in changes] == [("supervisor", "erp")]
    assert all("reason" not in event for event in changes)
    path = f"/api/sessions/{session}/events?internal=true&limit=1000"
    audit = (await http.get(path)).json()["events"]
    chosen = {e["toolName"]: e["args"]["reason"] for e in audit if "transfer_to_" in str(e)
              and e["type"] == "tool_use"}  # fmt: skip
    assert chosen.keys() == {"transfer_to_erp", "transfer_to_tasks"}
    assert all(SECRET in reason for reason in chosen.values())
    log = [stamped(row) for row in (await app.store.evidence(session)).log]
    (record,) = [entry.event for entry in log if isinstance(entry.event, k.AgentChanged)]
    lines = []
    await play(log, lines.append)
    assert SECRET in record.reason and f"erp after supervisor: {record.reason}" in str(lines)


async def test_tables_bills_and_metrics_know_the_agent_of_each_call_routing_included(talk):
    app, http, session, _ = talk
    evidence = await app.store.evidence(session)
    said = messages_by_agent([stamped(row) for row in evidence.log])
    tables = {row["message_id"]: row for row in evidence.tables["messages"]}
    answers = Counter(row["agent_id"] for row in tables.values() if row["role"] == "assistant")
    assert answers == said and set(said) == set(NAMES)
    assert Counter(row["agent_id"] for row in evidence.tables["usage"]) == said
    bill = (await http.get("/api/billing/user/local")).json()
    assert {row["agent"] for row in bill["by_agent"]} == set(NAMES)
    page = (await http.get("/metrics")).text
    for name in NAMES:
        assert f'turnlog_agent_model_calls_total{{agent="{name}"}} {said[name]}' in page


async def test_the_export_has_the_number_of_everything_and_says_what_is_internal(talk):
    app, _, session, _ = talk
    log = [stamped(row) for row in (await app.store.evidence(session)).log]
    lines = [json.loads(line) for line in as_jsonl(log).splitlines()]
    assert [line["sequenceNumber"] for line in lines] == [*range(len(log))]
    assert [line["isInternal"] for line in lines] == [e.envelope.internal for e in log]


async def test_the_export_names_the_agent_of_everything(talk):
    app, _, session, _ = talk
    log = [stamped(row) for row in (await app.store.evidence(session)).log]
    lines = [json.loads(line) for line in as_jsonl(log).splitlines()]
    assert [line["agent"]["id"] for line in lines] == [e.envelope.agent.id for e in log]
    page = as_markdown(log)
    assert all(name in page for name in NAMED.values())
