"""However a body is cut, it is the same body with the same end; and what is not whole never is."""

import re
import sys

import pytest
from examples import times
from hostile_model import text
from hypothesis import given
from hypothesis import strategies as st

from turnlog.engines.claude.http import framing
from turnlog.engines.claude.http.framing import (
    MOST_LINE,
    MOST_TRAILERS,
    Broken,
    Chunked,
    Sized,
    UntilClosed,
)

LAST = b"0\r\n\r\n"


def chunk(data, size="%x"):
    return (size % len(data)).encode() + b"\r\n" + data + b"\r\n"


def outcome(body, pieces):
    """The content, whether it is whole, whether more came, and whether it is broken."""
    content = b"".join([body.feed(piece) for piece in pieces])
    return content, body.is_over, body.has_more, body.error is not None


def cut(stream, places):
    places = sorted({0, len(stream), *places})
    return [stream[a:b] for a, b in zip(places, places[1:], strict=False)]


def by_the_book(stream):
    """RFC 9112, 7.1, of bytes that are all there."""
    content = b""
    while size := re.match(rb"([0-9a-fA-F]{1,15})[ \t]{0,9}(;[^\r\n\0]{0,4000})?\r\n", stream):
        length, stream = int(size[1], 16), stream[size.end() :]
        if length == 0:
            end = re.match(rb"([!#-'*+.^-z|~0-9A-Z-]+:[^\r\n\0]*\r\n)*\r\n", stream)
            return content, end is not None, end is not None and end.end() < len(stream)
        content, rest = content + stream[:length], stream[length:]
        if rest[:2] != b"\r\n":
            break
        stream = rest[2:]
    return content, False, False


EVENTS = st.text(max_size=9).map(text)
NASTY = st.sampled_from(
    [b"\r\n", b"\r\n5\r\n", b"\n\n", b"\n\n\r\n", LAST, b"a\r\n" + text("b"), b"5\r\n", b"\r"]
)
CHUNKS = st.tuples(
    st.one_of(EVENTS, EVENTS, NASTY, st.binary(min_size=1, max_size=9)),
    st.sampled_from(["%x"] * 4 + ["%X", "%04x", "%x;name=value", "%x ", "-%x", "+%x", "%x_0"]),
).map(lambda made: chunk(*made))
ENDINGS = st.sampled_from(
    [LAST, LAST, b"", b"0\r\nname: value\r\n\r\n", b"00\r\n\r\n", b"x\r\n", b"5\r\nab",
     b"5\r\nabcdef\r\n", b"\r\n", LAST + b"more", LAST + LAST, b"3", b"3\r", b"0\r\nno\r\n\r\n"]
)  # fmt: skip


@times(3)
@given(chunks=st.lists(CHUNKS, max_size=8), ending=ENDINGS, data=st.data())
def test_a_body_in_chunks_is_the_same_however_it_is_cut(chunks, ending, data):
    stream = b"".join(chunks) + ending
    ends = [len(b"".join(chunks[:n])) for n in range(len(chunks) + 1)]
    places = st.one_of(st.sampled_from(ends), st.integers(0, len(stream)))
    pieces = cut(stream, data.draw(st.lists(places, max_size=6)))
    content, is_over, has_more, is_broken = outcome(Chunked(), pieces)
    assert (content, is_over, has_more) == by_the_book(stream)
    assert outcome(Chunked(), [stream[n : n + 1] for n in range(len(stream))]) == (
        content, is_over, has_more, is_broken,
    )  # fmt: skip


@given(contents=st.lists(st.one_of(EVENTS, NASTY), max_size=5), data=st.data())
def test_no_part_of_a_body_in_chunks_is_whole(contents, data):
    stream = b"".join(map(chunk, contents)) + LAST
    part = stream[: data.draw(st.integers(0, len(stream) - 1))]
    body = Chunked()
    content = body.feed(part)
    assert b"".join(contents).startswith(content)
    assert (body.is_over, body.error) == (False, None)
    body.close(None)
    assert not body.is_over
    assert isinstance(body.error, Broken)


@given(content=st.binary(), more=st.binary(max_size=3), data=st.data())
def test_a_body_of_a_known_size_is_the_same_however_it_is_cut(content, more, data):
    stream = content + more
    pieces = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    assert outcome(Sized(len(content)), pieces) == (content, True, bool(more), False)
    if content:
        body = Sized(len(content))
        body.feed(content[:-1])
        body.close(None)
        assert not body.is_over
        assert isinstance(body.error, Broken)


@pytest.mark.parametrize("why", [None, ConnectionResetError()], ids=["closed", "broken off"])
def test_a_body_until_the_end_is_whole_unless_the_connection_broke(why):
    body = UntilClosed()
    assert body.feed(b"all") == b"all"
    assert not body.is_over
    body.close(why)
    assert (body.is_over, body.error) == (why is None, why)


@pytest.mark.parametrize("body", [Chunked(), Sized(2)], ids=["in chunks", "of a size"])
def test_what_broke_the_connection_breaks_the_body(body):
    body.close(why := ConnectionResetError())
    assert body.error is why


REFUSED = {
    "a negative size": b"-5\r\nhello\r\n",
    "a signed size": b"+5\r\nhello\r\n",
    "a size that overflows": b"f" * 18 + b"\r\nhello\r\n",
    "no size": b"\r\nhello\r\n",
    "a size that is no number": b"zz\r\nhello\r\n",
    "a size with an underscore": b"1_0\r\nhello\r\n",
    "a size with a prefix": b"0x5\r\nhello\r\n",
    "a size without a carriage return": b"5\n",
    "a size with one too many": b"5\r\r\n",
    "a size too small": b"3\r\nhel" + b"l",
    "an end of a chunk without a carriage return": b"5\r\nhello\n",
    "a size line without an end": b"5;" + b"x" * MOST_LINE,
    "a long size line": b"5;" + b"x" * MOST_LINE + b"\r\nhello\r\n",
    "a trailer without an end": b"0\r\nname: " + b"x" * MOST_LINE,
    "a trailer that is no field": b"0\r\nname\r\n\r\n",
    "a trailer with a bare line end": b"0\r\nname: value\n",
    "trailers without an end": b"0\r\n" + b"name: value\r\n" * (MOST_TRAILERS // 10),
}


@pytest.mark.parametrize("sent", REFUSED)
@pytest.mark.parametrize("at_a_time", [1, 7, 10**9], ids=["bytes", "pieces", "whole"])
def test_what_is_no_chunk_breaks_the_body_at_once(sent, at_a_time):
    stream, body = chunk(b"before") + REFUSED[sent], Chunked()
    pieces = [stream[n : n + at_a_time] for n in range(0, len(stream), at_a_time)]
    content, is_over, _, is_broken = outcome(body, pieces)
    assert content.startswith(b"before")
    assert (is_over, is_broken) == (False, True)
    assert str(body.error).startswith("What came is not")  # and not what it is: logs tell it
    assert body.feed(chunk(b"after") + LAST) == b""
    assert not body.is_over


def test_many_chunks_are_read_in_as_many_steps_as_two():
    few = chunk(b"a") + chunk(text("b"))
    assert steps_of(few * 200) == steps_of(few)


def steps_of(stream):
    """How many functions of ours are called there."""
    steps, reader = [], Chunked()

    def count(frame, event, _):
        if frame.f_code.co_filename == framing.__file__ and event == "call":
            steps.append(event)

    sys.setprofile(count)
    try:
        reader.feed(stream)
    finally:
        sys.setprofile(None)
    return len(steps)
