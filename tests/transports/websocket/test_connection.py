"""One websocket, over a transport that only remembers what it was told."""

import asyncio

import pytest
from hostile_frames import HALF, masked
from websockets.frames import Opcode

from turnlog.transports.websocket import connection
from turnlog.transports.websocket.connection import FRAMES_AT_ONCE, WebSocket
from turnlog.transports.websocket.frames import PONG, Parcel, close_frame, frame_of


class Transport:
    def __init__(self):
        self.written, self.reads, self.closing, self.aborted = [], True, False, False

    def set_protocol(self, protocol):
        self.protocol = protocol

    def write(self, data):
        self.written.append(data)

    def writelines(self, frames):
        self.written.append(b"".join(frames))

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    def abort(self):
        self.closing = self.aborted = True
        self.protocol.connection_lost(None)


class Listener:
    """Hears, and may want to hear nothing after so many messages."""

    def __init__(self, most=None):
        self.most, self.heard_ones, self.losses = most, [], 0

    def opened(self, line):
        self.line = line

    def heard(self, message):
        self.heard_ones.append(message)
        if len(self.heard_ones) == self.most:
            self.line.pause_reading()

    def drained(self):
        pass

    def lost(self):
        self.losses += 1


def opened(listener=None, **options):
    transport, listener = Transport(), listener or Listener()
    return transport, listener, WebSocket(transport, listener, set(), **options)


async def turns(number=50):
    """Of the loop: whatever was to be done soon is done."""
    for _ in range(number):
        await asyncio.sleep(0)


def text(number):
    return masked(Opcode.TEXT, b"%d" % number)


# many frames


async def test_of_many_frames_some_are_read_and_the_rest_when_others_had_their_turn():
    transport, listener, line = opened()
    line.data_received(b"".join(map(text, range(5 * FRAMES_AT_ONCE))))
    assert (len(listener.heard_ones), transport.reads) == (FRAMES_AT_ONCE, False)
    await asyncio.sleep(0)
    assert (len(listener.heard_ones), transport.reads) == (2 * FRAMES_AT_ONCE, False)
    await turns()
    assert listener.heard_ones == [str(number) for number in range(5 * FRAMES_AT_ONCE)]
    assert transport.reads


async def test_fragments_and_pings_are_frames_too():
    transport, listener, line = opened()
    line.data_received(HALF + masked(Opcode.CONT, fin=False) * FRAMES_AT_ONCE)
    assert not transport.reads
    await turns()
    assert transport.reads
    line.data_received(masked(Opcode.PING) * (FRAMES_AT_ONCE + 1))
    assert not transport.reads
    await turns()
    assert transport.reads and listener.heard_ones == []


async def test_of_many_pings_the_newest_is_answered():
    transport, _, line = opened()
    line.data_received(b"".join(masked(Opcode.PING, b"%d" % number) for number in range(100)))
    assert transport.written == [frame_of(b"99", PONG)]
    line.pause_writing()
    line.data_received(masked(Opcode.PING, b"a") + masked(Opcode.PING, b"b"))
    assert len(transport.written) == 1
    line.resume_writing()
    assert transport.written[1:] == [frame_of(b"b", PONG)]


async def test_a_listener_that_wants_to_hear_nothing_hears_nothing_until_it_does():
    transport, listener, line = opened(Listener(most=3))
    line.data_received(b"".join(map(text, range(1000))))
    await turns()
    assert (listener.heard_ones, transport.reads) == (["0", "1", "2"], False)
    line.resume_reading()
    await turns()
    assert listener.heard_ones == [str(number) for number in range(1000)]
    assert transport.reads


async def test_a_goodbye_behind_many_frames_is_heard_though_nobody_listens_any_more():
    transport, listener, line = opened(Listener(most=1))
    line.data_received(b"".join(map(text, range(1000))) + masked(Opcode.CLOSE, b"\x03\xe8"))
    line.close()
    await turns()
    assert transport.closing and not transport.aborted
    assert (listener.heard_ones, listener.losses) == (["0"], 0)


async def test_who_sends_frames_without_end_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(connection, "MOST_FRAMES", 500)
    monkeypatch.setattr(connection, "PERIOD", 1e9)
    transport, listener, line = opened()
    line.data_received(masked(Opcode.PONG) * 10_000)
    await turns()
    assert transport.written[-1][2:4] == (1008).to_bytes(2)
    assert listener.losses == 1


async def test_who_sends_as_many_in_a_long_time_is_not(monkeypatch):
    monkeypatch.setattr(connection, "MOST_FRAMES", 500)
    monkeypatch.setattr(connection, "PERIOD", 0.0)
    transport, listener, line = opened()
    line.data_received(masked(Opcode.PONG) * 10_000)
    await turns(100)
    assert transport.reads
    assert (transport.written, listener.losses) == ([], 0)


# what is sent together


async def test_what_is_written_soon_goes_with_the_next_one():
    transport, _, line = opened()
    line.write_soon(Parcel(b"a"))
    line.write_soon(Parcel(b"b"))
    line.write(Parcel(b"c"))
    await turns(2)
    line.write(Parcel(b"d"))
    assert transport.written == [frame_of(b"a") + frame_of(b"b") + frame_of(b"c"), frame_of(b"d")]


async def test_what_is_written_soon_goes_when_the_loop_comes_round():
    transport, _, line = opened()
    line.write_soon(Parcel(b"a"))
    assert transport.written == []
    await turns(1)
    assert transport.written == [frame_of(b"a")]


async def test_several_are_sent_at_once():
    transport, _, line = opened()
    line.write(Parcel(b"a"), Parcel(b"b"))
    assert transport.written == [frame_of(b"a") + frame_of(b"b")]


async def test_what_is_written_soon_goes_before_the_goodbye():
    transport, _, line = opened()
    line.write_soon(Parcel(b"a"))
    line.close()
    line.write_soon(Parcel(b"too late"))
    await turns(2)
    assert transport.written == [frame_of(b"a") + close_frame(1000)]


async def test_what_was_to_be_written_soon_is_dropped_where_the_client_has_gone():
    transport, listener, line = opened()
    line.write_soon(Parcel(b"a"))
    transport.abort()
    await turns(2)
    assert (transport.written, listener.losses) == ([], 1)


# clients that do not read


@pytest.mark.parametrize("is_full", [True, False])
async def test_a_line_is_full_from_the_start_where_its_transport_was(is_full):
    _, _, line = opened(is_full=is_full)
    assert line.is_full == is_full
    line.resume_writing()
    assert not line.is_full


async def test_who_says_nothing_more_and_does_not_read_is_given_up(monkeypatch):
    monkeypatch.setattr(connection, "GOODBYE", 0.0)
    transport, listener, line = opened()
    assert not line.eof_received()  # the transport closes, when all is written
    transport.close()
    assert listener.losses == 1
    line.write(Parcel(b"too late"))
    while not transport.aborted:
        await asyncio.sleep(0)
    assert transport.written[0][0] == 0x88 and len(transport.written) == 1


async def test_a_line_whose_transport_is_closing_already_is_given_up_too(monkeypatch):
    monkeypatch.setattr(connection, "GOODBYE", 0.0)
    transport, listener, line = opened()
    transport.close()
    line.close()
    while not transport.aborted:
        await asyncio.sleep(0)
    assert (transport.written, listener.losses) == ([], 0)
