"""What becomes a websocket under uvicorn, and what does not."""

import asyncio

import pytest
from hostile_frames import masked
from raw_websocket import HEAD, raw, served, until_eof
from websockets.asyncio.client import connect
from websockets.frames import Opcode


async def test_the_example_of_the_standard():
    async with served() as url, raw(url) as (answer, _, _):
        assert answer.startswith("http/1.1 101 switching protocols\r\n")
        assert "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n" in answer


BAD_HEADS = {
    "an old version": ({"sec-websocket-version": "8"}, "426 upgrade required"),
    "no key": ({"sec-websocket-key": ""}, "400 bad request"),
    "a short key": ({"sec-websocket-key": "YWJj"}, "400 bad request"),
    "no base64": ({"sec-websocket-key": "é"}, "400 bad request"),
}


@pytest.mark.parametrize(("fields", "status"), BAD_HEADS.values(), ids=BAD_HEADS)
async def test_what_is_no_handshake_is_refused(fields, status):
    async with served() as url, raw(url, HEAD | fields) as (answer, reader, _):
        assert answer.startswith(f"http/1.1 {status}\r\n")
        if status.startswith("426"):
            assert "sec-websocket-version: 13\r\n" in answer
        await until_eof(reader)


async def test_a_websocket_is_asked_for_with_get():
    async with served() as url, raw(url, HEAD | {"content-length": "0"}, "POST") as (answer, *_):
        assert answer.startswith("http/1.1 405 ")


def head(version="1.1"):
    lines = "".join(f"{name}: {value}\r\n" for name, value in HEAD.items())
    return f"GET / HTTP/{version}\r\n{lines}\r\n".encode()


async def bytes_answered(url, *sent):
    """All that comes, until it is hung up on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2]))
    for each in sent:
        writer.write(each)
        await writer.drain()
    answer = await until_eof(reader)
    writer.close()
    return answer


async def test_http_1_0_has_no_websockets():
    async with served() as url:
        assert (await bytes_answered(url, head("1.0"))).startswith(b"HTTP/1.1 400 ")


async def test_a_frame_in_the_same_piece_as_the_head_is_too_early():
    async with served() as url:
        assert await bytes_answered(url, head() + masked(Opcode.TEXT, b"a")) == b""


async def test_a_head_may_come_in_pieces():
    async with served() as url, connect(url) as line:  # the server is there
        await line.send("a")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2]))
        for at in range(len(head())):
            writer.write(head()[at : at + 1])
            await asyncio.sleep(0)
        assert b"101" in await reader.readuntil(b"\r\n\r\n")
        writer.close()


class HalfRead:
    """An application with an answer that goes on, or one larger than all buffers."""

    def __init__(self, size, *, goes_on):
        self.size, self.goes_on, self.written, self.opened = size, goes_on, asyncio.Event(), False

    async def __call__(self, scope, receive, send):
        if scope["type"] == "websocket":
            self.opened = True
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send(
            {"type": "http.response.body", "body": b"a" * self.size, "more_body": self.goes_on}
        )
        self.written.set()
        while (await receive())["type"] != "http.disconnect":
            pass


ANSWERS = {"in the middle of": (1, True), "behind one that is not read": (50_000_000, False)}


@pytest.mark.parametrize(("size", "goes_on"), ANSWERS.values(), ids=ANSWERS)
async def test_no_websocket_begins_with_another_answer_under_way(size, goes_on):
    app = HalfRead(size, goes_on=goes_on)
    async with served(app) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await app.written.wait()
        writer.write(head())
        assert b"101 Switching" not in await until_eof(reader)
        assert not app.opened
        writer.close()
