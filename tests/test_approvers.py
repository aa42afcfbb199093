"""Who may decide: the asker, a role, or anyone but the asker; over HTTP and sockets, in the log."""

import asyncio
from decimal import Decimal

import pytest

from turnlog import tool
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET, STREAM, is_problem
from turnlog.testing.office import office
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.tokens import mint

PAY = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
DONE = Reply("Done.")


def bearer(user, *roles):
    return {"authorization": f"Bearer {mint(SECRET, user, roles=roles)}"}


ALICE, BOB = bearer("alice"), bearer("bob")
FAY, KIM, ROOT = bearer("fay", "finance"), bearer("kim", "finance"), bearer("root", "admin")
ALICE_FINANCE = bearer("alice", "finance")
EVERYBODY = {
    "alice": ALICE,
    "alice+finance": ALICE_FINANCE,
    "bob": BOB,
    "fay": FAY,
    "root": ROOT,
    "auditor": bearer("eve", "auditor"),
}
# fmt: off
MAY = {
    "asker":          {"alice", "alice+finance"},
    "others":         {"bob", "fay", "root", "auditor"},
    "role:finance":   {"alice+finance", "fay", "root"},
    "others:finance": {"fay", "root"},
}
# fmt: on
STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
def store(request, tmp_path):
    return STORES[request.param](tmp_path)


@pytest.mark.parametrize("rule", MAY)
async def test_those_who_may_decide_find_it_and_nobody_else(rule, store):
    async with office(PAY, DONE, secret=SECRET, approver=rule, store=store) as desk:
        session, _ = await desk.asked(headers=ALICE)
        (asked,) = [e for e in await desk.kept(session) if isinstance(e, k.ApprovalRequested)]
        assert asked.may_decide == rule
        for name, headers in EVERYBODY.items():
            listed = [each["id"] for each in await desk.pending(headers)]
            assert listed == ([asked.approval_id] if name in MAY[rule] else []), name


@pytest.mark.parametrize("rule", MAY)
async def test_nobody_else_can_decide_and_nothing_is_paid(rule, store):
    async with office(PAY, DONE, secret=SECRET, approver=rule, store=store) as desk:
        session, _ = await desk.asked(headers=ALICE)
        (asked,) = [e for e in await desk.kept(session) if isinstance(e, k.ApprovalRequested)]
        before = await desk.kept(session)
        for name, headers in EVERYBODY.items():
            if name not in MAY[rule]:
                refused = await desk.answer({"id": asked.approval_id}, headers)
                status = (403, "forbidden") if "alice" in name else (404, "not_found")
                is_problem(refused, *status)
        kept = await desk.kept(session)
        assert (desk.world.paid, [e for e in kept if not e.internal]) == (
            [],
            [e for e in before if not e.internal],
        )
        refused = [e.tried_by for e in kept if isinstance(e, k.DecisionRefused)]
        assert set(refused) <= {"alice"}  # who is told that others decide, and tried
        decider = EVERYBODY[min(MAY[rule])]
        assert (await desk.answer({"id": asked.approval_id}, decider)).status_code == 200
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]


async def test_who_decides_for_another_sees_what_is_needed_and_no_more():
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        session, _ = await desk.asked("My secret plan: pay", headers=ALICE)
        (shown,) = await desk.pending(FAY)
        assert shown["args"] == {"amount": 5} and shown["description"] == "Pay 5 to Bob"
        assert (shown["askedBy"], shown["mayDecide"]) == ("alice", "role:finance")
        hidden = {"sessionId", "turnId", "toolUseId", "argsHash"}
        assert not hidden & shown.keys()
        decided = (await desk.answer(shown, FAY, reason="Fine.")).json()
        assert not hidden & decided.keys()
        assert session not in str(shown) + str(decided)
        is_problem(await desk.http.get(f"/api/sessions/{session}", headers=FAY), 404, "not_found")
        assert await desk.pending(FAY) == [] and await desk.pending(KIM, status="") == []
        assert [each["decidedBy"] for each in await desk.pending(FAY, status="")] == ["fay"]
        await desk.rest()


