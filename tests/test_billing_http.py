"""Bills over HTTP: the log, the table, the view and the answers agree to the last digit."""

import csv
import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from urllib.parse import quote

import asyncpg
import pytest
from msgspec.structs import replace

from turnlog.events.money import total
from turnlog.events.rows.record import stamped
from turnlog.projections.billing.bill import charges_of, whole
from turnlog.simulator import Break, Cut, Reply, ToolCall
from turnlog.simulator.script import Usage
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET, STREAM, as_user, events, is_problem, served

ALICE = as_user("alice")
ASKED = Usage(input_tokens=1000, output_tokens=100, cache_read=5000, cache_write_1h=200)
ANSWERED = Usage(input_tokens=10, output_tokens=1000, cache_write_5m=300, web_searches=2)
TALK = [Reply(ToolCall("wait", {}), usage=ASKED), Reply("Done.", usage=ANSWERED)]
# Sonnet 5.5. Asked: 1,000 x 2 + 100 x 10 + 5,000 x 0.1 + 200 x 4 = 4,300. Answered:
# 10 x 2 + 1,000 x 10 + 300 x 2.5 = 10,770, and two searches at a cent.
FIRST, SECOND = Decimal("0.0043"), Decimal("0.03077")
STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}


def exact(response):
    """The answer with its numbers as they are written."""
    assert response.status_code == 200, response.text
    return json.loads(response.content, parse_float=Decimal)


@pytest.fixture(params=STORES)
async def billed(request, migrated):
    """A server on which Alice has had one turn of two calls, and her session."""
    store = STORES[request.param](migrated)
    async with served(*TALK, secret=SECRET, store=store) as server:
        server.go.set()
        session = await server.session(**ALICE)
        shown = events(await server.ask(session, headers=ALICE | STREAM))
        yield server, session, shown


async def bill(server, path, headers=ALICE, **params):
    return await server.http.get(f"/api/billing/{path}", params=params, headers=headers)


async def test_live_events_carry_the_cost_of_the_call_and_of_the_turn(billed):
    _, _, shown = billed
    costs = [event["costUsd"] for event in shown if event["type"] == "message"]
    assert costs == [float(FIRST), float(SECOND)]
    assert shown[-1]["costUsd"] == float(FIRST + SECOND)


async def test_a_session_is_billed_for_all_that_was_used(billed):
    server, session, shown = billed
    told = exact(await bill(server, f"sessions/{session}"))
    assert (told["session_id"], told["user_id"]) == (session, "alice")
    assert told["message_count"] == 3
    assert (told["total_input_tokens"], told["total_output_tokens"]) == (1010, 1100)
    assert (told["total_cache_write_tokens"], told["total_cache_read_tokens"]) == (500, 5000)
    assert (told["total_tokens"], told["web_searches"]) == (7610, 2)
    assert told["estimated_cost_usd"] == FIRST + SECOND
    assert [row["model"] for row in told["by_model"]] == ["claude-sonnet-5-5"]
    assert [row["tool"] for row in told["by_tool"]] == ["(answer)", "wait"]
    assert [row["agent"] for row in told["by_agent"]] == ["waiter"]


async def test_a_chart_gets_the_cost_of_each_day_by_agent_and_by_model(billed):
    server, session, _ = billed
    told = exact(await bill(server, "user/alice"))
    ((by_agent,), (by_model,)) = told["by_day_and_agent"], told["by_day_and_model"]
    assert (by_agent["agent"], by_model["model"]) == ("waiter", "claude-sonnet-5-5")
    assert by_agent["day"] == told["by_day"][0]["day"]
    assert by_agent["cost_usd"] == by_model["cost_usd"] == FIRST + SECOND


async def test_admins_see_what_everybody_has_used(billed):
    server, session, _ = billed
    is_problem(await bill(server, "users"), 403, "forbidden")
    told = exact(await bill(server, "users", as_user("root", admin=True)))
    assert [row["user"] for row in told["by_user"]] == ["alice"]
    assert told["total_cost_usd"] == FIRST + SECOND
    assert "alice" in (await bill(server, "users", as_user("root", admin=True), format="csv")).text


async def test_the_log_the_table_and_the_answers_agree(billed):
    server, session, _ = billed
    evidence = await server.app.store.evidence(session)
    log = [stamped(row) for row in evidence.log]
    from_log = whole(charges_of("alice", log))
    from_table = whole(await server.app.store.charges(session_id=session))
    answer = exact(await bill(server, f"sessions/{session}"))
    messages = total(entry.event.cost_usd for entry in log if entry.event.type == "message")
    assert from_log == from_table
    assert from_log.cost_usd == messages == answer["estimated_cost_usd"]
    assert from_log.total_tokens == answer["total_tokens"]
    of_user = exact(await bill(server, "user/alice"))
    assert (of_user["total_cost_usd"], of_user["total_tokens"]) == (messages, 7610)


