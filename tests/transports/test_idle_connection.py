"""A connection that idles keeps nothing of the request before, and takes the next one."""

import asyncio
import inspect
import math
import re
from contextlib import asynccontextmanager

import pytest
import uvicorn
from raw_server import until
from uvicorn.server import ServerState

from turnlog.transports import sse
from turnlog.transports.http.serving import head_deadline
from turnlog.transports.http.serving.head_deadline import HeadDeadline, close_overdue
from turnlog.transports.http.serving.held_head import HeldHead
from turnlog.transports.http.serving.unread import Unread

GET = b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 8\r\n\r\n"


LARGE = 200, b"x" * 100_000  # no socket takes so much of what nobody reads


async def app(scope, receive, send):
    """Says its path; to `/early` before the body has come. To `/large` and `/closing`
    it says a lot, to `/headers` what it was told."""
    if scope["path"] == "/closing":
        closing = [(b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": closing})
        await send({"type": "http.response.body", "body": LARGE[0] * LARGE[1]})
        return
    if scope["path"] == "/large":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for left in reversed(range(LARGE[0])):
            message = {"type": "http.response.body", "body": LARGE[1], "more_body": left > 0}
            await send(message)
        return
    while scope["path"] != "/early" and (await receive()).get("more_body"):
        pass
    body = scope["path"].encode()
    if scope["path"] == "/headers":
        body = b"".join(name + value for name, value in scope["headers"]) + body
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def connected():
    """A connection to the app, and the protocol that serves it."""
    config = uvicorn.Config(app, lifespan="off", timeout_keep_alive=1000)
    config.load()
    served = []

    def protocol():
        served.append(HeadDeadline(config, ServerState(), {}))
        return served[-1]

    listening = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    async with listening, asyncio.timeout(60):
        address = listening.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(*address, limit=2**25)
        yield reader, writer, served[0] if served else await _first(served)
        writer.close()


async def _first(served):
    while not served:
        await asyncio.sleep(0)
    return served[0]


async def answered(reader):
    await reader.readuntil(b"\r\n\r\n")
    return await reader.readuntil(b"/") + await reader.read(1)


CHUNKED = b"POST %b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"


@pytest.mark.parametrize(
    "begin",
    [b"GET /1 HTTP/1.1\r\nhost: x\r\n", CHUNKED % b"/1", CHUNKED % b"/early"],
    ids=["a head", "trailers", "trailers after the answer"],
)
async def test_what_is_without_end_and_no_body_is_hung_up_on(begin):
    async with connected() as (reader, writer, protocol):
        writer.write(GET % 1)  # a connection that was used before
        assert await answered(reader) == b"/1"
        writer.write(begin)
        with pytest.raises(ConnectionError):
            for number in range(1000):
                writer.write(b"x-%d: " % number + b"x" * 60_000 + b"\r\n")
                await writer.drain()
        assert protocol._piled < 1_000_000


async def test_a_head_that_comes_byte_by_byte_is_read_and_the_next_one_too():
    async with connected() as (reader, writer, protocol):
        for number in range(3):
            for at in range(len(GET % number)):
                writer.write((GET % number)[at : at + 1])
                await asyncio.sleep(0)
            assert await answered(reader) == b"/%d" % number
            assert protocol._piled == 0


async def test_who_asks_without_end_and_reads_nothing_is_hung_up_on():
    async with connected() as (reader, writer, protocol):
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                writer.write(GET % 1 * 1000)
                await writer.drain()
        assert len(protocol.pipeline) <= head_deadline.MOST_WAITING


async def test_a_trailer_is_no_header():
    async with connected() as (reader, writer, protocol):
        writer.write(CHUNKED % b"/headers" + b"authorization: Bearer x\r\n\r\n")
        assert b"transfer-encoding" in (said := await reader.readuntil(b"/headers"))
        assert b"Bearer" not in said


@pytest.mark.parametrize("path", [b"/large", b"/closing"], ids=["in the middle", "at the end"])
async def test_who_reads_nothing_of_an_answer_is_hung_up_on(path):
    async with connected() as (reader, writer, protocol):
        unread, left = await not_reading(writer, protocol, path), protocol.transport
        for now in (0.0, 59.0):
            unread.hang_up([protocol], now)
        assert left.get_write_buffer_size()
        unread.hang_up([protocol], 60.0)
        assert not left.get_write_buffer_size() and left.is_closing()


async def test_who_reads_slowly_is_left_alone():
    async with connected() as (reader, writer, protocol):
        unread = await not_reading(writer, protocol, b"/large")
        waiting = protocol.transport.get_write_buffer_size
        for now in (0.0, 59.0, 118.0):
            before = waiting()
            unread.hang_up([protocol], now)
            writer.transport.resume_reading()
            await until(lambda before=before: waiting() != before)
            writer.transport.pause_reading()
        assert not protocol.transport.is_closing()


async def not_reading(writer, protocol, path):
    """A client for whom an answer waits."""
    writer.transport.pause_reading()
    writer.write(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path)
    await until(lambda: protocol.flow.write_paused)
    if path == b"/closing":
        await until(protocol.transport.is_closing)
    return Unread()


async def test_a_body_is_as_long_as_it_is():
    async with connected() as (reader, writer, protocol):
        writer.write(b"POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n")
        for _ in range(50):
            writer.write(b"x" * 100_000)
            await writer.drain()
        assert await answered(reader) == b"/1"


async def test_nothing_is_kept_of_what_was_answered():
    async with connected() as (reader, writer, protocol):
        for number in range(3):
            writer.write(GET % number)
            assert await answered(reader) == b"/%d" % number
            assert (protocol.cycle, protocol.scope, protocol.headers) == (None, None, [])
            assert (protocol.parser, protocol.pipeline) == (None, [])


async def test_a_client_that_reads_late_gets_all_and_asks_again():
    async with connected() as (reader, writer, protocol):
        for number in range(2):
            writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
            while not protocol.flow.write_paused:
                await asyncio.sleep(0.001)
            assert protocol.cycle is not None
            body = await reader.readuntil(b"\r\n0\r\n\r\n")
            assert body.count(LARGE[1]) == LARGE[0]
            assert not protocol.flow.write_paused
            writer.write(GET % number)
            assert await answered(reader) == b"/%d" % number


async def test_only_a_connection_on_which_nothing_is_answered_is_ever_overdue():
    async with connected() as (reader, writer, protocol):
        writer.write(POST.replace(b"early", b"later"))
        while protocol.cycle is None:
            await asyncio.sleep(0.001)
        assert protocol.until == math.inf
        writer.write(b"whatever")
        assert await answered(reader) == b"/l"
        await reader.readuntil(b"ater")
        close_overdue([protocol, object()])
        writer.write(GET % 1)  # it was not late
        assert await answered(reader) == b"/1"
        protocol.until = 0
        close_overdue([protocol])
        assert await reader.read() == b""


async def test_a_head_has_its_own_time_from_its_first_byte_on():
    async with connected() as (reader, writer, protocol):
        writer.write(GET % 1)
        assert await answered(reader) == b"/1"
        kept_until = protocol.until
        writer.write(b"GET ")
        while protocol.until == kept_until:
            await asyncio.sleep(0.001)
        head_until = protocol.until
        writer.write(b"/2 HTTP/1.1\r\n")
        while protocol.url != b"/2":
            await asyncio.sleep(0.001)
        assert protocol.until == head_until < kept_until


async def test_requests_that_come_at_once_are_answered_one_after_the_other():
    async with connected() as (reader, writer, protocol):
        writer.write(GET % 1 + GET % 2 + GET % 3)
        assert [await answered(reader) for _ in range(3)] == [b"/1", b"/2", b"/3"]
        assert (protocol.cycle, protocol._answering) == (None, None)


@pytest.mark.parametrize("cut", [1, 3, 8, 17, 26, 27])
async def test_a_head_that_has_begun_before_the_answer_to_the_last_request_is_not_lost(cut):
    async with connected() as (reader, writer, protocol):
        writer.write(GET % 1 + (GET % 2)[:cut])
        assert await answered(reader) == b"/1"
        writer.write((GET % 2)[cut:])
        assert await answered(reader) == b"/2"
        assert (protocol.cycle, protocol.scope, protocol.headers) == (None, None, [])


async def test_a_body_that_comes_after_its_answer_hurts_nobody():
    async with connected() as (reader, writer, protocol):
        writer.write(POST)
        assert await answered(reader) == b"/e"
        await reader.readuntil(b"arly")
        writer.write(b"too late" + GET % 1)
        assert await answered(reader) == b"/1"
        assert protocol.cycle is None


NOT_PROMISED = {  # what we use of uvicorn, and where it is written
    "response": (sse.straight, {"flow", "transport", "chunked_encoding"}),
    "response.flow": (sse.straight, {"write_paused"}),
    "cycle": (head_deadline, {"response_complete", "more_body", "scope"}),
    "request": (HeadDeadline._when_gone, {"more_body", "disconnected"}),
    "self._answering": (HeadDeadline.connection_lost, {"disconnected", "message_event"}),
    "self._cycle": (HeldHead, {"transport"}),
    "self": (
        HeadDeadline.on_response_complete,
        {
            "cycle",
            "_answering",
            "pipeline",
            "scope",
            "headers",
            "parser",
            "loop",
            "timeout_keep_alive",
            "until",
            "_is_kept",
            "_is_idle",
            "_unset_keepalive_if_required",
        },
    ),
    "self.flow": (HeadDeadline.handle_websocket_upgrade, {"write_paused"}),
}


async def test_uvicorn_has_what_we_use_of_it_without_a_promise():
    async with connected() as (reader, writer, protocol):
        writer.write(POST.replace(b"early", b"later"))
        while protocol.cycle is None:
            await asyncio.sleep(0.001)
        cycle, flow = protocol.cycle, protocol.flow
        holders = {"response": cycle, "response.flow": cycle.flow, "cycle": cycle}
        holders |= {"self": protocol, "self.flow": flow, "self._cycle": cycle}
        holders |= dict.fromkeys(("request", "self._answering"), cycle)
        for holder, (where, names) in NOT_PROMISED.items():
            used = re.findall(rf"(?<!\.)\b{re.escape(holder)}\.(\w+)", inspect.getsource(where))
            assert names == set(used), f"{where} uses other parts of uvicorn: name them above"
            missing = {name for name in names if not hasattr(holders[holder], name)}
            assert not missing, f"this uvicorn has no {missing}: mend {where}, or pin uvicorn lower"
        writer.write(b"whatever")
        assert await answered(reader) == b"/l"
