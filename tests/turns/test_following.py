"""One who reconnects while another node has stored the end of a turn, and not yet shown it."""

from contextlib import aclosing, asynccontextmanager
from math import inf

import pytest

from turnlog.buses.memory import MemoryBus
from turnlog.events.base import Stamped
from turnlog.events.cursor import cursor_of
from turnlog.events.kinds import Message, ResyncRequired
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.transports import wire
from turnlog.turns import following


class Node:
    """One of two nodes that share a store and a bus. It has no turns of its own."""

    def __init__(self, store, beside=None):
        here = beside.bus if beside else None
        self.bus = MemoryBus(wire.encode, heartbeat=3600, beside=here)
        self.following = following.Following(store, self.bus, wire.encode, lambda turn_id: None)

    @asynccontextmanager
    async def watching(self, after):
        async with aclosing(self.following.session("alice", "s", cursor_of(after))) as batches:
            yield batches


@asynccontextmanager
async def two_nodes(monkeypatch, just_now=inf):
    """Both, the question that was shown, and the answer that was stored with the turn's end."""
    monkeypatch.setattr(following, "JUST_NOW", just_now)
    store = MemoryStore()
    one = Node(store)
    other = Node(store, beside=one)
    for node in (one, other):
        await node.bus.open(lambda *signal: None)
    await store.create_session(s.new_session())
    placed = s.placed(s.asked(), s.said("Done."))
    turn = await store.begin_turn(s.new_turn(), placed[:1])
    await store.append(turn, placed[1:], s.completed())
    yield (
        one,
        other,
        *(
            Stamped(session_id="s", turn_id=turn.id, envelope=envelope, seq=seq, position=seq)
            for seq, envelope in enumerate(placed)
        ),
    )
    for node in (one, other):
        await node.bus.close()


def types(batch):
    return [type(live.entry.event) for live in batch]


async def test_an_end_that_another_node_has_stored_and_not_shown_is_no_reason_to_reload(
    monkeypatch,
):
    async with (
        two_nodes(monkeypatch) as (one, other, question, answer),
        one.watching(question) as batches,
    ):
        assert await anext(batches) == []
        other.bus.publish("s", [answer])
        assert types(await anext(batches)) == [Message]


async def test_an_end_that_nobody_shows_is_waited_for_one_beat(monkeypatch):
    async with (
        two_nodes(monkeypatch) as (one, other, question, _),
        one.watching(question) as batches,
    ):
        assert await anext(batches) == []
        other.bus.publish("s", [])
        assert types(await anext(batches)) == [ResyncRequired]


@pytest.mark.parametrize("just_now, alone", [(-inf, False), (inf, True)], ids=["old", "alone"])
async def test_an_end_that_nobody_can_still_show_is_not_waited_for(monkeypatch, just_now, alone):
    async with two_nodes(monkeypatch, just_now) as (one, other, question, _):
        if alone:
            await other.bus.close()
        async with one.watching(question) as batches:
            assert types(await anext(batches)) == [ResyncRequired]
