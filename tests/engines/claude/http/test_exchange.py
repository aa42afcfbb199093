"""A body that piles up: text waits for the tick, what ends an answer does not, nothing is lost."""

import asyncio

import pytest
from hostile_model import BEGIN, end, frame, text
from piling import serving, turn
from raw_server import LAST, LIMIT, chunk, until

from turnlog.engines.claude.connection import _beginning
from turnlog.engines.claude.http.exchange import MOST_PILED_UP, MOST_UNREAD
from turnlog.engines.claude.http.framing import Broken


@pytest.fixture
async def reading():
    async with serving() as reading:
        yield reading


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


async def test_text_that_comes_with_the_end_of_the_body_does_not_wait(reading):
    piling = await reading.begin()
    await reading.waits(0)
    reading.send(chunk(text("a")) + LAST)
    async with asyncio.timeout(LIMIT):
        await piling
    assert reading.taken == [text("a")]


async def test_after_a_quiet_window_the_next_piece_comes_at_once(reading):
    await reading.begin()
    await reading.waits(0)
    reading.ticks.tick()
    reading.send(chunk(text("a")))
    async with asyncio.timeout(LIMIT):
        while not reading.taken:
            await asyncio.sleep(0.001)
    assert reading.taken == [text("a")]
    assert len(reading.ticks.waiting) == 1  # the next one waits again


@pytest.mark.parametrize(
    "last", [end(), frame("error", error={"type": "overloaded_error"})], ids=["end", "error"]
)
async def test_what_ends_an_answer_does_not_wait(reading, last):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    reading.send(chunk(last))
    reading.send(LAST)
    async with asyncio.timeout(LIMIT):
        await piling
    assert b"".join(reading.taken) == text("a") + last
    assert await reading.body.read() == b""


async def test_what_piled_up_before_a_cut_is_taken(reading):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.server.caller.cut()
    async with asyncio.timeout(LIMIT):
        await piling
    assert reading.taken == [text("a")]
    with pytest.raises((Broken, OSError)):
        await reading.body.read()


async def test_more_than_a_window_should_have_does_not_wait(reading):
    await reading.begin()
    much = text("x" * MOST_PILED_UP)
    reading.send(chunk(much))
    async with asyncio.timeout(LIMIT):
        while sum(map(len, reading.taken)) < len(much):
            await asyncio.sleep(0.001)


async def test_who_wants_no_more_goes_on_reading_where_it_stopped(reading):
    piling = await reading.begin()
    reading.wants_more = False
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.ticks.tick()
    async with asyncio.timeout(LIMIT):
        await piling
        reading.send(chunk(text("b")))
        assert await reading.body.read() == text("b")


async def test_what_stops_the_taking_stops_who_waits(reading):
    piling = await reading.begin()
    reading.wants_more = ValueError("broken")
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    reading.ticks.tick()
    with pytest.raises(ValueError, match="broken"):
        await piling


async def test_a_stop_leaves_what_piled_up_for_nobody_to_take(reading):
    piling = await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    piling.cancel()
    await asyncio.wait([piling])
    reading.ticks.tick()
    assert reading.taken == []
    assert await reading.body.read() == text("a")


async def test_the_pieces_of_a_turn_are_taken_as_its_own(reading):
    turn.set("mine")
    await reading.begin()
    reading.send(chunk(text("a")))
    await reading.waits(len(chunk(text("a"))))
    turn.set("another's")  # whose timer it is
    reading.ticks.tick()
    assert reading.called_in == "mine"


BROKEN = {
    "negative": b"-5\r\nhello\r\n",
    "too large": b"f" * 18 + b"\r\nhello\r\n",
    "empty": b"\r\nhello\r\n",
    "without a carriage return": b"5\nhello\n",
    "too small": b"3\r\nhello\r\n",
    "no number": b"zz\r\nhello\r\n",
}


@pytest.mark.parametrize("size", BROKEN)
@pytest.mark.parametrize("piles_up", [True, False], ids=["piled up", "read"])
async def test_a_broken_chunk_ends_the_body(reading, size, piles_up):
    piling, broken = await reading.begin(), chunk(text("a")) + BROKEN[size]
    await reading.waits(0)
    if not piles_up:
        piling.cancel()
        await asyncio.wait([piling])
    reading.send(broken)
    if piles_up:
        await reading.waits(len(broken))
        reading.ticks.tick()
    async with asyncio.timeout(LIMIT):
        await asyncio.wait([piling])
        with pytest.raises(Broken):
            while await reading.body.read():
                pass
    await reading.server.is_left()


@pytest.mark.parametrize("size", BROKEN)
async def test_a_broken_chunk_ends_the_body_of_an_error(reading, size):
    await reading.ask()
    reading.send(chunk(b"hello"))
    reading.send(BROKEN[size])
    async with asyncio.timeout(LIMIT):
        assert await _beginning(reading.body) in ("hello", "hellohel")
    await reading.server.is_left()


async def test_what_came_before_the_wait_and_is_no_text_does_not_wait(reading):
    await reading.ask()
    reading.send(chunk(BEGIN + text("a")))
    assert await reading.body.read() == BEGIN + text("a")
    reading.send(chunk(text("b")) + chunk(end()))
    await until(lambda: reading.body._size)
    reading.piling = asyncio.create_task(reading.body.pile_up(reading.ticks, reading._take))
    await until(lambda: b"".join(reading.taken) == text("b") + end())


async def test_who_does_not_read_is_not_sent_more_than_is_bearable(reading):
    """And gets all of it, once it reads."""
    await reading.ask()
    whole = b"".join(text("x" * 1000) for _ in range(10_000))
    reading.send(chunk(whole) + LAST)
    await until(lambda: reading.body._is_paused)
    assert reading.body._size < 2 * MOST_UNREAD
    read = b""
    async with asyncio.timeout(LIMIT):
        while piece := await reading.body.read():
            read += piece
    assert read == whole


async def test_a_body_that_is_whole_stays_whole_when_the_connection_breaks(reading):
    await reading.ask()
    reading.send(chunk(text("a")) + LAST)
    await until(lambda: reading.body._size == len(chunk(text("a")) + LAST))
    reading.server.caller.cut()
    await until(lambda: reading.body._is_closed)
    assert [await reading.body.read(), await reading.body.read()] == [text("a"), b""]


async def test_a_body_that_is_cut_is_not_whole(reading):
    await reading.ask()
    reading.send(chunk(text("a")) + chunk(text("b"))[:-3])
    reading.server.caller.hang_up()
    async with asyncio.timeout(LIMIT):
        with pytest.raises(Broken, match="ended before the content of a chunk"):
            while await reading.body.read():
                pass
