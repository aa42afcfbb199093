"""Web search: off unless the agent and the session allow it, limited, recorded, counted."""

from contextlib import asynccontextmanager

import pytest
from recorded import STREAMS, each

from turnlog import Agent
from turnlog.engines.claude.request import NO_MORE_SEARCHES
from turnlog.engines.claude.search import with_searches
from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.events import kinds as k
from turnlog.projections.proof import prove
from turnlog.simulator import RawBlock, Reply, Usage
from turnlog.testing.apps import SECRET, client_of, is_problem, scripted_app
from turnlog.tokens import mint
from turnlog.transports.access.auth import LOCAL_USER

SEARCHES = [path for path in STREAMS if "web_search" in path.parent.name]


def seek(id, query="ducks"):
    asked = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}
    return RawBlock(asked)


def find(id, *urls):
    found = [{"type": "web_search_result", "title": "A duck", "url": url} for url in urls]
    return RawBlock({"type": "web_search_tool_result", "tool_use_id": id, "content": found})


def search(times, text="Found."):
    """An answer after so many searches."""
    blocks = [each for n in range(times) for each in (seek(f"s{n}"), find(f"s{n}", "https://d.uk"))]
    return Reply(*blocks, text, usage=Usage(web_searches=times))


@asynccontextmanager
async def app_of(*entries, agent=True, **settings):
    agents = [Agent("a", prompt="Be kind.", web_search=agent)]
    async with scripted_app(*entries, agents=agents, **settings) as (app, sim):
        yield app, sim
    assert sim.refused == []


async def searching(app):
    session = await app.create_session(LOCAL_USER)
    await app.change_session(LOCAL_USER, session.id, web_search=True)
    return session.id


def uses(request):
    """How often the model may search; None: it is not offered to."""
    return next(
        (t["max_uses"] for t in request.get("tools", ()) if t["name"] == "web_search"), None
    )


def told(request):
    return NO_MORE_SEARCHES in str(request["system"])


@pytest.mark.parametrize(("agent", "session"), [(True, False), (False, True), (False, False)])
async def test_both_the_agent_and_the_session_must_allow_it(agent, session):
    async with app_of(Reply("Hi."), agent=agent) as (app, sim):
        made = await app.create_session(LOCAL_USER)
        await app.store.update_session(LOCAL_USER, made.id, web_search=session)
        await app.run_turn("Hi", session_id=made.id)
        assert (uses(sim.requests[0]), told(sim.requests[0])) == (None, False)


async def test_what_is_left_is_offered_until_nothing_is():
    replies = [search(3), Reply("No need."), search(6), search(1), Reply("None left.")]
    async with app_of(*replies) as (app, sim):
        session = await searching(app)
        for _ in replies:
            await app.run_turn("Go", session_id=session)
        assert [uses(request) for request in sim.requests] == [10, 7, 7, 1, None]
        assert [told(request) for request in sim.requests] == [False] * 4 + [True]
        evidence = await app.store.evidence(session)
        assert (evidence.session.searches, prove(evidence).problems) == (10, [])


async def test_the_limit_is_a_setting():
    async with app_of(search(2), Reply("Done."), searches_a_session=2) as (app, sim):
        session = await searching(app)
        await app.run_turn("Go", session_id=session)
        await app.run_turn("Go", session_id=session)
        assert [uses(request) for request in sim.requests] == [2, None]


async def test_with_a_limit_of_none_the_model_is_told_at_once():
    async with app_of(Reply("No."), searches_a_session=0) as (app, sim):
        await app.run_turn("Go", session_id=await searching(app))
        assert (uses(sim.requests[0]), told(sim.requests[0])) == (None, True)


async def test_searches_count_within_a_turn_that_pauses():
    paused = Reply(seek("a"), find("a"), seek("b"), stop_reason="pause_turn",
                   usage=Usage(web_searches=1))  # fmt: skip
    async with app_of(paused, Reply(find("b"), "Done.")) as (app, sim):
        await app.run_turn("Go", session_id=await searching(app))
        assert [uses(request) for request in sim.requests] == [10, 9]
        assert sim.requests[1]["messages"][-1]["role"] == "assistant"


async def recorded(app, session):
    log = await app.store.read(LOCAL_USER, session)
    return [entry.event for entry in log if isinstance(entry.event, k.WebSearched)]


async def test_what_was_asked_and_found_is_recorded_before_the_message():
    reply = Reply(
        seek("a", "ducks"), find("a", "https://d.uk", "https://q.uk"), "Ducks quack.", id="m1"
    )
    async with app_of(reply) as (app, _):
        session = await searching(app)
        await app.run_turn("Go", session_id=session)
        (search,) = await recorded(app, session)
        results = [{"title": "A duck", "url": url} for url in ("https://d.uk", "https://q.uk")]
        assert search == k.WebSearched(message_id="m1", query="ducks", results=results)
        log = await app.store.read(LOCAL_USER, session)
        assert [entry.event.type for entry in log[1:]] == ["web_searched", "message"]


async def test_a_search_that_was_paused_is_recorded_with_its_result():
    paused = Reply(seek("a", "ducks"), stop_reason="pause_turn")
    async with app_of(paused, Reply(find("a", "https://d.uk"), "Done.")) as (app, _):
        session = await searching(app)
        await app.run_turn("Go", session_id=session)
        (search,) = await recorded(app, session)
        assert (search.query, search.results[0]["url"]) == ("ducks", "https://d.uk")


