"""Sessions over HTTP: made, listed page by page, changed; and whether the model thinks."""

import pytest

from turnlog.errors import BadInput
from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.testing.apps import SECRET, STREAM, as_user, events, is_problem, served

THINKING = {"enabled": False, "budgetTokens": 10_000}


async def created(server, *titles):
    made = [await server.http.post("/api/sessions", json={"title": title}) for title in titles]
    return [response.json() for response in made]


async def listed(server, query=""):
    response = await server.http.get(f"/api/sessions?{query}")
    assert response.status_code == 200
    return response.json()


async def test_a_new_session_does_not_think():
    async with served() as server:
        (session,) = await created(server, "Ducks")
        assert session["thinking"] == THINKING
        found = await server.http.get(f"/api/sessions/{session['id']}")
        assert (found.status_code, found.json()) == (200, session)


async def test_a_session_without_a_title_has_one():
    async with served() as server:
        response = await server.http.post("/api/sessions")
        assert (response.status_code, response.json()["title"]) == (201, "New session")


async def test_nothing_is_listed_where_nothing_is():
    async with served() as server:
        assert await listed(server) == {"sessions": [], "cursor": None}


@pytest.mark.parametrize("limit", range(1, 8))
async def test_pages_hold_every_session_once(limit):
    async with served() as server:
        made = await created(server, *"abcdef")
        pages = [await listed(server, f"limit={limit}")]
        while pages[-1]["cursor"]:
            pages.append(await listed(server, f"limit={limit}&cursor={pages[-1]['cursor']}"))
        found = [session for page in pages for session in page["sessions"]]
        assert sorted(session["id"] for session in found) == sorted(s["id"] for s in made)
        assert all(page["sessions"] for page in pages)
        times = [session["createdAt"] for session in found]
        assert times == sorted(times, reverse=True)


async def test_a_session_made_meanwhile_shifts_no_page():
    async with served() as server:
        await created(server, *"abcd")
        whole = (await listed(server))["sessions"]
        first = await listed(server, "limit=2")
        await created(server, "new")
        second = await listed(server, f"limit=2&cursor={first['cursor']}")
        assert first["sessions"] + second["sessions"] == whole


@pytest.mark.parametrize("limit", ["0", "-1", "201", "many", "", "1.5"])
async def test_a_limit_is_a_number_within_bounds(limit):
    async with served() as server:
        is_problem(await server.http.get(f"/api/sessions?limit={limit}"), 400, "bad_input")


@pytest.mark.parametrize("cursor", ["nowhere", "%00", "💥"])
async def test_a_cursor_of_nothing_is_not_found(cursor):
    async with served() as server:
        is_problem(await server.http.get(f"/api/sessions?cursor={cursor}"), 404, "not_found")


async def test_a_session_can_be_renamed():
    async with served() as server:
        session, other = await created(server, "Ducks", "Geese")
        path = f"/api/sessions/{session['id']}"
        changed = await server.http.patch(path, json={"title": "Swans"})
        assert changed.json() == session | {"title": "Swans"}
        assert (await server.http.get(path)).json() == changed.json()
        assert (await server.http.get(f"/api/sessions/{other['id']}")).json() == other


async def test_an_archived_session_is_listed_among_the_archived_ones():
    async with served() as server:
        session, other = await created(server, "Ducks", "Geese")
        path = f"/api/sessions/{session['id']}"
        archived = (await server.http.patch(path, json={"archived": True})).json()
        assert archived == session | {"archived": True}
        assert (await listed(server))["sessions"] == [other]
        assert (await listed(server, "archived=true"))["sessions"] == [archived]
        assert (await server.http.get(path)).json() == archived
        await server.http.patch(path, json={"archived": False})
        assert len((await listed(server))["sessions"]) == 2


BAD = [
    b"[]",
    b'{"title": ""}',
    b'{"title": " "}',
    b'{"title": null}',
    b'{"title": 5}',
    b'{"title": "%s"}' % (b"a" * 201),
    b'{"title": "\\ud800"}',
    b'{"archived": "yes"}',
    b'{"id": "mine"}',
    b'{"user_id": "bob"}',
    b'{"anchor": 5}',
]


@pytest.mark.parametrize("body", BAD)
async def test_a_bad_change_changes_nothing(body):
    async with served() as server:
        (session,) = await created(server, "Ducks")
        path = f"/api/sessions/{session['id']}"
        is_problem(await server.http.patch(path, content=body), 400, "bad_input")
        assert (await server.http.get(path)).json() == session


@pytest.mark.parametrize("path", ["", "/thinking"])
async def test_an_unknown_session_is_not_changed(path):
    async with served() as server:
        body = {"enabled": True} if path else {"title": "Ducks"}
        response = await server.http.patch(f"/api/sessions/nowhere{path}", json=body)
        is_problem(response, 404, "not_found")


