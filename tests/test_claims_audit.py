"""Where an unfounded claim is seen: in the log, for admins, on the command line; never by users."""

import asyncio
import threading
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from turnlog import Agent
from turnlog.cli import main
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.projections.claims import by_turn, unfounded
from turnlog.projections.proof import prove
from turnlog.simulator import Cut, Reply, Text, ToolCall
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET, scripted_app
from turnlog.testing.golden import flows, pages
from turnlog.tokens import mint
from turnlog.turns import follow_ups

FLOWS = Path(__file__).parent / "flows"
CLAIM = "I've created the customer Test Corp."
PAGES = {
    "80_claim_without_a_tool": [
        (5, "Nothing was deleted in this turn: there was only list_tasks.")
    ],
    "81_count_that_no_result_holds": [(5, "No tool result of this turn holds a count of 3.")],
    "82_claims_that_are_so": [],
}
TALK = [
    [s.asked("Hello."), s.said("Hi.")],  # 0, 1
    [s.asked("Create customer Test Corp"), s.said(CLAIM, id="m")],  # 2, 3
]


@asynccontextmanager
async def app_of(*entries, store=None, **settings):
    async with scripted_app(*entries, agents=[Agent("a")], store=store, **settings) as (app, _):
        yield app


async def kept(store):
    (session_id,) = await store.session_ids()
    return [stamped(row) for row in (await store.evidence(session_id)).log]


async def newest_turn(store):
    return (await kept(store))[-1].turn_id


def claims(log):
    return [entry for entry in log if isinstance(entry.event, k.ClaimUnfounded)]


@pytest.mark.parametrize(("page", "expected"), PAGES.items(), ids=PAGES)
async def test_the_log_of_a_golden_page_holds_its_claims(page, expected):
    store = MemoryStore()
    await flows.perform(pages.read_page(FLOWS / f"{page}.md"), store, flows.by_library)
    assert [(entry.seq, entry.event.why) for entry in claims(await kept(store))] == expected


async def test_a_claim_is_in_the_log_for_admins_and_on_nobody_s_screen():
    admin = {"authorization": f"Bearer {mint(SECRET, 'ann', admin=True, days=1)}"}
    client = httpx2.AsyncClient(timeout=60, headers=admin)
    async with (
        app_of(Reply(CLAIM), auth_secret=SECRET) as app,
        listen(app, "127.0.0.1", 0) as url,
        client as http,
    ):
        path = f"{url}/api/sessions"
        path += "/" + (await http.post(path)).json()["id"]
        result = await app.run_turn("Create it", session_id=path.split("/")[-1], user_id="ann")
        await app.rest()
        whole = (await http.get(f"{path}/events?internal=true")).json()["events"]
        shown = await http.get(f"{path}/messages")
    (found,) = [event for event in whole if event["type"] == "claim_unfounded"]
    (message,) = [event for event in whole if event["type"] == "message"]
    assert (found["claim"], found["messageId"]) == (CLAIM, message["messageId"])
    assert "claim_unfounded" not in shown.text + str(result.events)


async def test_the_note_comes_after_the_end_of_the_turn_and_the_session_goes_on():
    async with app_of(Reply(CLAIM), Reply("Hello.")) as app:
        result = await app.run_turn("Create it")
        await app.rest()
        log = await kept(app.store)
        assert [entry.event.type for entry in log[-2:]] == ["message", "claim_unfounded"]
        assert result.events[-1].position == log[-2].seq
        assert prove(await app.store.evidence(log[0].session_id)).problems == []
        assert (await app.run_turn("Hi", session_id=log[0].session_id)).text == "Hello."


@pytest.fixture
def held_up(monkeypatch):
    """The check does not come back before it is let go."""
    let_go = threading.Event()

    def slow(turn, before):
        assert let_go.wait(60)
        return unfounded(turn, before)

    monkeypatch.setattr(follow_ups, "unfounded", slow)
    yield let_go
    let_go.set()


async def test_a_check_holds_up_no_turn_and_no_next_message(held_up):
    async with app_of(Reply(CLAIM), Reply("Hello.")) as app:
        session_id = (await app.create_session("local")).id
        await app.run_turn("Create it", session_id=session_id, user_id="local")
        second = await app.run_turn("Hi", session_id=session_id, user_id="local")
        assert second.text == "Hello."
        assert claims(await kept(app.store)) == []
        held_up.set()
        await app.rest()
        log = await kept(app.store)
        (note,) = claims(log)
        assert (note.turn_id, note.seq) == (log[0].turn_id, len(log) - 1)
        assert prove(await app.store.evidence(session_id)).problems == []


async def test_a_server_that_stops_writes_the_last_notes():
    store = MemoryStore()
    async with app_of(Reply(CLAIM), store=store) as app:
        await app.run_turn("Create it")
    assert len(claims(await kept(store))) == 1


async def test_a_server_that_stops_leaves_a_check_that_takes_too_long(held_up, monkeypatch, caplog):
    monkeypatch.setattr(follow_ups, "PATIENCE", 0)
    store = MemoryStore()
    async with app_of(Reply(CLAIM), store=store) as app:
        await app.run_turn("Create it")
    held_up.set()
    assert claims(await kept(store)) == []
    assert "the claims of 1 turns were not checked" in caplog.text