async def test_the_view_says_the_same(tmp_path):
    async with served(*TALK, store=SqliteStore(tmp_path)) as server:
        server.go.set()
        session = await server.session()
        await server.ask(session, headers=STREAM)
        empty = await server.session()
        told = [exact(await bill(server, f"sessions/{name}")) for name in (session, empty)]
        with closing(sqlite3.connect(tmp_path / "turnlog.db")) as db:
            db.row_factory = sqlite3.Row
            rows = {
                row["session_id"]: dict(row) for row in db.execute("SELECT * FROM vw_session_costs")
            }
    for answer in told:
        row = rows[answer["session_id"]]
        row["estimated_cost_usd"] = Decimal(row["estimated_cost_usd"])
        assert row == {name: answer[name] for name in row}


async def kept_at(server, user, *times, cost=Decimal(1)):
    """A session of the user with one answer, of that cost, at each of these times."""
    store = server.app.store
    session = s.new_session(f"{user}-{times[0]}", user)
    await store.create_session(session)
    turn = await store.begin_turn(s.new_turn(session.id, session.id, user), s.placed(s.asked()))
    said = [replace(s.said("Hi."), costs=[cost], cost_usd=cost) for _ in times]
    placed = [replace(one, time=time) for one, time in zip(s.placed(*said), times, strict=True)]
    await store.append(turn, placed)


async def test_messages_are_billed_by_their_own_time_and_ranges_are_half_open():
    async with served(secret=SECRET) as server:
        await kept_at(server, "alice", "2026-10-31T22:59:59.999Z", "2026-10-31T23:00:00.000Z",
                      "2026-11-30T22:59:59.999Z", "2026-11-30T23:00:00.000Z")  # fmt: skip
        november = {"startDate": "2026-11-01", "endDate": "2026-12-01"}
        utc = exact(await bill(server, "user/alice", **november))
        assert [row["day"] for row in utc["by_day"]] == ["2026-11-30"]
        assert utc["by_day"][0]["calls"] == 2
        berlin = exact(await bill(server, "user/alice", **november, timezone="Europe/Berlin"))
        assert [row["day"] for row in berlin["by_day"]] == ["2026-11-01", "2026-11-30"]
        assert (utc["total_cost_usd"], berlin["total_cost_usd"]) == (2, 2)
        assert berlin["timezone"] == "Europe/Berlin"
        assert exact(await bill(server, "user/alice"))["total_cost_usd"] == 4


async def test_an_hour_that_comes_twice_is_of_one_day_of_25_hours():
    async with served(secret=SECRET) as server:
        hours = [f"2026-10-24T{h}:30:00.000Z" for h in (22, 23)]
        hours += [f"2026-10-25T{h:02}:30:00.000Z" for h in range(23)]
        await kept_at(server, "alice", *hours)
        day = {"startDate": "2026-10-25", "endDate": "2026-10-26", "timezone": "Europe/Berlin"}
        (row,) = (await bill(server, "user/alice", **day)).json()["by_day"]
        assert (row["day"], row["calls"]) == ("2026-10-25", 25)


BAD = [
    {"startDate": "soon"}, {"endDate": "2026-13-01"}, {"startDate": ""},
    {"timezone": "Mars/Base"}, {"timezone": "../../etc/passwd"}, {"timezone": ""},
    {"format": "xlsx"}, {"startDate": "2026-12-02", "endDate": "2026-12-01"},
]  # fmt: skip


@pytest.mark.parametrize("params", BAD, ids=str)
async def test_what_cannot_be_asked_is_refused(params):
    async with served() as server:
        is_problem(await bill(server, "user/local", **params), 400, "bad_input")


async def test_an_unknown_cost_is_null_and_never_zero(billed):
    server, _, _ = billed
    await kept_at(server, "alice", s.AT, cost=None)
    told = exact(await bill(server, "user/alice"))
    assert (told["total_cost_usd"], told["unpriced"]) == (None, 1)
    assert told["known_cost_usd"] == FIRST + SECOND
    assert {row["cost_usd"] for row in told["by_day"]} == {FIRST + SECOND, None}


async def test_the_rows_come_as_csv(billed):
    server, session, _ = billed
    answers = [
        await bill(server, f"sessions/{session}", format="csv"),
        await bill(server, "user/alice", headers=ALICE | {"accept": "text/csv"}),
    ]
    for answer in answers:
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(answer.text.splitlines()))
        assert [Decimal(row["cost_usd"]) for row in rows] == [FIRST, SECOND]
        assert [row["tools"] for row in rows] == ["wait", ""]
        assert {row["session_id"] for row in rows} == {session}
        assert {"service_tier", "geo", "speed"} <= rows[0].keys()  # they make a call dearer


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)"])
async def test_no_cell_of_the_csv_is_a_formula(name):
    async with served(secret=SECRET) as server:
        await kept_at(server, name, s.AT)
        answer = await bill(server, f"user/{quote(name)}", headers=as_user(name), format="csv")
        (row,) = csv.DictReader(answer.text.splitlines())
        assert (row["user_id"], row["cost_usd"]) == (f"'{name}", "1")
        assert row["session_id"].startswith(f"'{name}")