# thinking: T1, T2


async def set_thinking(server, session, **wanted):
    return await server.http.patch(f"/api/sessions/{session}/thinking", json=wanted)


@pytest.mark.parametrize("budget", [1_000, 10_000, 100_000])
async def test_thinking_is_switched_on_with_a_budget(budget):
    async with served() as server:
        session = await server.session()
        response = await set_thinking(server, session, enabled=True, budgetTokens=budget)
        told = {"enabled": True, "budgetTokens": budget}
        assert response.json() == {"success": True, **told}
        found = await server.http.get(f"/api/sessions/{session}")
        assert found.json()["thinking"] == told


async def test_without_a_budget_the_one_before_stays():
    async with served() as server:
        session = await server.session()
        assert (await set_thinking(server, session, enabled=True)).json()["budgetTokens"] == 10_000
        await set_thinking(server, session, enabled=True, budgetTokens=2_000)
        off = await set_thinking(server, session, enabled=False)
        assert off.json() == {"success": True, "enabled": False, "budgetTokens": 2_000}


@pytest.mark.parametrize("budget", [999, 100_001, 0, -1, "many", 1.5, True, 10**30])
async def test_a_budget_out_of_bounds_changes_nothing(budget):
    async with served() as server:
        session = await server.session()
        response = await set_thinking(server, session, enabled=True, budgetTokens=budget)
        is_problem(response, 400, "bad_input")
        found = await server.http.get(f"/api/sessions/{session}")
        assert found.json()["thinking"] == THINKING


async def test_thinking_is_on_or_off():
    async with served() as server:
        session = await server.session()
        is_problem(await set_thinking(server, session), 400, "bad_input")
        is_problem(await set_thinking(server, session, enabled="yes"), 400, "bad_input")


# The session's budget, what the message says, and what Claude is asked for: this model takes
# an effort instead of a budget.
ASKED = [
    (None, {}, None),
    (None, {"enableThinking": True}, "medium"),
    (None, {"enableThinking": True, "thinkingBudget": 60_000}, "max"),
    (20_000, {}, "high"),
    (20_000, {"enableThinking": True}, "high"),
    (20_000, {"thinkingBudget": 60_000}, "max"),
    (20_000, {"enableThinking": False}, None),
]


def effort(server):
    """How hard Claude was asked to think, the last time; None: not at all."""
    asked = server.sim.requests[-1]
    assert (asked["thinking"]["type"] == "adaptive") == ("output_config" in asked)
    return asked.get("output_config", {}).get("effort")


@pytest.mark.parametrize(("setting", "wish", "wanted"), ASKED)
async def test_the_message_wins_over_the_setting(setting, wish, wanted):
    async with served(Reply("Yes.")) as server:
        session = await server.session()
        if setting:
            await set_thinking(server, session, enabled=True, budgetTokens=setting)
        assert (await server.ask(session, **wish)).status_code == 202
        await server.ended()
        assert (effort(server), server.sim.refused) == (wanted, [])


async def test_a_wish_holds_for_one_message_and_the_setting_until_it_is_changed():
    off = {"enableThinking": False}
    async with served(*[Reply("Yes.")] * 4) as server:
        session = await server.session()
        efforts = []
        for setting, wish in [(True, {}), (True, off), (True, {}), (False, {})]:
            await set_thinking(server, session, enabled=setting)
            await server.ask(session, **wish)
            await server.ended()
            efforts.append(effort(server))
        assert efforts == ["medium", None, "medium", None]


async def test_a_thought_is_shown_from_its_start_to_its_end():
    """T3, switched on by the setting alone."""
    async with served(Reply(Thinking("Let me think about it."), "Yes.")) as server:
        session = await server.session()
        await set_thinking(server, session, enabled=True)
        shown = events(await server.ask(session, headers=STREAM))
        types = [event["type"] for event in shown if not event["type"].endswith("_chunk")]
        thought = ["thinking_start", "thinking_complete", "thinking"]
        assert types == ["user_message_sent", *thought, "message", "complete"]
        (whole,) = [event for event in shown if event["type"] == "thinking_complete"]
        chunks = [event["content"] for event in shown if event["type"] == "thinking_chunk"]
        assert whole["content"] == "".join(chunks) == "Let me think about it."
        assert whole["duration"] >= 0


@pytest.mark.parametrize("title", ["a\0b", "\ud800", "duck \udfff"])
async def test_a_title_that_no_store_can_write_is_refused_also_from_a_program(title):
    async with served() as server:
        session = await server.app.create_session("local")
        with pytest.raises(BadInput, match="title"):
            await server.app.create_session("local", title=title)
        with pytest.raises(BadInput, match="title"):
            await server.app.change_session("local", session.id, title=title)


