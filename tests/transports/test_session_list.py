"""GET /api/sessions: what is found, and of whom."""

from turnlog.simulator import Reply
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


async def test_nul_is_refused_before_a_database_is_asked():
    async with served() as server:
        for query in ("search=a%00b", "cursor=a%00b"):
            is_problem(await server.http.get(f"/api/sessions?{query}"), 400, "bad_input")
        is_problem(await server.http.get("/api/sessions/a%00b"), 404, "not_found")
