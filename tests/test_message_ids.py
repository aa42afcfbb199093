"""An answer has one id, from its first piece on: the provider's, or ours where that is taken."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from played_model import PlayedModel
from raw_events import CITED, block, start, stop

from turnlog import Agent, Settings, create_app
from turnlog.events.grammar import OF_A_MESSAGE
from turnlog.events.rows.record import stamped
from turnlog.ports import Question
from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.turns.answers.message_ids import MessageIds

SOURCE = {"type": "citations_delta", "citation": CITED}
WORDS = [{"type": "text_delta", "text": word} for word in ("Ducks ", "quack.")]
NAMED = {kind.__struct_config__.tag for kind in OF_A_MESSAGE}
USER = "ann"


def answer(message_id="msg_1"):
    """A stream with a piece of everything that belongs to an answer."""
    thought = [{"type": "thinking_delta", "thinking": word} for word in ("Let me ", "see.")]
    named = {} if message_id is None else {"id": message_id}
    first = start(**named)
    if message_id is None:
        del first["message"]["id"]
    return [
        first,
        *block({"type": "thinking", "thinking": "", "signature": "s"}, *thought),
        *block({"type": "text", "text": ""}, SOURCE, *WORDS, index=1),
        *stop(),
    ]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, migrated):
    return MemoryStore() if request.param == "memory" else SqliteStore(migrated)


@asynccontextmanager
async def playing(*streams, store, **more):
    model = PlayedModel(*streams, **more)
    async with (app := create_app([Agent("a")], settings=Settings(), store=store, engine=model)):
        yield app


async def ids_of(app, session_id=None):
    """Asks once: the ids of the pieces that were shown, and the kept message's."""
    result = await app.run_turn("Go", session_id=session_id, user_id=USER)
    named = [entry.event for entry in result.events if type(entry.event) in OF_A_MESSAGE]
    assert {event.type for event in named} == NAMED
    assert result.error is None
    assert prove(await app.store.evidence(result.session_id)).problems == []
    return {event.message_id for event in named}, result.message_id, result.session_id


async def test_every_piece_of_an_answer_has_the_providers_id(store):
    async with playing(answer("msg_7"), store=store) as app:
        assert (await ids_of(app))[:2] == ({"msg_7"}, "msg_7")


@pytest.mark.parametrize("repeated", ["msg_1", "", None])
async def test_an_id_that_comes_again_is_replaced_from_the_first_piece_on(store, repeated):
    async with playing(answer(repeated), answer(repeated), store=store) as app:
        first, kept, session_id = await ids_of(app)
        second, kept_again, _ = await ids_of(app, session_id)
    assert (first, second) == ({kept}, {kept_again})
    assert kept and kept_again and kept != kept_again


async def test_an_id_of_another_session_is_replaced_from_the_first_piece_on(store):
    async with playing(answer(), answer(), store=store) as app:
        first, _, one = await ids_of(app)
        second, kept, other = await ids_of(app)
    assert one != other
    assert first == {"msg_1"} and second == {kept} and kept != "msg_1"


async def test_an_id_that_the_log_has_from_before_is_replaced():
    store = MemoryStore()
    await s.keep(store, [s.asked(), s.said("Old.", id="msg_1")])
    async with playing(answer(), store=store) as app:
        shown, kept, _ = await ids_of(app)
    assert shown == {kept} and kept != "msg_1"


async def test_two_sessions_that_get_one_id_at_the_same_time_do_not_share_it(store):
    together = asyncio.Barrier(2)  # both are in mid-answer when either says its next piece
    paced = {"pause": lambda _: together.wait()}
    async with playing(answer(), answer(), store=store, **paced) as app, asyncio.timeout(60):
        (one, kept, _), (other, kept_there, _) = await asyncio.gather(ids_of(app), ids_of(app))
    assert (one, other) == ({kept}, {kept_there})
    assert kept != kept_there and "msg_1" in (kept, kept_there)


@pytest.mark.parametrize("after", range(1, 6))
async def test_an_answer_that_is_stopped_is_kept_under_the_id_of_its_pieces(after):
    """Also when that id was taken, and at whatever place."""
    pieces, shut = iter(range(after - 1)), asyncio.Event()

    async def pause(prompt):
        if next(pieces, None) is None:
            shut.set()
            await asyncio.Event().wait()

    store = MemoryStore()
    await s.keep(store, [s.asked(), s.said("Old.", id="msg_1")])
    async with playing(answer("msg_1"), store=store, pause=pause) as app, asyncio.timeout(60):
        session = await app.create_session(USER)
        turn = await app.start_turn(USER, session.id, Question(message="Go"))
        await shut.wait()
        await app.stop_turn(USER, session.id)
        seen = [live.entry.event async for batch in app.follow_turn(USER, turn) for live in batch]
        log = [stamped(row).event for row in (await store.evidence(session.id)).log]
    events = [event for event in seen if type(event) in OF_A_MESSAGE]
    assert len({event.message_id for event in events}) == 1
    assert log[-1].message_id == events[0].message_id != "msg_1"


async def test_an_answer_that_is_begun_again_keeps_the_id_of_its_first_piece(store):
    async with playing([*answer("msg_1")[:4], *answer("msg_2")], store=store) as app:
        assert (await ids_of(app))[:2] == ({"msg_1"}, "msg_1")


# who gives ids out


class SlowLog:
    """A log that answers when the test lets it."""

    def __init__(self, *known):
        self._known = known
        self.go = asyncio.Event()

    async def has_message(self, message_id):
        await self.go.wait()
        return message_id in self._known


async def test_an_id_is_given_once_while_the_log_is_still_asked():
    log = SlowLog()
    ids = MessageIds(log)
    claims = [asyncio.create_task(ids.claim("msg_1")) for _ in range(5)]
    log.go.set()
    given = await asyncio.gather(*claims)
    assert given.count("msg_1") == 1 and len(set(given)) == 5


async def test_an_empty_id_is_never_given():
    log = SlowLog()
    log.go.set()
    given = [await MessageIds(log).claim("") for _ in range(3)]
    assert all(given) and len(set(given)) == 3


async def test_a_log_that_knows_an_id_keeps_it(monkeypatch):
    monkeypatch.setattr("turnlog.turns.answers.message_ids.REMEMBERED", 2)
    log = SlowLog("msg_1")
    log.go.set()
    ids = MessageIds(log)
    assert await ids.claim("msg_1") != "msg_1"
    for n in range(9):  # and does so when this process has forgotten it
        await ids.claim(f"msg_other_{n}")
    assert await ids.claim("msg_1") != "msg_1"
