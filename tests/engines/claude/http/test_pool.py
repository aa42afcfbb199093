"""Connections are used again where that is safe, closed where it is not, and never left open."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
from hostile_model import end, text
from raw_server import HEAD, LAST, LIMIT, chunk, listening, meeting, until, whole

from turnlog.engines.claude.http.exchange import MOST_PILED_UP
from turnlog.engines.claude.http.framing import Broken
from turnlog.engines.claude.http.pool import Closed, Pool, Silence, Silent
from turnlog.engines.claude.http.route import Route

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
WHOLE = HEAD + chunk(end()) + LAST
LONG = 600.0  # seconds


@asynccontextmanager
async def asking(*answers, before=LONG, within=LONG):
    async with asyncio.timeout(LIMIT), listening(*answers) as server:
        pool = Pool(Route(server.url).connect, Silence(before, within))
        if within == LONG:
            pool._every = LONG  # so that only the test looks
        yield pool, server
        await pool.close()
        await server.is_left()


async def ask(pool, *request):
    exchange = await pool.ask(*(request or [REQUEST]))
    await exchange.head()
    return exchange


async def look(pool, times):
    for _ in range(times):
        pool._look()
    await asyncio.sleep(0)


async def test_the_next_request_uses_the_same_connection():
    async with asking(WHOLE) as (pool, server):
        for _ in range(3):
            assert await whole(await ask(pool)) == end()
        assert [len(caller.requests) for caller in server.callers] == [3]


async def test_another_request_does_not_stop_the_reading():
    async with asking(WHOLE) as (pool, server):
        first = await ask(pool)
        transport, protocol = first.transport, first.transport.get_protocol()
        await whole(first)
        assert transport.get_protocol() is protocol
        assert (await ask(pool)).transport is transport
        assert transport.get_protocol() is protocol


async def test_requests_at_the_same_time_have_connections_of_their_own():
    async with asking(HEAD) as (pool, server):
        first, second = await ask(pool), await ask(pool)
        for caller, word in zip(server.callers, [b"one", b"two"], strict=True):
            caller.send(chunk(word) + LAST)
        assert [await whole(second), await whole(first)] == [b"two", b"one"]


async def test_the_rest_that_nobody_reads_gives_the_connection_back():
    async with asking(HEAD + chunk(end())) as (pool, server):
        exchange = await ask(pool)
        assert await exchange.read() == end()
        await exchange.finish()
        await exchange.aclose()
        server.caller.send(chunk(b"more") + LAST)
        await until(lambda: pool._kept)
        await ask(pool)
        assert len(server.callers) == 1


async def test_a_rest_without_an_end_is_not_waited_for():
    async with asking(HEAD + chunk(end())) as (pool, server):
        exchange = await ask(pool)
        assert await exchange.read() == end()
        await exchange.finish()
        server.caller.send(chunk(b"a"))
        await look(pool, 2)
        await server.is_left()


async def test_of_a_rest_that_nobody_reads_only_some_is_received():
    async with asking(HEAD) as (pool, server):
        exchange = await ask(pool)
        await exchange.finish()
        server.caller.send(chunk(b"a" * 10 * MOST_PILED_UP))
        await server.is_left()


async def test_a_connection_that_the_server_closed_is_not_used():
    async with asking(WHOLE) as (pool, server):
        await whole(await ask(pool))
        server.caller.hang_up()
        await until(lambda: pool._kept[0].is_lost)
        assert await whole(await ask(pool)) == end()
        assert len(server.callers) == 2


STALE = HEAD + chunk(text("another's")) + LAST


@pytest.mark.parametrize("more", [STALE, STALE[:5], b"more"], ids=["answer", "half", "nonsense"])
@pytest.mark.parametrize("later", [True, False], ids=["later", "at once"])
async def test_what_nobody_asked_for_does_not_answer_the_next_request(more, later):
    async with asking(*([WHOLE] if later else [WHOLE + more])) as (pool, server):
        assert await whole(await ask(pool)) == end()
        if later:
            server.caller.send(more)
        await server.is_left()
        assert await whole(await ask(pool)) == end()
        assert len(server.callers) == 2


async def test_a_server_that_wants_to_close_is_believed():
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n"
    async with asking(head + b"ok") as (pool, server):
        assert await whole(await ask(pool)) == b"ok"
        await server.is_left()


async def test_what_came_behind_an_empty_body_that_nobody_read_ends_the_connection():
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
    async with asking(head + b"more") as (pool, server):
        await (await ask(pool)).aclose()
        await server.is_left()


async def test_an_answer_that_comes_before_the_request_is_sent_ends_the_connection():
    received = []

    async def answer_soon(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(WHOLE)
        await answered.wait()
        try:
            while piece := await reader.read(2**20):
                received.append(len(piece))
        except OSError:
            pass
        left.set()

    answered, left, size = asyncio.Event(), asyncio.Event(), 100_000_000
    async with meeting(answer_soon) as port:
        pool = Pool(Route(f"http://127.0.0.1:{port}").connect, Silence(LONG, LONG))
        assert await whole(await ask(pool, REQUEST, bytes(size))) == end()
        answered.set()
        async with asyncio.timeout(LIMIT):
            await left.wait()
        assert sum(received) < size
        await pool.close()


# silence


PLACES = {
    "before the head": b"",
    "in the head": HEAD[:20],
    "behind the head": HEAD,
    "in a size": HEAD + b"1",
    "in a chunk": HEAD + b"10\r\nhel",
    "behind a chunk": HEAD + b"5\r\nhello",
    "between chunks": HEAD + chunk(b"hello"),
    "before the end": HEAD + b"0\r\n",
    "in a trailer": HEAD + b"0\r\nname: va",
    "in a body of a size": b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
    "in a body without an end": b"HTTP/1.1 200 OK\r\n\r\nhello",
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_server_that_falls_silent_is_not_waited_for_longer(place):
    async with asking(PLACES[place], before=0.05, within=0.05) as (pool, server):
        with pytest.raises(TimeoutError, match="Nothing came for 0.05 seconds"):
            await whole(await ask(pool))
        await server.is_left()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["hang_up", "cut"])
async def test_a_server_that_goes_leaves_nothing_whole(place, how):
    async with asking(PLACES[place]) as (pool, server):
        asked = asyncio.create_task(gone_while_asking(pool))
        await until(lambda: server.callers and server.caller.requests)
        getattr(server.caller, how)()
        read, error = await asked
        if place == "in a body without an end" and how == "hang_up":
            assert (read, error) == (b"hello", None)
        else:
            assert isinstance(error, Broken | OSError)
            assert b"hello".startswith(read)


async def gone_while_asking(pool):
    """What came of the body, and what broke it."""
    read = b""
    try:
        exchange = await ask(pool)
        while piece := await exchange.read():
            read += piece
    except (Broken, OSError) as error:
        return read, error
    return read, None


async def test_a_server_may_read_for_long_before_it_answers():
    """A long prompt. Once it has begun, it has the usual time for the next piece."""
    async with asking(b"") as (pool, server):
        exchange = await pool.ask(REQUEST)
        await until(lambda: server.callers and server.caller.requests)
        pool._silent_looks = 3
        await look(pool, 3 * pool._silent_looks)
        server.caller.send(HEAD + chunk(b"a"))
        await exchange.head()
        assert await exchange.read() == b"a"
        await look(pool, pool._silent_looks)
        with pytest.raises(Silent):
            await exchange.read()


async def test_a_server_that_says_a_little_now_and_then_is_not_silent():
    async with asking(HEAD) as (pool, server):
        exchange = await ask(pool)
        for word in [b"a", b"b", b"c"]:
            await look(pool, pool._silent_looks - 1)
            server.caller.send(chunk(word))
            assert await exchange.read() == word
        await look(pool, pool._silent_looks)
        with pytest.raises(TimeoutError):
            await exchange.read()


@pytest.mark.parametrize("silence", [0.4, 79.0, 81.0, 90.0, 95.0, 600.0])
async def test_a_silent_server_is_given_up_at_most_an_eighth_too_late(silence):
    pool = Pool(Route("http://127.0.0.1:9").connect, Silence(LONG, silence))
    earliest = (pool._silent_looks - 1) * pool._every  # something came just before a look
    latest = pool._silent_looks * pool._every  # or just behind one
    assert silence * 0.999 < earliest < latest < silence * 1.126


async def test_a_server_that_nobody_reads_from_is_not_silent():
    async with asking(HEAD) as (pool, server):
        exchange = await ask(pool)
        server.caller.send(chunk(b"a" * 10_000_000) + LAST)
        await until(lambda: exchange._is_paused)
        await look(pool, pool._silent_looks * 3)
        assert len(await whole(exchange)) == 10_000_000


# how connections end


async def test_a_kept_connection_is_closed_after_a_while_and_then_nobody_looks():
    async with asking(WHOLE) as (pool, server):
        await whole(await ask(pool))
        await until(lambda: pool._kept)
        await look(pool, pool._kept_looks)
        await server.is_left()
        assert (pool._kept, pool._looking) == ([], None)


@pytest.mark.parametrize("place", PLACES)
async def test_a_stop_leaves_no_connection_open(place):
    async with asking(PLACES[place]) as (pool, server):
        asked = asyncio.create_task(gone_while_asking(pool))
        await until(lambda: server.callers and server.caller.requests)
        asked.cancel()
        await asyncio.wait([asked])
        for exchange in [*pool._used]:
            await exchange.aclose()
        await server.is_left()


async def test_a_pool_that_closes_tells_whoever_waits():
    async with asking(HEAD) as (pool, server):
        waits_for_more = asyncio.create_task(gone_while_asking(pool))
        await until(lambda: any(exchange._framing for exchange in pool._used))
        await pool.close()
        _, error = await waits_for_more
        assert isinstance(error, ConnectionAbortedError)
        await server.is_left()


async def test_a_pool_that_is_closed_asks_nothing():
    async with asking(WHOLE) as (pool, server):
        await whole(await ask(pool))
        await pool.close()
        with pytest.raises(Closed):
            await pool.ask(REQUEST)
        assert [len(caller.requests) for caller in server.callers][:1] == [1]
        assert not any(caller.requests for caller in server.callers[1:])


async def test_a_server_that_is_not_there_cannot_be_asked():
    with socket.socket() as nobody:  # it has a port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        pool = Pool(
            Route(f"http://127.0.0.1:{nobody.getsockname()[1]}").connect, Silence(LONG, LONG)
        )
        with pytest.raises(ConnectionError, match=r"to 127\.0\.0\.1:\d+: ConnectionRefused"):
            await pool.ask(REQUEST)
