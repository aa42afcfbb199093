"""Auditors read anybody's log, and nothing else of anybody; what they read is kept."""

import asyncio
import gzip

import pytest

from turnlog.simulator import Reply
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.raw_ledger import MOST_BYTES
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET, as_user, is_problem, served

ALICE, BOB = as_user("alice"), as_user("bob")
EVE, ROOT = as_user("eve", roles=["auditor"]), as_user("root", admin=True)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path)


async def told(server, user, title="Ducks"):
    """A session of this user in which something was said."""
    session = (await server.http.post("/api/sessions", json={"title": title}, headers=user)).json()[
        "id"
    ]
    path = f"/api/sessions/{session}"
    await server.http.post(f"{path}/messages", json={"message": "Hi"}, headers=user)
    await server.app.rest()
    return path, session


async def log(server, path, user, **query):
    return await server.http.get(f"{path}/events", params=query, headers=user)


@pytest.mark.parametrize("auditor", [EVE, ROOT], ids=["auditor", "admin"])
async def test_an_auditor_reads_anybodys_log_with_internal_events(store, auditor):
    async with served(Reply("Hello."), secret=SECRET, store=store) as server:
        path, session = await told(server, ALICE)
        before = (await log(server, path, ALICE)).json()
        seen = (await log(server, path, auditor, internal="true")).json()["events"]
        assert [e["sequenceNumber"] for e in seen] == list(range(len(seen)))
        assert {e["isInternal"] for e in seen} <= {True, False}
        visible = [e for e in seen if not e["isInternal"]]
        assert [e["eventId"] for e in visible] == [e["eventId"] for e in before["events"]]
        assert (await log(server, path, ALICE)).json() == before  # no number, no screen changed
        trail = await server.http.get("/api/audit/reads", headers=auditor)
        (read,) = trail.json()["reads"]
        who = "eve" if auditor is EVE else "root"
        assert (read["auditor"], read["sessionId"]) == (who, session)


async def test_others_read_no_internal_events():
    async with served(Reply("Hello."), secret=SECRET) as server:
        path, _ = await told(server, ALICE)
        is_problem(await log(server, path, ALICE, internal="true"), 403, "forbidden")
        is_problem(await log(server, path, BOB, internal="true"), 404, "not_found")
        for place in ("sessions", "reads"):
            refused = await server.http.get(f"/api/audit/{place}", headers=BOB)
            is_problem(refused, 403, "forbidden")


async def test_an_auditor_changes_nothing_and_reads_nothing_unseen():
    async with served(Reply("Hello."), secret=SECRET) as server:
        path, _ = await told(server, ALICE)
        http = server.http
        answers = [
            await http.post(f"{path}/messages", json={"message": "Hi"}, headers=EVE),
            await http.patch(path, json={"title": "Mine"}, headers=EVE),
            await http.post(f"{path}/stop", headers=EVE),
            await http.get(f"{path}/messages", headers=EVE),
            await log(server, path, EVE),
            await log(server, "/api/sessions/nothing", EVE, internal="true"),
        ]
        for answer in answers:
            is_problem(answer, 404, "not_found")
        assert (await server.http.get("/api/audit/reads", headers=EVE)).json()["reads"] == []


async def test_an_auditor_proves_anybodys_log():
    async with served(Reply("Hello."), secret=SECRET) as server:
        path, session = await told(server, ALICE)
        proof = await server.http.get(f"{path}/verify", headers=EVE)
        assert proof.json()["ok"] is True
        trail = (await server.http.get("/api/audit/reads", headers=EVE)).json()["reads"]
        assert [(read["what"], read["sessionId"]) for read in trail] == [("verify", session)]


async def test_an_auditor_finds_everybodys_sessions_page_by_page(store):
    async with served(Reply("Hello."), Reply("Hi."), secret=SECRET, store=store) as server:
        await told(server, ALICE, "Ducks")
        path, _ = await told(server, BOB, "Geese")
        await server.http.patch(path, json={"archived": True}, headers=BOB)

        async def found(**query):
            response = await server.http.get("/api/audit/sessions", params=query, headers=EVE)
            page = response.json()
            return [(row["userId"], row["title"]) for row in page["sessions"]], page["cursor"]

        assert (await found())[0] == [("bob", "Geese"), ("alice", "Ducks")]
        first, cursor = await found(limit=1)
        second, end = await found(limit=1, cursor=cursor)
        assert (first + second, end) == ([("bob", "Geese"), ("alice", "Ducks")], None)
        assert (await found(user="alice"))[0] == [("alice", "Ducks")]
        assert (await found(search="gEEs"))[0] == [("bob", "Geese")]
        trail = (await server.http.get("/api/audit/reads", headers=EVE)).json()["reads"]
        assert [read["what"] for read in trail][:2] == [
            "sessions of everybody",
            "sessions of alice",
        ]


async def raw(server, path, number, user):
    return await server.http.get(f"{path}/raw/{number}", headers=user)


async def test_an_auditor_reads_what_the_provider_sent_and_nobody_else_does(tmp_path):
    settings = {"data": str(tmp_path), "keep_raw": True}
    async with served(Reply("Hello.", id="msg_1"), secret=SECRET, **settings) as server:
        path, session = await told(server, ALICE)
        events = (await log(server, path, EVE, internal="true")).json()["events"]
        number = next(e["sequenceNumber"] for e in events if e["type"] == "message")
        file = await eventually(lambda: next(tmp_path.glob("raw/*/msg_1.sse.gz"), None))
        answer = (await raw(server, path, number, EVE)).json()
        assert answer["body"].encode() == gzip.decompress(file.read_bytes())
        assert (answer["messageId"], answer["bytes"]) == ("msg_1", len(answer["body"].encode()))
        trail = (await server.http.get("/api/audit/reads", headers=EVE)).json()["reads"]
        assert (trail[0]["sessionId"], trail[0]["what"]) == (session, f"raw answer {number}")
        is_problem(await raw(server, path, number, ALICE), 403, "forbidden")
        is_problem(await raw(server, path, number, BOB), 404, "not_found")
        for other in (number + 1000, 0, "-1", "x", "9" * 30, "٣"):  # 0: the question
            is_problem(await raw(server, path, other, EVE), 404, "not_found")
        is_problem(await raw(server, "/api/sessions/none", number, EVE), 404, "not_found")
        file.write_bytes(b"no gzip")
        is_problem(await raw(server, path, number, EVE), 404, "not_found")
        file.write_bytes(gzip.compress(bytes(MOST_BYTES + 1)))
        is_problem(await raw(server, path, number, EVE), 413, "too_large")
        file.unlink()
        is_problem(await raw(server, path, number, EVE), 404, "not_found")


async def eventually(look):
    """What `look` finds: a thread writes it."""
    async with asyncio.timeout(60):
        while (found := look()) is None:
            await asyncio.sleep(0.01)
    return found