async def test_the_log_says_who_might_decide_and_who_did():
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        session, _ = await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        await desk.answer(shown, FAY, args={"amount": 3}, reason="Less.")
        await desk.rest()
        kept = await desk.kept(session)
        (asked,) = [e for e in kept if isinstance(e, k.ApprovalRequested)]
        (decided,) = [e for e in kept if isinstance(e, k.ApprovalResolved)]
        assert (asked.may_decide, decided.decided_by, decided.args) == (
            "role:finance",
            "fay",
            {"amount": 3},
        )
        assert desk.world.paid == [("Bob", 3)]
        (proof,) = [(await desk.http.get(f"/api/sessions/{session}/verify", headers=ALICE)).json()]
        assert proof["ok"]


@pytest.mark.parametrize("rule", ["others", "others:finance"])
async def test_under_four_eyes_nobody_decides_alone_what_runs(rule):
    """Whoever changes the arguments is the only one who has seen them."""
    async with office(PAY, DONE, secret=SECRET, approver=rule) as desk:
        session, _ = await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        is_problem(await desk.answer(shown, FAY, args={"amount": 5000}), 403, "forbidden")
        kept = await desk.kept(session)
        assert [e.tried_by for e in kept if isinstance(e, k.DecisionRefused)] == ["fay"]
        assert (await desk.answer(shown, FAY, args={"amount": 5})).status_code == 200
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]


async def test_the_second_of_two_deciders_is_too_late():
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        session, _ = await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        assert (await desk.answer(shown, KIM, approved=False)).status_code == 200
        is_problem(await desk.answer(shown, FAY), 409, "already_decided")
        await desk.rest()
        kept = await desk.kept(session)
        assert [e.tried_by for e in kept if isinstance(e, k.DecisionRefused)] == ["fay"]
        assert desk.world.paid == []


async def test_the_tool_s_approver_counts_before_its_agent_s():
    @tool(writes=True, approver="role:audit")
    async def close_books() -> str:
        """Close the books."""
        return "closed"

    call = Reply(ToolCall("close_books", {}, "toolu_1"))
    async with office(call, secret=SECRET, more=[close_books], approver="others") as desk:
        await desk.asked(headers=ALICE)
        assert await desk.pending(BOB) == []
        assert len(await desk.pending(bearer("ann", "audit"))) == 1


async def test_over_sockets_the_same_people_decide():
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        answer = {"approvalId": shown["id"], "approved": True}
        async with serve_sockets(desk.app) as url:
            for user, roles, error in (
                ("alice", [], "forbidden"),
                ("bob", [], "not_found"),
                ("fay", ["finance"], None),
                ("kim", ["finance"], "already_decided"),
            ):
                async with tab(url, auth={"token": mint(SECRET, user, roles=roles)}) as one:
                    told = await one.ask("approval:respond", answer)
                    assert told.get("error", {}).get("code") == error, (user, told)
        await desk.rest()
        assert desk.world.paid == [("Bob", 5)]


async def test_an_approver_loses_the_right_with_the_token():
    async with office(PAY, secret=SECRET, approver="role:finance") as desk:
        await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        without = bearer("fay")
        assert await desk.pending(without) == []
        is_problem(await desk.answer(shown, without), 404, "not_found")


async def test_what_the_turn_has_cost_so_far_is_asked_with_it():
    async with office(PAY, DONE, secret=SECRET) as desk:
        session, (shown,) = await desk.asked(headers=ALICE)
        kept = await desk.kept(session)
        (message,) = [e for e in kept if isinstance(e, k.Message)]
        (asked,) = [e for e in kept if isinstance(e, k.ApprovalRequested)]
        assert asked.cost_so_far_usd == message.cost_usd and message.cost_usd > 0
        assert Decimal(str(shown["costSoFarUsd"])) == message.cost_usd


