"""Where text comes fast it stays with the system until the tick: nothing is lost, no end waits."""

import asyncio
import fcntl
import itertools
import re
import socket
import struct
import sys
import termios

import pytest
import uvloop
from examples import times
from hostile_model import BEGIN, end, frame, text
from hypothesis import given
from hypothesis import strategies as st
from own_ticks import Ticks
from piling import REQUEST, serving
from raw_server import LAST, LIMIT, chunk, until
from recorded import STREAMS

from turnlog.engines.claude.http.exchange import FAST, LONGEST_HOLD
from turnlog.engines.claude.http.framing import Broken
from turnlog.engines.claude.http.sluice import END, Sluice

MUCH = text("m" * FAST)  # so much in one window is fast
ERROR = frame("error", error={"type": "overloaded_error", "message": "Overloaded"})
LAST_ONES = b"".join(chunk(f + b"\n\n") for f in end().split(b"\n\n")[:-1]) + LAST


@pytest.fixture(params=["plain", "TLS"])
async def reading(request, secure, trusted):
    async with serving(secure if request.param == "TLS" else None) as reading:
        yield reading


async def held(reading):
    """Whoever reads has got a lot in the first window: now what is small stays below."""
    piling = await reading.begin()
    await reading.waits(0)
    reading.send(chunk(MUCH))
    await reading.waits(len(MUCH))
    reading.ticks.tick()
    assert reading.taken.pop() == MUCH
    return piling


def below(reading):
    """How many bytes the system has for the transport."""
    sock = reading.body.transport.get_extra_info("socket")
    found = fcntl.ioctl(sock.fileno(), termios.FIONREAD, bytes(4))
    return int.from_bytes(found, sys.byteorder)


async def all_taken(reading, content):
    await until(lambda: b"".join(reading.taken) == content)


async def test_a_piece_of_fast_text_wakes_nobody_and_comes_with_the_tick(reading):
    await held(reading)
    reading.send(chunk(text("a")))
    await until(lambda: below(reading))
    await asyncio.sleep(0.01)
    assert (reading.body._pieces, reading.taken) == ([], [])
    reading.ticks.tick()
    await all_taken(reading, text("a"))


async def test_after_a_quiet_window_fast_text_comes_at_once_too(reading):
    await held(reading)
    reading.ticks.tick()
    reading.send(chunk(text("a")))
    await all_taken(reading, text("a"))


async def test_the_end_of_a_fast_answer_does_not_wait(reading):
    piling = await held(reading)
    reading.send(LAST_ONES)
    async with asyncio.timeout(LIMIT):
        await piling
    assert b"".join(reading.taken) == end()
    assert await reading.body.read() == b""


async def test_an_error_that_comes_alone_comes_with_the_tick(reading):
    await held(reading)
    reading.send(chunk(ERROR))
    await until(lambda: below(reading))
    reading.ticks.tick()
    await all_taken(reading, ERROR)


async def test_an_error_before_the_connection_closes_does_not_wait():
    async with serving() as reading:
        piling = await held(reading)
        reading.send(chunk(ERROR))
        reading.server.caller.hang_up()
        async with asyncio.timeout(LIMIT):
            await piling
        assert reading.taken == [ERROR]
        with pytest.raises((Broken, OSError)):
            await reading.body.read()


async def test_the_rest_of_an_end_does_not_wait_either(reading):
    """The tick comes in the middle of it."""
    for place in (5, 30, 79, 200, len(LAST_ONES) - 3):
        piling = await held(reading)
        reading.send(LAST_ONES[:place])
        await until(lambda: below(reading) or reading.taken)
        reading.ticks.tick()
        reading.send(LAST_ONES[place:])
        async with asyncio.timeout(LIMIT):
            await piling
        assert b"".join(reading.taken) == end()
        reading.taken.clear()


async def test_nothing_is_held_back_where_windows_are_long(reading):
    reading.ticks = Ticks(LONGEST_HOLD * 2)
    await held(reading)
    reading.send(chunk(ERROR))
    await all_taken(reading, ERROR)


