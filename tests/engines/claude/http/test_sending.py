"""Large requests and large answers, also under TLS: what is slow is neither silent nor cut."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from hostile_model import end
from raw_server import HEAD, LAST, LIMIT, chunk, listening, meeting, until, whole

from turnlog.engines.claude.http.exchange import AT_ONCE, MOST_PILED_UP
from turnlog.engines.claude.http.pool import Pool, Silence
from turnlog.engines.claude.http.route import Route

REQUEST = b"POST / HTTP/1.1\r\n\r\n"
PARTS = 2_000_000  # of a request: more than any buffer on the way takes
LONG = 600.0  # seconds
KINDS = ["http", "https"]


@pytest.fixture(params=KINDS)
def tls(request, secure, trusted):
    return secure if request.param == "https" else None


def pool_to(port, tls):
    pool = Pool(
        Route(f"{'https' if tls else 'http'}://127.0.0.1:{port}").connect, Silence(LONG, LONG)
    )
    pool._every = LONG  # so that only the test looks
    return pool


@asynccontextmanager
async def slow_server(tls):
    """What it has read behind the head is what the test reads."""
    met = asyncio.get_running_loop().create_future()

    async def meet(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        met.set_result((reader, writer))
        await left.wait()
        writer.transport.abort()

    left = asyncio.Event()
    async with asyncio.timeout(LIMIT), meeting(meet, tls) as port:
        pool = pool_to(port, tls)
        yield pool, met
        left.set()
        await pool.close()


async def test_a_server_that_takes_a_request_slowly_is_not_silent(tls):
    async with slow_server(tls) as (pool, met):
        body = b"0123456789abcde\n" * PARTS
        exchange = await pool.ask(REQUEST, body)
        reader, writer = await met
        received, left = b"", len(exchange._unsent)
        for _ in range(3):
            while left == len(exchange._unsent):
                received += (piece := await reader.read(AT_ONCE))
                assert piece  # or it was given up
            left = len(exchange._unsent)
            for _ in range(pool._silent_looks - 1):
                pool._look()
        assert left  # it was still being sent
        received += await reader.readexactly(len(body) - len(received))
        assert received == body
        writer.write(HEAD + chunk(end()) + LAST)
        await exchange.head()
        assert await whole(exchange) == end()
        assert pool._kept  # all of it was sent


async def test_a_server_that_does_not_take_a_request_is_given_up(tls):
    async with slow_server(tls) as (pool, met):
        body = b"0123456789abcde\n" * PARTS
        exchange = await pool.ask(REQUEST, body)
        await met
        await until(lambda: exchange._is_full)
        waiting = asyncio.create_task(exchange.head())
        while not waiting.done():  # the transport may still take a little
            pool._look()
            await asyncio.sleep(0.001)
        assert isinstance(waiting.exception(), TimeoutError)


async def test_an_answer_to_a_request_that_is_half_sent_ends_the_connection(tls):
    async with slow_server(tls) as (pool, met):
        body = b"0123456789abcde\n" * PARTS
        exchange = await pool.ask(REQUEST, body)
        _, writer = await met
        writer.write(HEAD + chunk(end()) + LAST)
        await exchange.head()
        assert await whole(exchange) == end()
        assert not pool._kept


async def test_an_answer_is_whole_although_its_server_goes_before_it_is_read(tls):
    much = b"a" * 20 * MOST_PILED_UP
    async with asyncio.timeout(LIMIT), listening(HEAD + chunk(much) + LAST, ssl=tls) as server:
        pool = pool_to(server.port, tls)
        exchange = await pool.ask(REQUEST)
        await exchange.head()
        server.caller.hang_up()
        await until(lambda: exchange._is_closed)
        assert await whole(exchange) == much
        await pool.close()