async def test_one_user_alone_is_warned_of_what_nobody_can_allow(caplog):
    async with office(approver="others"):
        pass
    assert "tool pay: nobody can allow it, because there is one user" in caplog.text


# attacks


async def test_of_many_who_decide_at_once_one_counts():
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        session, _ = await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        everybody = [FAY, KIM, ROOT, ALICE_FINANCE, ALICE, BOB] * 3
        answers = await asyncio.gather(
            *(desk.answer(shown, who, approved=n % 2 == 0) for n, who in enumerate(everybody))
        )
        await desk.rest()
        assert sorted({a.status_code for a in answers}) == [200, 403, 404, 409]
        assert [a.status_code for a in answers].count(200) == 1
        kept = await desk.kept(session)
        (decided,) = [e for e in kept if isinstance(e, k.ApprovalResolved)]
        assert desk.world.paid == ([("Bob", 5)] if decided.approved else [])


async def test_what_has_expired_is_nobody_s_to_decide():
    async with office(
        PAY, DONE, secret=SECRET, approver="role:finance", approval_timeout=0.05
    ) as desk:
        session, _ = await desk.asked(headers=ALICE)

        async def expired():
            kept = await desk.kept(session)
            return [e for e in kept if isinstance(e, k.ApprovalResolved)]

        (event,) = await desk.until(expired)
        is_problem(await desk.answer({"id": event.approval_id}, FAY), 409, "already_decided")
        await desk.rest()
        assert (event.outcome, desk.world.paid) == ("expired", [])
        assert await desk.pending(FAY, status="") == []


@pytest.mark.parametrize(
    "args", [{"amount": "all"}, {"amount": 1, "user_id": "bob"}, {"amount": 1, "x": 1}, {}]
)
async def test_a_decider_cannot_change_the_arguments_to_what_does_not_fit(args):
    async with office(PAY, DONE, secret=SECRET, approver="role:finance") as desk:
        await desk.asked(headers=ALICE)
        (shown,) = await desk.pending(FAY)
        is_problem(await desk.answer(shown, FAY, args=args), 400, "bad_input")
        assert (desk.world.paid, await desk.pending(FAY)) == ([], [shown])


async def test_the_asker_s_stream_stays_open_with_heartbeats_while_another_decides():
    async with office(PAY, DONE, secret=SECRET, approver="others") as desk:
        session = await desk.session(ALICE)
        desk.app.bus._heartbeat = 0.01
        desk.app.bus._beat()
        path = f"/api/sessions/{session}/messages"
        asking = desk.http.stream("POST", path, json={"message": "Pay"}, headers=ALICE | STREAM)
        async with asking as response:
            lines = response.aiter_lines()
            cursor = None
            async for line in lines:
                cursor = line.removeprefix("id: ") if line.startswith("id: ") else cursor
                if line == "event: approval_requested":
                    break
            async for line in lines:  # nothing happens, and the stream says so
                if line == ": still here":
                    break
            (shown,) = await desk.pending(BOB)
            await desk.answer(shown, BOB)
            rest = [line async for line in lines]
        types = [line.removeprefix("event: ") for line in rest if line.startswith("event: ")]
        assert types[0] == "approval_resolved" and types[-1] == "complete"
        # One who went away at the question goes on with its cursor and sees the same.
        async with desk.http.stream(
            "GET", f"/api/sessions/{session}/stream?after={cursor}", headers=ALICE
        ) as response:
            seen = []
            async for line in response.aiter_lines():
                seen += [line.removeprefix("event: ")] if line.startswith("event: ") else []
                if seen and seen[-1] == "complete":
                    break
        assert [t for t in seen if not t.endswith("_chunk")] == [
            t for t in types if not t.endswith("_chunk")
        ]