async def test_too_many_turns_that_wait_are_not_checked(held_up, monkeypatch, caplog):
    monkeypatch.setattr(follow_ups, "MOST_WAITING", 1)
    async with app_of(*[Reply(CLAIM)] * 4) as app:
        for _ in range(4):  # one is being checked, one waits
            await app.run_turn("Create it")
        held_up.set()
    assert caplog.text.count("too many wait") == 2


async def test_who_watches_sees_the_next_turn_and_no_note():
    async with app_of(Reply(CLAIM), Reply("Hello.")) as app:
        session_id = (await app.create_session("local")).id
        seen = []
        async with aclosing(app.follow("local", session_id, None)) as watching:
            for question in ("Create it", "Hi"):
                await app.run_turn(question, session_id=session_id, user_id="local")
                await app.rest()
                while not seen or seen[-1].entry.turn_id != await newest_turn(app.store):
                    seen += await anext(watching)
    types = [live.entry.event.type for live in seen]
    assert types.count("user_message_sent") == 2
    assert {"claim_unfounded", "resync_required"}.isdisjoint(types)


async def test_a_check_that_fails_fails_no_turn_and_no_later_check(monkeypatch, caplog):
    def broken(turn, before):
        monkeypatch.setattr(follow_ups, "unfounded", unfounded)
        raise RuntimeError("a rule broke")

    monkeypatch.setattr(follow_ups, "unfounded", broken)
    async with app_of(Reply(CLAIM), Reply(CLAIM)) as app:
        session_id = (await app.create_session("local")).id
        for _ in range(2):
            result = await app.run_turn("Create it", session_id=session_id, user_id="local")
            assert result.events[-1].event.reason == "success"
        await app.rest()
        assert len(claims(await kept(app.store))) == 1
    assert "could not be checked" in caplog.text


async def test_a_turn_that_broke_off_claims_nothing():
    async with app_of(Reply(Text(CLAIM), ending=Cut(4))) as app:
        await app.run_turn("Create it")
        await app.rest()
        assert claims(await kept(app.store)) == []


@pytest.mark.parametrize("more", [[], [ToolCall("look")]], ids=["one answer", "two answers"])
async def test_an_ordinary_turn_is_not_read_back(more):
    class Counting(MemoryStore):
        reads = 0

        async def read(self, *args, **named):
            self.reads += 1
            return await super().read(*args, **named)

    plain, claiming = Counting(), Counting()
    for store, text in (plain, "Hello!"), (claiming, CLAIM):
        replies = [Reply(Text(text), *more), Reply("Bye!")][: len(more) + 1]
        async with app_of(*replies, store=store) as app:
            assert (await app.run_turn("Hi")).success
    assert claiming.reads == plain.reads + 1


async def test_a_note_that_a_crash_lost_is_found_by_folding_the_log():
    store = MemoryStore()
    async with app_of(Reply(CLAIM), store=store) as app:
        await app.run_turn("Create it")
    log = await kept(store)
    without = [entry for entry in log if not isinstance(entry.event, k.ClaimUnfounded)]
    ((_, finding),) = by_turn(without)
    (note,) = claims(log)
    assert (finding.claim, finding.why) == (note.event.claim, note.event.why)
    assert by_turn(log) == by_turn(without)


@pytest.mark.parametrize(("earlier", "notes"), [("I have 3 open tasks", 0), ("I have tasks", 1)])
async def test_what_was_said_in_an_earlier_turn_may_be_repeated(earlier, notes):
    async with app_of(Reply("Okay."), Reply("Hi! By the way, you have 3 open tasks.")) as app:
        session_id = (await app.create_session("local")).id
        for question in (earlier, "hello"):
            await app.run_turn(question, session_id=session_id, user_id="local")
        await app.rest()
        log = await kept(app.store)
    assert len(claims(log)) == len(by_turn(log)) == notes


# the command line


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def fill():
        store = SqliteStore(tmp_path)
        await store.open()
        noted = k.ClaimUnfounded(message_id="m", claim=CLAIM, why="Nothing was created.")
        await s.keep(store, TALK[0], [*TALK[1], noted])
        await store.close()

    asyncio.run(fill())
    return str(tmp_path)


def test_verify_names_claims_where_it_is_asked_to_and_the_proof_stays_whole(data, capsys):
    assert main(["verify", "--data", data]) == 0
    assert capsys.readouterr().out == "1 session, 5 events: ok\n"
    assert main(["verify", "--claims", "--data", data]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first == (
        f's  claim: turn s.t1 number 3: "{CLAIM}" '
        "Nothing was created in this turn: no tool was called."
    )
    assert last == "1 session, 5 events: ok, 1 unfounded claim"


def test_replay_and_export_show_the_note(data, capsys):
    assert main(["replay", "s", "--data", data]) == 0
    assert f"unfounded {CLAIM}  [Nothing was created.]" in capsys.readouterr().out
    assert main(["export", "s", "--format", "md", "--data", data]) == 0
    assert capsys.readouterr().out.endswith(
        f"#### Audit note: unfounded claim\n\nNothing was created.\n\n> {CLAIM}\n"
    )
    assert main(["export", "s", "--data", data]) == 0
    assert '"type":"claim_unfounded"' in capsys.readouterr().out
