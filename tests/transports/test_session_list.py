"""GET /api/sessions: what is found, and of whom."""

from turnlog.simulator import Reply
from turnlog.stores import texts
from turnlog.testing.apps import SECRET, STREAM, as_user, is_problem, served


async def test_what_was_said_is_found_by_its_user_and_nobody_else():
    async with served(
        Reply("It is a mallard."), Reply("Yours is a goose."), secret=SECRET
    ) as server:
        said = {}
        for user in ("alice", "bob"):
            headers = as_user(user)
            said[user] = await server.session(**headers)
            await server.ask(said[user], "Which bird is blue?", headers=headers | STREAM)
        for user, search, found in (
            ("alice", "MALLARD", ["alice"]),
            ("alice", "blue", ["alice"]),
            ("alice", "goose", []),
            ("bob", "mallard", []),
            ("bob", "Goose", ["bob"]),
            ("eve", "blue", []),
        ):
            page = await server.http.get(
                "/api/sessions", params={"search": search}, headers=as_user(user)
            )
            assert [session["id"] for session in page.json()["sessions"]] == [
                said[o] for o in found
            ]


async def test_a_search_says_whether_older_texts_were_left_out(monkeypatch):
    async with served(Reply("A goose."), Reply("A duck.")) as server:
        for _ in range(2):
            await server.ask(await server.session(), headers=STREAM)
        plain = (await server.http.get("/api/sessions")).json()
        whole = (await server.http.get("/api/sessions?search=goose")).json()
        both = "/api/sessions?search=hi&limit=1"
        first = (await server.http.get(both)).json()
        second = (await server.http.get(f"{both}&cursor={first['cursor']}")).json()
        monkeypatch.setattr(texts, "BOUNDS", texts.BOUNDS | {"sessions": 1})
        bounded = (await server.http.get("/api/sessions?search=goose")).json()
    assert "searchedAll" not in plain
    assert [(len(p["sessions"]), p.get("searchedAll")) for p in (first, second)] == [
        (1, True), (1, None)  # the first page tells it for all
    ]  # fmt: skip
    assert [(len(p["sessions"]), p["searchedAll"]) for p in (whole, bounded)] == [
        (1, True), (0, False)
    ]  # fmt: skip


async def test_nul_is_refused_before_a_database_is_asked():
    async with served() as server:
        is_problem(await server.http.get("/api/sessions?search=a%00b"), 400, "bad_input")
        for unknown in ("?cursor=a%00b", "/a%00b"):
            told = is_problem(await server.http.get(f"/api/sessions{unknown}"), 404, "not_found")
            assert "NUL" in told


async def test_the_list_by_activity_has_each_session_once():
    async with served(Reply("Yes."), Reply("Yes."), secret=SECRET) as server:
        alice = as_user("alice")
        made = [await server.session(**alice) for _ in range(3)]
        await server.ask(made[0], headers=alice | STREAM)
        await server.session(**as_user("bob"))
        asked = {"order": "activity", "limit": "2"}
        first = (await server.http.get("/api/sessions", params=asked, headers=alice)).json()
        await server.ask(first["sessions"][1]["id"], headers=alice | STREAM)  # the cursor's own
        asked["cursor"] = first["cursor"]
        second = (await server.http.get("/api/sessions", params=asked, headers=alice)).json()
        found = [session["id"] for session in first["sessions"] + second["sessions"]]
        assert (found[0], sorted(found), second["cursor"]) == (made[0], sorted(made), None)


async def test_an_unknown_order_or_place_is_refused():
    async with served() as server:
        for query in ("order=desc", "order=activity&cursor=here"):
            is_problem(await server.http.get(f"/api/sessions?{query}"), 400, "bad_input")
