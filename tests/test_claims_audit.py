"""Where an unfounded claim is seen: in the log, for admins, on the command line; never by users."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from turnlog import Agent, Settings, create_app
from turnlog.cli import main
from turnlog.events import kinds as k
from turnlog.events.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import (
    Cut,
    Reply,
    SimulatedClaude,
    Text,
)
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import flows, pages
from turnlog.testing import samples as s
from turnlog.transports.auth import mint
from turnlog.turns import claims as claim_check

FLOWS = Path(__file__).parent / "flows"
SECRET = "a secret of at least thirty-two characters"
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
    async with SimulatedClaude(*entries, pace=0).serve() as url:
        made = Settings(api_key="k", base_url=url, **settings)
        app = create_app([Agent("a")], settings=made, store=store or MemoryStore())
        async with app:
            yield app


async def kept(store):
    (session_id,) = await store.session_ids()
    return [stamped(row) for row in (await store.evidence(session_id)).log]


def claims(log):
    return [at for at in log if isinstance(at.event, k.ClaimUnfounded)]


@pytest.mark.parametrize(("page", "expected"), PAGES.items(), ids=PAGES)
async def test_the_log_of_a_golden_page_holds_its_claims(page, expected):
    store = MemoryStore()
    await flows.perform(pages.read_page(FLOWS / f"{page}.md"), store, flows.by_library)
    assert [(at.seq, at.event.why) for at in claims(await kept(store))] == expected


async def test_a_claim_is_in_the_log_for_admins_and_on_nobody_s_screen():
    admin = {"authorization": f"Bearer {mint(SECRET, 'ann', admin=True, days=1)}"}
    client = httpx2.AsyncClient(headers=admin)
    async with (
        app_of(Reply(CLAIM), auth_secret=SECRET) as app,
        listen(app, "127.0.0.1", 0) as url,
        client as http,
    ):
        path = f"{url}/api/sessions"
        path += "/" + (await http.post(path)).json()["id"]
        result = await app.run_turn("Create it", session_id=path.split("/")[-1], user_id="ann")
        whole = (await http.get(f"{path}/events?internal=true")).json()["events"]
        shown = await http.get(f"{path}/messages")
    (found,) = [event for event in whole if event["type"] == "claim_unfounded"]
    (message,) = [event for event in whole if event["type"] == "message"]
    assert (found["claim"], found["messageId"]) == (CLAIM, message["messageId"])
    assert "claim_unfounded" not in shown.text + str(result.events)


async def test_the_session_with_a_claim_is_whole_and_its_end_is_numbered_after_it():
    async with app_of(Reply(CLAIM), Reply("Hello.")) as app:
        result = await app.run_turn("Create it")
        log = await kept(app.store)
        assert [at.event.type for at in log[-2:]] == ["message", "claim_unfounded"]
        assert result.events[-1].position == log[-1].seq
        assert prove(await app.store.evidence(log[0].session_id)).problems == []
        assert (await app.run_turn("Hi", session_id=log[0].session_id)).text == "Hello."


async def test_a_check_that_fails_fails_no_turn(monkeypatch, caplog):
    def broken(turn):
        raise RuntimeError("a rule broke")

    monkeypatch.setattr(claim_check, "unfounded", broken)
    async with app_of(Reply(CLAIM)) as app:
        result = await app.run_turn("Create it")
        assert result.events[-1].event.reason == "success"
        assert claims(await kept(app.store)) == []
    assert "could not be checked" in caplog.text


async def test_a_turn_that_broke_off_is_not_checked():
    async with app_of(Reply(Text(CLAIM), ending=Cut(4))) as app:
        await app.run_turn("Create it")
        assert claims(await kept(app.store)) == []


async def test_an_ordinary_turn_is_not_read_back():
    class Counting(MemoryStore):
        reads = 0

        async def read(self, *args, **named):
            self.reads += 1
            return await super().read(*args, **named)

    plain, claiming = Counting(), Counting()
    async with app_of(Reply("Hello!"), store=plain) as app:
        await app.run_turn("Hi")
    async with app_of(Reply(CLAIM), store=claiming) as app:
        await app.run_turn("Hi")
    assert claiming.reads == plain.reads + 1


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
    assert capsys.readouterr().out == "1 sessions, 5 events: ok\n"
    assert main(["verify", "--claims", "--data", data]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first == (
        f's  claim: turn s.t1 number 3: "{CLAIM}" '
        "Nothing was created in this turn: no tool was called."
    )
    assert last == "1 sessions, 5 events: ok, 1 unfounded claims"


def test_replay_and_export_show_the_note(data, capsys):
    assert main(["replay", "s", "--data", data]) == 0
    assert f"unfounded {CLAIM}  [Nothing was created.]" in capsys.readouterr().out
    assert main(["export", "s", "--format", "md", "--data", data]) == 0
    assert capsys.readouterr().out.endswith(
        f"#### Audit note: unfounded claim\n\nNothing was created.\n\n> {CLAIM}\n"
    )
    assert main(["export", "s", "--data", data]) == 0
    assert '"type":"claim_unfounded"' in capsys.readouterr().out
