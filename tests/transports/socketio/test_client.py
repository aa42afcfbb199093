"""What a client that watches is sent: few large sends, and never more than it reads."""

import asyncio

import pytest

from turnlog.events.base import Stamped
from turnlog.ports import LiveEvent, User
from turnlog.testing import samples
from turnlog.transports import sends, wire
from turnlog.transports.socketio.client import Client, Parcels
from turnlog.transports.socketio.connection import Connection


class Line:
    """A websocket that is full when so many sends lie in it."""

    def __init__(self, most=100):
        self.sends, self.most, self.soon = [], most, []

    @property
    def is_full(self):
        return len(self.sends) >= self.most

    def write(self, *parcels):
        self.sends.append([*self.soon, *(parcel.text for parcel in parcels)])
        self.soon = []

    def write_soon(self, parcel):
        self.soon.append(parcel.text)


class Server:
    def waits_for_room(self, connection): ...
    def has_room(self, connection): ...


def lives(number):
    (placed,) = samples.placed(samples.asked())
    stamped = [
        Stamped(session_id="s", turn_id="t", envelope=placed, seq=n, position=n)
        for n in range(number)
    ]
    return [LiveEvent(entry, wire.encode(entry)) for entry in stamped]


def watching(line, parcels=None):
    connection = Connection("sid", Server())
    connection.line = line
    return Client(connection, User(id="alice"), parcels or Parcels(), asyncio.create_task)


async def follow(one, *batches):
    async def following():
        for batch in batches:
            yield batch

    await one._follow("s", b"{}", following())


async def test_a_batch_is_sent_at_once():
    line, events = Line(), lives(3)
    await follow(watching(line), events, [], events[:1])
    assert [len(send) for send in line.sends] == [1, 3, 1]
    assert all(event.json in text for event, text in zip(events, line.sends[1], strict=True))


async def test_what_is_given_is_sent_at_once_too():
    line = Line()
    assert watching(line).give(lives(3))
    assert [len(send) for send in line.sends] == [3]


async def test_what_is_too_much_for_one_send_is_not_given(monkeypatch):
    monkeypatch.setattr(sends, "MOST_TOGETHER", 1000)
    line = Line()
    assert not watching(line).give(lives(10)) and line.sends == []


async def test_a_turn_begins_with_the_send_that_acknowledges_it():
    line = Line()
    one = watching(line)
    one.answer("7", {"ok": True})
    assert line.sends == []
    one.connection.put(*Parcels().of(lives(1)))
    assert [len(send) for send in line.sends] == [2]
    assert line.sends[0][0] == b'437[{"ok":true}]'


async def test_a_large_batch_is_cut_where_a_client_may_have_to_read_first(monkeypatch):
    monkeypatch.setattr(sends, "MOST_TOGETHER", 1000)
    events = lives(10)
    line = Line(most=2)
    one = watching(line)
    following = asyncio.create_task(follow(one, events))
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(line.sends) == 2 and not following.done()
    line.most = 100
    one.connection.drained()
    await following
    texts = [text for send in line.sends[1:] for text in send]
    assert texts == [b'42["agent:event",%s]' % event.json for event in events]


async def test_all_who_watch_share_the_bytes_of_a_batch():
    parcels, events = Parcels(), lives(3)
    assert parcels.of(events) is parcels.of(list(events))
    assert parcels.of(events[:2]) is not parcels.of(events)


@pytest.mark.parametrize(("size", "expected"), [(1, 3), (1000, 2), (70_000, 1)])
def test_an_event_is_never_left_out_for_its_size(monkeypatch, size, expected):
    monkeypatch.setattr(sends, "MOST_TOGETHER", size)
    events = lives(3)
    groups = sends.sends_of(events)
    assert len(groups) == expected and [live for group in groups for live in group] == events


async def test_who_does_not_read_holds_no_copy_of_what_waits(monkeypatch):
    made = []
    monkeypatch.setattr(Parcels, "of", lambda self, events: made.append(events) or [])
    one = watching(Line(most=1))
    following = asyncio.create_task(follow(one, lives(100)))
    for _ in range(10):
        await asyncio.sleep(0)
    following.cancel()
    assert made == []