async def test_a_session_may_name_its_engine():
    async with served() as server:
        made = await server.http.post("/api/sessions", json={"engine": "claude"})
        assert made.status_code == 201
        refused = await server.http.post("/api/sessions", json={"engine": "oracle"})
        assert "There are: claude, langgraph" in is_problem(refused, 400, "bad_input")


async def test_a_user_interface_is_told_what_it_needs_to_know():
    async with served() as server:
        told = (await server.http.get("/api/config")).json()
        assert (told["model"], told["simulated"]) == (server.app.settings.model, False)
        waiter, other = told["agents"]
        assert (waiter["id"], waiter["name"], other["id"]) == ("waiter", "Waiter", "other")
        assert waiter["tools"] == [{"name": "wait", "title": "Wait", "writes": False}]
        assert waiter["description"] == other["description"] == ""
        assert told["user"] == {"id": "local", "roles": ["admin"]}
        assert told["limits"]["maxCharacters"] == server.app.settings.max_characters
        assert "transfer_to_" in told["internalPrefixes"]


async def test_whoever_is_not_signed_in_learns_nothing_about_agents_and_tools():
    async with served(secret=SECRET) as server:
        told = (await server.http.get("/api/config")).json()
        assert told == {"user": None, "simulated": False}
        told = (await server.http.get("/api/config", headers=as_user("alice"))).json()
        assert told["user"] == {"id": "alice", "roles": []}
        assert [agent["id"] for agent in told["agents"]] == ["waiter", "other"]
        wrong = await server.http.get("/api/config", headers={"authorization": "Bearer x"})
        is_problem(wrong, 401, "unauthorized")


async def test_only_an_operator_is_told_where_things_lie(monkeypatch):
    monkeypatch.setattr("turnlog.transports.http.site.built", dict)  # no web UI
    async with served(secret=SECRET) as server:
        told = (await server.http.get("/api/config", headers=as_user("alice"))).json()
        assert told["store"] == "Memory" and told["sequencer"] and "address" not in told
        told = (
            await server.http.get("/api/config", headers=as_user("root", roles=["admin"]))
        ).json()
        assert told["store"] == "Memory (memory:)" and told["address"]
        assert "memory:" not in (await server.http.get("/")).text


# what goes on in a session, and what it is called


async def test_a_session_says_what_goes_on_in_it():
    async with served(Reply(ToolCall("wait", {})), Reply("Done.")) as server:
        session = await server.session()
        path = f"/api/sessions/{session}"
        fresh = (await server.http.get(path)).json()
        assert (fresh["state"], fresh["turnId"]) == ("idle", None)
        assert fresh["lastActivityAt"] == fresh["createdAt"]
        turn = (await server.ask(session)).json()["turnId"]
        busy = (await server.http.get(path)).json()
        assert (busy["state"], busy["turnId"]) == ("running", turn)
        server.go.set()
        await server.ended()
        over = (await server.http.get(path)).json()
        assert (over["state"], over["turnId"]) == ("idle", None)
        last = (await server.http.get(f"{path}/messages")).json()["events"][-1]["timestamp"]
        assert over["lastActivityAt"] == last > over["createdAt"]
        assert (await listed(server))["sessions"] == [over]


async def titled(server, *questions, **made):
    session = (await server.http.post("/api/sessions", json=made)).json()["id"]
    for question in questions:
        await server.ask(session, question)
        await server.app.rest()
    return (await server.http.get(f"/api/sessions/{session}")).json()["title"]


async def test_a_session_without_a_title_is_named_after_its_first_question():
    async with served(*[Reply("Yes.")] * 5) as server:
        assert await titled(server, "Hello", "Could you list my ducks?") == "List my ducks?"
        assert await titled(server, "First things", "Second things") == "First things"
        assert await titled(server, "Geese?", title="Ducks") == "Ducks"


async def test_a_name_that_somebody_gives_meanwhile_stays():
    async with served(Reply("Yes."), Reply("Yes.")) as server:
        session = await server.session()
        await server.ask(session, "Hi")
        await server.app.rest()
        path = f"/api/sessions/{session}"
        await server.http.patch(path, json={"title": "Mine"})
        await server.ask(session, "What about ducks?")
        await server.app.rest()
        assert (await server.http.get(path)).json()["title"] == "Mine"


async def test_sessions_are_searched_by_title():
    async with served() as server:
        await created(server, "Ducks", "Geese", "More ducks")
        found = await listed(server, "search=DUCK")
        assert [session["title"] for session in found["sessions"]] == ["More ducks", "Ducks"]
        page = await listed(server, "search=duck&limit=1")
        rest = await listed(server, f"search=duck&limit=1&cursor={page['cursor']}")
        assert [s["title"] for s in rest["sessions"]] == ["Ducks"] and rest["cursor"] is None
        too_long = await server.http.get("/api/sessions", params={"search": "x" * 201})
        is_problem(too_long, 400, "bad_input")
