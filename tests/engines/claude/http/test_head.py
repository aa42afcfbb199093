"""A head is read strictly, wherever it is cut. No value of a request begins another line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from turnlog.engines.claude.http.framing import Broken, Chunked, Sized, UntilClosed
from turnlog.engines.claude.http.head import MOST_HEAD, Heads, fields
from turnlog.net import seconds_asked

OK = "HTTP/1.1 200 OK"


def head(*lines):
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def read_head(data):
    """The head, and what came behind it."""
    heads = Heads()
    return heads.feed(data), heads.rest


UNDERSTOOD = {
    "chunks": ([OK, "Transfer-Encoding: Chunked"], 200, Chunked, True),
    "a length": ([OK, "content-length:  7 "], 200, Sized, True),
    "nothing": ([OK], 200, UntilClosed, False),
    "no reason": (["HTTP/1.1 429", "content-length: 0"], 429, Sized, True),
    "an empty reason": (["HTTP/1.1 500 ", "content-length: 0"], 500, Sized, True),
    "an old server": (["HTTP/1.0 200 OK", "content-length: 7"], 200, Sized, False),
    "an end": ([OK, "Connection: Close", "content-length: 7"], 200, Sized, False),
    "no content": (["HTTP/1.1 204 No"], 204, Sized, True),
    "no content in chunks": (["HTTP/1.1 204 No", "transfer-encoding: chunked"], 204, Sized, True),
    "nothing new": (["HTTP/1.1 304 No", "content-length: 7"], 304, Sized, True),
    "other fields": ([OK, "x-content-length: 9", "a:", "content-length: 7"], 200, Sized, True),
    "a continuation": (["HTTP/1.1 100 Continue", "", OK, "content-length: 7"], 200, Sized, True),
    "hints": (["HTTP/1.1 103 H", "link: x", "", "HTTP/1.1 100 C", "", OK], 200, UntilClosed, False),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNDERSTOOD)
def test_a_head_says_how_its_body_ends(kind):
    lines, status, framing, stays_open = UNDERSTOOD[kind]
    read, rest = read_head(head(*lines) + b"\r\n\r\nbody")
    assert rest == b"\r\n\r\nbody"
    assert (read.status, type(read.framing), read.stays_open) == (status, framing, stays_open)


@pytest.mark.parametrize("kind", UNDERSTOOD)
def test_a_head_that_is_not_whole_is_waited_for(kind):
    whole = head(*UNDERSTOOD[kind][0])
    heads, (at_once, _) = Heads(), read_head(whole)
    for at in range(len(whole) - 1):
        assert heads.feed(whole[at : at + 1]) is None
    read = heads.feed(whole[-1:] + b"body")
    assert astuple(read)[:3] == astuple(at_once)[:3]
    assert (type(read.framing), heads.rest) == (type(at_once.framing), b"body")


REFUSED = {
    "another protocol": b"SSH-2.0",
    "another version": head("HTTP/2 200 OK"),
    "a version that does not exist": head("HTTP/1.2 200 OK"),
    "no status": head("HTTP/1.1 OK"),
    "a short status": head("HTTP/1.1 20 OK"),
    "a status out of range": head("HTTP/1.1 600 OK"),
    "bare line ends": b"HTTP/1.1 200 OK\ncontent-length: 7\n",
    "one bare line end": head(OK, "a: b\nc: d"),
    "a folded line": head(OK, "a: b", " c"),
    "a line without a name": head(OK, ": b"),
    "a space behind a name": head(OK, "content-length : 7"),
    "a line without a colon": head(OK, "content-length"),
    "a zero byte": head(OK, "a: b\0c"),
    "a carriage return in a value": head(OK, "a: b\rcontent-length: 7"),
    "a length and chunks": head(OK, "content-length: 7", "transfer-encoding: chunked"),
    "two lengths": head(OK, "content-length: 7", "content-length: 8"),
    "two equal lengths": head(OK, "content-length: 7", "Content-Length: 7"),
    "a list of lengths": head(OK, "content-length: 7, 7"),
    "a negative length": head(OK, "content-length: -7"),
    "a signed length": head(OK, "content-length: +7"),
    "a length that overflows": head(OK, "content-length: " + "9" * 30),
    "an empty length": head(OK, "content-length:"),
    "a hexadecimal length": head(OK, "content-length: 0x7"),
    "other digits": head(OK, "content-length: \xb2"),
    "another coding": head(OK, "transfer-encoding: gzip, chunked"),
    "chunks twice": head(OK, "transfer-encoding: chunked", "transfer-encoding: chunked"),
    "chunks that are not last": head(OK, "transfer-encoding: chunked, identity"),
    "chunks of an old server": head("HTTP/1.0 200 OK", "transfer-encoding: chunked"),
    "a change of protocols": head("HTTP/1.1 101 Switch", "upgrade: websocket"),
    "a head without an end": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * MOST_HEAD,
    "a line without an end": b"HTTP/1.1 200 OK\r\na: " + b"b" * MOST_HEAD,
    "a long head": head(OK, "a: " + "b" * MOST_HEAD),
    "heads without an end": head("HTTP/1.1 100 C") * MOST_HEAD,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_head_is_refused(kind):
    with pytest.raises(Broken):
        read_head(REFUSED[kind])


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_head_is_refused_wherever_it_is_cut(kind):
    heads, data = Heads(), REFUSED[kind]
    with pytest.raises(Broken):
        for at in range(len(data)):
            assert heads.feed(data[at : at + 1]) is None
    assert len(heads.rest) <= MOST_HEAD + 1


def test_heads_that_announce_another_are_not_kept_and_not_read_again():
    heads, hint = Heads(), head("HTTP/1.1 100 C")
    for _ in range(MOST_HEAD // len(hint)):
        assert heads.feed(hint[:5]) is None
        assert heads.feed(hint[5:]) is None
        assert heads.rest == b""
    with pytest.raises(Broken):
        heads.feed(hint)


@given(data=st.binary(max_size=60), begin=st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n"]))
def test_whatever_comes_is_a_head_or_waited_for_or_refused(data, begin):
    try:
        read, rest = read_head(begin + data)
    except Broken:
        return
    assert (begin + data).endswith(rest)
    assert read is None or read.status == 200


def test_what_is_packed_and_when_to_come_back():
    read, _ = read_head(head(OK, "Content-Encoding: gzip", "Retry-After: 7 "))
    assert (read.is_packed, read.header("retry-after")) == (True, "7")
    read, _ = read_head(head(OK, "Retry-After: Fri, 31 Dec 9998 23:59:59 GMT"))
    assert seconds_asked(read.header("retry-after")) > 10**9
    read, _ = read_head(head(OK, "content-encoding: identity"))
    assert (read.is_packed, read.header("retry-after")) == (False, None)


def test_the_lines_of_a_request():
    assert fields({}) == b""
    assert fields({"a": "b c", "x-Y": "ü"}) == "a: b c\r\nx-Y: ü\r\n".encode()


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "a\x7f"])
def test_no_value_begins_another_line(value):
    with pytest.raises(ValueError, match="'name' has a character"):
        fields({"name": value})
    with pytest.raises(ValueError, match="character"):
        fields({value: "a"})