async def test_whoever_reads_on_gets_what_was_held_back(reading):
    piling = await held(reading)
    reading.send(chunk(text("a")))
    await until(lambda: below(reading))
    piling.cancel()
    await asyncio.wait([piling])
    async with asyncio.timeout(LIMIT):
        assert await reading.body.read() == text("a")
    reading.ticks.tick()
    assert reading.taken == []


async def test_the_next_answer_on_the_connection_is_heard_at_once(reading):
    piling = await held(reading)
    reading.send(LAST_ONES)
    async with asyncio.timeout(LIMIT):
        await piling
        following = await reading.pool.ask(REQUEST)
        await following.head()
        assert len(reading.server.callers) == 1  # it is the same connection
        reading.ticks.tick()  # of the answer that is over: it takes nothing of this one
        reading.send(chunk(b"a") + LAST)
        assert (await following.read(), await following.read()) == (b"a", b"")


async def test_where_the_system_has_no_such_mark_everything_comes_in(reading, monkeypatch):
    monkeypatch.setattr(socket, "SO_RCVLOWAT", 60_000)
    await held(reading)
    reading.send(chunk(text("a")))
    await reading.waits(len(text("a")))
    assert reading.taken == []
    reading.ticks.tick()
    assert reading.taken == [text("a")]


async def test_who_stops_the_reader_while_taking_stops_nobody_else(reading):
    piling = await reading.begin()
    await reading.waits(0)
    reading.wants_more = lambda: not piling.cancel()
    reading.send(chunk(text("a")))
    await reading.waits(len(text("a")))
    reading.ticks.tick()
    await asyncio.wait([piling])
    assert (reading.taken, piling.cancelled()) == ([text("a")], True)


class Over(asyncio.Transport):
    """A socket."""

    def is_closing(self):
        return False


def test_the_tick_takes_text_and_leaves_what_broke_the_connection_to_the_transport():
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    ours.setblocking(False)
    with ours:
        sluice = Sluice(Over({"socket": ours}))
        sluice.shut(holds=True)
        theirs.send(b"text")
        assert (sluice.take(), sluice.take()) == (b"text", b"")
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        assert sluice.take() == b""
        with pytest.raises(ConnectionResetError):
            ours.recv(1)


class Closed(asyncio.Transport):
    """Its number may be that of another socket by now."""

    def is_closing(self):
        return True


def test_nothing_is_taken_from_a_connection_that_is_closed():
    sluice = Sluice(Closed())
    sluice.shut(holds=True)
    sluice.holds = True
    assert sluice.take() == b""


CONTENT = [BEGIN, *[text(f"{n} ") * (n % 4) for n in range(1, 40) if n % 4], end()]
BODY = b"".join(map(chunk, CONTENT[:-1])) + LAST_ONES


@times(2)
@given(data=st.data())
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_fast_answer_is_the_same_however_it_is_cut(run, data):
    places = data.draw(st.lists(st.integers(0, len(BODY)), max_size=20))
    ticked = data.draw(st.lists(st.booleans(), min_size=1, max_size=8))
    pieces = [BODY[a:b] for a, b in itertools.pairwise(sorted({0, len(BODY), *places}))]
    assert run(received(pieces, itertools.cycle(ticked))) == b"".join(CONTENT)


async def received(pieces, ticked):
    """What somebody gets who lets it pile up, with ticks between pieces."""
    async with serving() as reading:
        await reading.ask()
        content = []

        async def read():
            while piece := await reading.body.read():
                content.append(piece)
                await reading.body.pile_up(
                    reading.ticks, lambda piece: content.append(piece) or True
                )

        task = asyncio.create_task(read())
        for piece in pieces:
            reading.send(piece)
            await asyncio.sleep(0.0005)
            if next(ticked):
                reading.ticks.tick()
        async with asyncio.timeout(LIMIT):
            await task
        return b"".join(content)


def test_no_recorded_answer_ends_with_less():
    """But those of fewer than ten tokens, which have no second window."""
    for path in STREAMS:
        *_, last = path.read_bytes().replace(b"\r\n", b"\n").split(b'"content_block_delta"')
        frames = [frame + b"\n\n" for frame in last.split(b"\n\n")[1:] if frame.strip()]
        if b'"message_stop"' in last and not re.search(rb'"output_tokens": ?\d\D', last):
            assert len(b"".join(map(chunk, frames)) + LAST) >= END, path