@pytest.mark.parametrize("content", ["gone", 5, True, None, ["gone", None, [5]]])
async def test_what_a_search_found_and_nobody_can_read_costs_no_answer(content):
    result = {"type": "web_search_tool_result", "tool_use_id": "a", "content": content}
    async with app_of(Reply(seek("a", "ducks"), RawBlock(result), "Done.")) as (app, _):
        session = await searching(app)
        answered = await app.run_turn("Go", session_id=session)
        (search,) = await recorded(app, session)
        assert (answered.text, search.query, search.results) == ("Done.", "ducks", [])


async def test_a_search_that_failed_is_recorded_with_the_reason():
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = {"type": "web_search_tool_result", "tool_use_id": "a", "content": failed}
    async with app_of(Reply(seek("a"), RawBlock(result), "Sorry.")) as (app, _):
        session = await searching(app)
        await app.run_turn("Go", session_id=session)
        (search,) = await recorded(app, session)
        assert (search.error, search.results) == ("max_uses_exceeded", [])


async def test_searches_are_in_the_log_for_admins_and_on_nobody_s_screen():
    admin = {"authorization": f"Bearer {mint(SECRET, 'ann', admin=True, days=1)}"}
    async with app_of(search(1), auth_secret=SECRET) as (app, _), client_of(app, admin) as http:
        session = (await http.post("/api/sessions")).json()
        path = f"/api/sessions/{session['id']}"
        await http.patch(path, json={"webSearch": True})
        result = await app.run_turn("Go", session_id=session["id"], user_id="ann")
        whole = await http.get(f"{path}/events?internal=true")
        shown = await http.get(f"{path}/messages")
    (found,) = [e for e in whole.json()["events"] if e["type"] == "web_searched"]
    assert (found["query"], found["results"][0]["url"]) == ("ducks", "https://d.uk")
    assert "web_searched" not in shown.text
    assert all(entry.event.type != "web_searched" for entry in result.events)


async def test_a_session_says_whether_it_may_search():
    async with app_of() as (app, _), client_of(app) as http:
        made = (await http.post("/api/sessions")).json()
        changed = await http.patch(f"/api/sessions/{made['id']}", json={"webSearch": True})
        wrong = await http.patch(f"/api/sessions/{made['id']}", json={"webSearch": "yes"})
    assert (made["webSearch"], changed.json()["webSearch"], wrong.status_code) == (False, True, 400)


async def test_the_session_goes_on_with_the_results_of_its_searches():
    async with app_of(search(1), Reply("Yes.")) as (app, sim):
        session = await searching(app)
        await app.run_turn("Go", session_id=session)
        await app.run_turn("Sure?", session_id=session)
        told = [block["type"] for block in sim.requests[1]["messages"][1]["content"]]
        assert told == ["server_tool_use", "web_search_tool_result", "text"]


# recordings


def searched_in(path):
    """The messages of a recorded stream, as the engine would say them."""
    call = Call()
    outputs = call.feed(SseSplitter().feed(path.read_bytes() + b"\n\n"))
    return call, [e for e in with_searches(outputs, []) if isinstance(e, k.WebSearched)]


@pytest.mark.parametrize("path", each(SEARCHES))
def test_every_search_of_a_recorded_stream_has_a_query_and_what_it_found(path):
    call, searches = searched_in(path)
    results = [block for block in call.blocks if block["type"] == "web_search_tool_result"]
    assert len(searches) == len(results)
    for search, result in zip(searches, results, strict=True):
        asked = [b["id"] for b in call.blocks if b["type"] == "server_tool_use"]
        assert bool(search.query) == (result["tool_use_id"] in asked)  # one recording has none
        found = result["content"]
        failed = isinstance(found, dict)
        assert [each["url"] for each in search.results] == (
            [] if failed else [e["url"] for e in found]
        )


def test_the_recordings_hold_searches():
    assert sum(len(searched_in(path)[1]) for path in SEARCHES) >= 3


# the provider's other tools


async def test_code_that_ran_is_told_again_and_its_container_is_gone_back_to():
    code = {"type": "server_tool_use", "id": "c", "name": "code_execution", "input": {"code": "1"}}
    ran = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0}
    result = {"type": "code_execution_tool_result", "tool_use_id": "c", "content": ran}
    box = {"id": "container_1", "expires_at": "2999-01-01T00:00:00Z"}
    first = Reply(RawBlock(code), RawBlock(result), "It is 1.", container=box)
    async with app_of(first, Reply("Still 1.")) as (app, sim):
        session = await app.create_session(LOCAL_USER)
        await app.run_turn("Run it", session_id=session.id)
        await app.run_turn("Again", session_id=session.id)
    assert sim.requests[1]["messages"][1]["content"][:2] == [code, result]
    assert [request.get("container") for request in sim.requests] == [None, "container_1"]


async def test_a_switch_that_would_do_nothing_is_refused():
    async with app_of(agent=False) as (app, _), client_of(app) as http:
        made = (await http.post("/api/sessions")).json()
        path = f"/api/sessions/{made['id']}"
        refused = await http.patch(path, json={"webSearch": True})
        assert "web_search=True" in is_problem(refused, 400, "bad_input")
        assert (await http.get(path)).json() == made
        assert (await http.patch(path, json={"webSearch": False})).status_code == 200
