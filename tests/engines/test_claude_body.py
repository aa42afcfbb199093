"""A body that piles up: text waits for the tick, what ends an answer does not, nothing is lost."""

import asyncio
from contextlib import asynccontextmanager
from contextvars import ContextVar

import aiohttp
import pytest
from hostile_model import BEGIN, end, frame, text

from turnlog.engines.claude.body import MOST_PILED_UP, Body

turn = ContextVar("turn", default="nobody's")
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


class Ticks:
    """They come when the test says so."""

    def __init__(self):
        self.waiting = []

    def call_next(self, call):
        self.waiting.append(call)

    def tick(self):
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()


class Reading:
    """Somebody who lets a body pile up, and the server that it comes from."""

    def __init__(self, http, url, writer):
        self._http, self._url, self._writer = http, url, writer
        self.ticks, self.taken, self.wants_more = Ticks(), [], True

    async def begin(self):
        """Ask, read the first piece, and let the rest pile up."""
        response = await self._http.get(self._url)
        self.body = Body(response)
        self.send(chunk(BEGIN))
        assert await self.body.read() == BEGIN
        return asyncio.create_task(self.body.pile_up(self.ticks, self._take))

    def _take(self, piece):
        self.taken.append(piece)
        self.called_in = turn.get()
        if isinstance(self.wants_more, Exception):
            raise self.wants_more
        return self.wants_more

    def send(self, data):
        self._writer().write(data)

    def cut(self):
        self._writer().transport.abort()

    async def waits(self, size):
        """Until so many bytes wait at the dam."""
        async with asyncio.timeout(60):
            while self.body._dam is None or self.body._dam._size < size:
                await asyncio.sleep(0.001)


@pytest.fixture
async def reading():
    async with serving() as (reading, _):
        yield reading


@asynccontextmanager
async def serving():
    writers = []

    async def answer(reader, writer):
        writers.append(writer)
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(HEAD)

    async def quiet(reader, writer):
        try:
            await answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(quiet, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, aiohttp.ClientSession() as http:
        yield Reading(http, f"http://{host}:{port}", lambda: writers[-1]), writers


async def test_text_waits_for_the_tick_and_comes_as_one(reading):
    piling = await reading.begin()
    pieces = [chunk(text("a")), chunk(text("b"))]
    for piece in pieces:
        reading.send(piece)
    await reading.waits(len(b"".join(pieces)))
    assert reading.taken == []
    reading.ticks.tick()
    assert reading.taken == [text("a") + text("b")]
    assert not piling.done()
    piling.cancel()
    await reading.body.aclose()


async def test_text_that_comes_with_the_end_of_the_body_does_not_wait(reading):
    piling = await reading.begin()
    await reading.waits(0)
    reading.send(chunk(text("a")) + LAST)
    async with asyncio.timeout(60):
        await piling
    assert reading.taken == [text("a")]
    await reading.body.aclose()


async def test_after_a_quiet_window_the_next_piece_comes_at_once(reading):
    piling = await reading.begin()
    await reading.waits(0)
    reading.ticks.tick()
    reading.send(chunk(text("a")))
    async with asyncio.timeout(60):
        while not reading.taken:
            await asyncio.sleep(0.001)
    assert reading.taken == [text("a")]
    assert len(reading.ticks.waiting) == 1  # the next one waits again
    piling.cancel()
    await reading.body.aclose()


@pytest.mark.parametrize(
    "last", [end(), frame("error", error={"type": "overloaded_error"})], ids=["end", "error"]
)
async def test_what_ends_an_answer_does_not_wait(reading, last):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    reading.send(chunk(last))
    reading.send(LAST)
    async with asyncio.timeout(60):
        await piling
    assert b"".join(reading.taken) == text("a") + last
    assert await reading.body.read() == b""
    await reading.body.aclose()


async def test_what_piled_up_before_a_cut_is_taken(reading):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.cut()
    async with asyncio.timeout(60):
        await piling
    assert reading.taken == [text("a")]
    with pytest.raises((aiohttp.ClientError, OSError)):
        await reading.body.read()
    await reading.body.aclose()


async def test_more_than_a_window_should_have_does_not_wait(reading):
    piling = await reading.begin()
    much = text("x" * MOST_PILED_UP)
    reading.send(chunk(much))
    async with asyncio.timeout(60):
        while sum(map(len, reading.taken)) < len(much):
            await asyncio.sleep(0.001)
    piling.cancel()
    await reading.body.aclose()


async def test_who_wants_no_more_goes_on_reading_where_it_stopped(reading):
    piling = await reading.begin()
    reading.wants_more = False
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.ticks.tick()
    async with asyncio.timeout(60):
        await piling
        reading.send(chunk(text("b")))
        assert await reading.body.read() == text("b")
    await reading.body.aclose()


async def test_what_stops_the_taking_stops_who_waits(reading):
    piling = await reading.begin()
    reading.wants_more = ValueError("broken")
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.ticks.tick()
    with pytest.raises(ValueError, match="broken"):
        await piling
    await reading.body.aclose()


async def test_a_stop_leaves_what_piled_up_for_nobody_to_take(reading):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    piling.cancel()
    await asyncio.wait([piling])
    reading.ticks.tick()
    assert reading.taken == []
    assert await reading.body.read() == text("a")
    await reading.body.aclose()


async def test_the_pieces_of_a_turn_are_taken_as_its_own(reading):
    turn.set("mine")
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    turn.set("another's")  # whose timer it is
    reading.ticks.tick()
    assert reading.called_in == "mine"
    piling.cancel()
    await reading.body.aclose()


async def test_the_next_call_uses_the_same_connection():
    async with serving() as (reading, writers):
        for _ in range(2):
            piling = await reading.begin()
            reading.send(chunk(text("a") + end()) + LAST)
            async with asyncio.timeout(60):
                await piling
            await reading.body.finish()
            await reading.body.aclose()
        assert b"".join(reading.taken) == (text("a") + end()) * 2
        assert len(writers) == 1