# turns that did not end well: B5

CUT_SHORT = {
    "cut": Reply("Once upon a time", usage=ASKED, ending=Cut(after=4)),
    "broken": Reply("Once upon a time", usage=ASKED, ending=Break(after=4)),
}


@pytest.mark.parametrize("reply", CUT_SHORT.values(), ids=CUT_SHORT)
async def test_a_call_that_was_cut_is_billed_by_what_was_reported_last(reply):
    async with served(reply) as server:
        session = await server.session()
        shown = events(await server.ask(session, headers=STREAM))
        (row,) = await server.app.store.charges()
        assert shown[-1]["type"] == "error"
        # message_start: all of the prompt, and one token of output; 3,300 and 10
        assert (row.input_tokens, row.output_tokens, row.partial) == (1000, 1, 1)
        told = exact(await bill(server, f"sessions/{session}"))
        assert told["estimated_cost_usd"] == Decimal("0.00331")
        assert told["by_model"][0]["partial_calls"] == 1
        await server.kept(session)


async def test_a_turn_that_was_stopped_is_billed_for_what_it_used():
    slow = Reply("word " * 5000, usage=ASKED, delay=0.001)
    async with served(slow) as server:
        session = await server.session()
        async with server.http.stream(
            "POST", f"/api/sessions/{session}/messages", json={"message": "Hi"}, headers=STREAM
        ) as response:
            async for line in response.aiter_lines():
                if line == "event: message_chunk":
                    break
            await server.http.post(f"/api/sessions/{session}/stop")
        (row,) = await server.app.store.charges()
        assert (row.input_tokens, row.cache_read_tokens, row.partial) == (1000, 5000, 1)
        assert exact(await bill(server, f"sessions/{session}"))["estimated_cost_usd"] == Decimal(
            "0.00331"
        )


async def test_a_turn_with_an_unknown_cost_says_so_everywhere():
    unknown = Reply("Hm.", usage=ASKED, model="nobody")
    async with served(TALK[0], unknown) as server:
        server.go.set()
        session = await server.session()
        shown = events(await server.ask(session, headers=STREAM))
        costs = [event["costUsd"] for event in shown if "costUsd" in event]
        assert costs == [float(FIRST), None, None]
        told = exact(await bill(server, f"sessions/{session}"))
        assert (told["estimated_cost_usd"], told["known_cost_usd"]) == (None, FIRST)
        for rows in (told["by_model"], told["by_day_and_model"]):
            costs = {row["model"]: row["cost_usd"] for row in rows}
            assert costs == {"claude-sonnet-5-5": FIRST, "nobody": None}


async def test_the_same_request_again_is_told_the_same_cost_and_pays_once():
    async with served(*TALK) as server:
        server.go.set()
        session = await server.session()
        first, again = [
            events(await server.ask(session, headers=STREAM, requestId="r")) for _ in range(2)
        ]
        assert first[-1]["costUsd"] == again[-1]["costUsd"] == float(FIRST + SECOND)
        assert len(await server.app.store.charges()) == 2


SUMS = "SELECT role, input_tokens, total_tokens, cost_picousd FROM messages ORDER BY seq"
ROWS = [
    ("user", None, None, None),
    ("assistant", 1000, 6300, int(FIRST * 10**12)),
    ("assistant", 10, 1310, int(SECOND * 10**12)),
]


async def talked(store):
    async with served(*TALK, store=store) as server:
        server.go.set()
        await server.ask(await server.session(), headers=STREAM)


async def test_the_row_of_an_answer_has_its_sums_and_a_question_none(tmp_path):
    await talked(SqliteStore(tmp_path))
    with closing(sqlite3.connect(tmp_path / "turnlog.db")) as db:
        assert db.execute(SUMS).fetchall() == ROWS


@pytest.mark.slow
async def test_the_row_of_an_answer_has_the_same_sums_in_postgres(database):
    await talked(PostgresStore(database))
    db = await asyncpg.connect(database)
    try:
        assert [tuple(row) for row in await db.fetch(SUMS)] == ROWS
    finally:
        await db.close()


async def test_the_library_says_what_a_turn_cost():
    async with served(*TALK) as server:
        server.go.set()
        result = await server.app.run_turn("Hi")
        assert result.cost_usd == FIRST + SECOND
        assert result.usage.total_tokens == 7610
