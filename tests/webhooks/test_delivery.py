"""Notices arrive: signed, in spite of receivers that fail, and no turn ever waits for them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp_server import listening
from standardwebhooks.webhooks import Webhook

from turnlog import Settings, create_app
from turnlog.cli import main
from turnlog.events.clock import now
from turnlog.projections.billing.budgets import Budget
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET as TOKEN_SECRET
from turnlog.testing.apps import is_problem
from turnlog.testing.office import office
from turnlog.tokens import mint
from turnlog.webhooks import addresses, delivery, signature
from turnlog.webhooks.endpoint import Endpoint

SECRET = signature.new_secret()
PAY = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
DONE = Reply("Done.")


class Receiver:
    """A real server. It answers with the statuses that it is given, then with 200."""

    def __init__(self, *statuses, headers=None):
        self.statuses = list(statuses)
        self.headers = headers or {}
        self.got = []  # (headers, body) of each request
        self.arrived = asyncio.Event()
        self.hold = None  # an event that the answer waits for

    @property
    def types(self):
        return [json.loads(body)["type"] for _, body in self.got]

    async def handle(self, request):
        self.got.append((dict(request.headers), await request.read()))
        self.arrived.set()
        if self.hold is not None:
            await self.hold.wait()
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(status=status, headers=self.headers)

    async def until(self, count):
        async with asyncio.timeout(60):
            while len(self.got) < count:
                self.arrived.clear()
                await self.arrived.wait()

    @asynccontextmanager
    async def serve(self):
        async with listening(self.handle) as url:
            try:
                yield f"{url}/hook"
            finally:
                if self.hold is not None:
                    self.hold.set()


@pytest.fixture
def soon(monkeypatch):
    """A try that failed is made again at once."""
    monkeypatch.setattr(delivery, "PAUSES", (0.01,) * len(delivery.PAUSES))


def endpoint(url, **more):
    chosen = {"allow_private": True, "secret": SECRET, **more}
    return Endpoint(name=chosen.pop("name", "crm"), url=url, **chosen)


@asynccontextmanager
async def telling(*entries, receiver=None, **options):
    receiver = receiver or Receiver()
    more = {name: options.pop(name) for name in ("events",) if name in options}
    async with receiver.serve() as url:
        hooks = (endpoint(url, **more),)
        async with office(*entries, webhooks=hooks, **options) as desk:
            yield desk, receiver


async def settled(desk, status="delivered", count=1):
    """Notices with this status, once there are so many."""

    async def look():
        page = await desk.app.store.outbox.page(status=status)
        return page if len(page) >= count else None

    return await desk.until(look)


async def test_approvals_and_the_end_are_told_signed():
    async with telling(PAY, DONE) as (desk, receiver):
        session, (question,) = await desk.asked()
        await receiver.until(1)
        await desk.answer(question)
        await desk.rest()
        await receiver.until(3)
        told = [Webhook(SECRET).verify(body, headers) for headers, body in receiver.got]
        by_type = {each["type"]: each["data"] for each in told}
        assert by_type.keys() == {"approval.requested", "approval.decided", "turn.ended"}
        asked = by_type["approval.requested"]
        assert (asked["approvalId"], asked["description"]) == (question["id"], "Pay 5 to Bob")
        assert (asked["mayDecide"], asked["sessionId"]) == ("asker", session)
        assert asked["costSoFarUsd"] > 0 and "args" not in asked
        assert by_type["approval.decided"]["decidedBy"] == "local"
        assert by_type["turn.ended"]["reason"] == "success"
        assert len(await settled(desk, count=3)) == 3


async def test_expiry_doubt_budget_and_failure_are_told():
    late = Reply(ToolCall("pay_late", {"amount": 1}, "toolu_late"))
    async with telling(PAY, DONE, late, DONE, approval_timeout=0.05) as (desk, receiver):
        session, _ = await desk.asked("Pay")
        await receiver.until(3)
        assert sorted(receiver.types) == ["approval.expired", "approval.requested", "turn.ended"]
        await desk.ask(session, "Pay late")
        await receiver.until(5)
        assert sorted(receiver.types[3:]) == ["turn.ended", "write.in_doubt"]
    small = (Budget(per="session", tokens=1),)
    async with telling(budgets=small) as (desk, receiver):
        await desk.asked("Hi")
        await receiver.until(2)
        assert sorted(receiver.types) == ["budget.reached", "turn.ended"]
        ended = next(json.loads(b) for _, b in receiver.got if b"turn.ended" in b)
        assert (ended["data"]["reason"], ended["data"]["code"]) == ("error", "budget_exceeded")


async def test_an_endpoint_is_told_only_what_it_wants():
    async with telling(PAY, DONE, events=["turn.ended"]) as (desk, receiver):
        _, (question,) = await desk.asked()
        await desk.answer(question)
        await desk.rest()
        await receiver.until(1)
        await settled(desk)
        assert receiver.types == ["turn.ended"]


@pytest.mark.slow
async def test_the_command_lists_notices_and_has_them_sent_again(tmp_path, capsys):
    nowhere = endpoint("http://127.0.0.1:9/hook")
    async with office(DONE, store=SqliteStore(tmp_path), webhooks=(nowhere,)) as desk:
        await desk.asked("Hi")
        running = await asyncio.to_thread(main, ["webhooks", f"--data={tmp_path}"])
        refused = ["webhooks", f"--data={tmp_path}", "--replay=failed"]
        assert (running, await asyncio.to_thread(main, refused)) == (0, 2)
    out, err = capsys.readouterr()
    assert "crm  turn.ended" in out and "1 notice, 1 waits" in out
    assert "The server sends them: POST http" in err
    (notice,) = [word for word in out.split() if word.startswith("msg_")]
    again = ["webhooks", f"--data={tmp_path}", f"--replay={notice}"]
    assert await asyncio.to_thread(main, again) == 0
    assert "1 will be sent" in capsys.readouterr().out
    assert await asyncio.to_thread(main, [*again[:2], "--replay=unknown"]) == 1


def test_the_command_makes_a_secret_that_an_endpoint_takes(capsys):
    assert main(["webhooks", "--new-secret"]) == 0
    assert endpoint("https://example.com", secret=capsys.readouterr().out.strip()).keys


@pytest.mark.parametrize("status", [500, 404, 301, 302, 429])
async def test_what_is_not_taken_is_sent_again_under_the_same_id(status, soon):
    elsewhere = {"location": "http://127.0.0.1:1/elsewhere"} if status < 400 else {}
    receiver = Receiver(status, status, headers=elsewhere)
    async with telling(DONE, receiver=receiver) as (desk, _):
        await desk.asked("Hi")
        await receiver.until(3)
        (notice,) = await settled(desk)
        ids = {headers["webhook-id"] for headers, _ in receiver.got}
        assert (notice.tries, ids) == (3, {notice.id})
        assert len({body for _, body in receiver.got}) == 1


async def test_who_is_gone_is_left_alone():
    async with telling(DONE, receiver=Receiver(410)) as (desk, receiver):
        await desk.asked("Hi")
        (notice,) = await settled(desk, "failed")
        assert (notice.tries, notice.outcome, len(receiver.got)) == (1, "410", 1)


@pytest.mark.slow
async def test_after_the_last_try_it_is_failed_and_an_admin_can_replay_it(soon):
    receiver = Receiver(*[500] * (len(delivery.PAUSES) + 1))
    root = {"authorization": f"Bearer {mint(TOKEN_SECRET, 'root', roles=['admin'])}"}
    bob = {"authorization": f"Bearer {mint(TOKEN_SECRET, 'bob')}"}
    async with telling(DONE, receiver=receiver, secret=TOKEN_SECRET) as (desk, _):
        await desk.asked("Hi", headers=bob)
        (failed,) = await settled(desk, "failed")
        assert failed.tries == len(delivery.PAUSES) + 1
        path, again = "/api/webhooks/notices", "/api/webhooks/replay"
        is_problem(await desk.http.get(path, headers=bob), 403, "forbidden")
        is_problem(await desk.http.post(again, json={"id": "x"}, headers=bob), 403, "forbidden")
        listed = (await desk.http.get(path, headers=root)).json()["notices"]
        assert [(each["id"], each["status"]) for each in listed] == [(failed.id, "failed")]
        assert "body" not in listed[0]
        replayed = await desk.http.post(again, json={"id": failed.id}, headers=root)
        assert replayed.json() == {"replayed": 1}
        await settled(desk)
        for wrong in ({}, {"id": "a", "status": "failed"}, {"status": "lost"}):
            is_problem(await desk.http.post(again, json=wrong, headers=root), 400, "bad_input")
        unknown = await desk.http.post(again, json={"id": "unknown"}, headers=root)
        is_problem(unknown, 404, "not_found")


async def test_a_receiver_that_hangs_holds_up_no_turn_and_no_other_endpoint():
    hanging, well = Receiver(), Receiver()
    hanging.hold = asyncio.Event()
    async with hanging.serve() as one, well.serve() as two:
        hooks = (endpoint(one, name="slow"), endpoint(two, name="well"))
        async with office(*[DONE] * 5, webhooks=hooks) as desk:
            for _ in range(5):
                await desk.asked("Hi")
            assert {each.endpoint for each in await settled(desk, count=5)} == {"well"}
            waiting = await desk.app.store.outbox.page(status="waiting")
            assert [each.endpoint for each in waiting] == ["slow"] * 5


async def test_nobody_is_told_without_an_endpoint():
    async with office(DONE) as desk:
        await desk.asked("Hi")
        assert await desk.app.store.outbox.page() == []


async def test_a_name_that_turns_to_a_private_address_is_not_connected_to(monkeypatch):
    """DNS rebinding: the name was public when the server started, and is private now."""
    receiver = Receiver()
    async with receiver.serve() as url:
        port = int(url.split(":")[2].split("/")[0])
        hook = Endpoint(name="crm", url=f"https://localhost:{port}/hook", secret=SECRET)
        async with office(DONE, webhooks=(hook,)) as desk:
            await desk.asked("Hi")

            async def tried():
                (notice,) = await desk.app.store.outbox.page()
                return notice if notice.tries else None

            notice = await desk.until(tried)
            assert (notice.status, receiver.got) == ("waiting", [])
            assert "private address" in notice.outcome


async def test_only_judged_addresses_are_connected_to(monkeypatch):
    """The address that was judged is the one that is used: a second look-up does not happen."""
    receiver, looked_up = Receiver(), []

    async def resolve(host, port, *, allow_private):
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["10.255.255.1"]

    monkeypatch.setattr(addresses, "addresses_of", resolve)
    async with receiver.serve() as url:
        hook = endpoint(url.replace("127.0.0.1", "hooks.example"))
        async with office(DONE, webhooks=(hook,)) as desk:
            await desk.asked("Hi")
            await receiver.until(1)
            await settled(desk)
    assert looked_up == ["hooks.example"]
    assert receiver.got[0][0]["Host"].startswith("hooks.example:")


@pytest.mark.slow
async def test_what_was_not_sent_is_sent_by_the_next_process(tmp_path):
    """The first process has nobody to send to; the second one finds the notice on disk."""
    nowhere = endpoint("http://127.0.0.1:9/hook")
    async with office(DONE, store=SqliteStore(tmp_path), webhooks=(nowhere,)) as desk:
        await desk.asked("Hi")
    receiver = Receiver()
    async with receiver.serve() as url:
        store = SqliteStore(tmp_path)
        app = create_app(settings=Settings(webhooks=(endpoint(url),)), store=store)
        async with app:
            await app.store.outbox.replay(now(), status="waiting")  # it is due in 5 s otherwise
            await receiver.until(1)
    assert receiver.types == ["turn.ended"]
