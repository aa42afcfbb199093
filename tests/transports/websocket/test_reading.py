"""Frames, however they are cut and whoever sends them: the same messages, or the right code."""

import pytest
from hostile_frames import HALF, HOSTILE, MOST, masked
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Frame, Opcode

from turnlog.transports.websocket.frames import Parcel, close_frame, frame_of
from turnlog.transports.websocket.reading import MOST_FRAGMENTS, Broken, Reader, closing


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_is_what_the_library_would_have_written(size):
    text = b"a" * size
    assert frame_of(text) == Frame(Opcode.TEXT, text).serialize(mask=False)
    assert (Parcel(text).text, len(Parcel(text))) == (text, size)


def test_the_reason_of_a_close_frame_is_cut_between_two_characters():
    assert close_frame(1000, "é" * 100)[4:] == ("é" * 61).encode()
    assert close_frame(1009) == Frame(Opcode.CLOSE, Close(1009, "").serialize()).serialize(
        mask=False
    )


@st.composite
def conversations(draw):
    """Messages, and their bytes: in fragments, with pings between them."""
    messages, sent = [], b""
    for message in draw(st.lists(st.text() | st.binary(max_size=70_000), max_size=5)):
        payload = message.encode() if isinstance(message, str) else message
        cuts = sorted(draw(st.lists(st.integers(0, len(payload)), max_size=3)))
        pieces = [payload[a:b] for a, b in zip([0, *cuts], [*cuts, len(payload)], strict=True)]
        opcode = Opcode.TEXT if isinstance(message, str) else Opcode.BINARY
        for at, piece in enumerate(pieces):
            sent += masked(opcode if at == 0 else Opcode.CONT, piece, at == len(pieces) - 1)
            if at < len(pieces) - 1 and draw(st.booleans()):
                messages.append((Opcode.PING, piece[:125]))
                sent += masked(Opcode.PING, piece[:125])
        messages.append((opcode, message))
    return messages, sent


@given(conversations(), st.data())
def test_any_cutting_of_frames_reads_the_same(conversation, data):
    messages, sent = conversation
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=20)))
    reader, read = Reader(MOST), []
    for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        read += reader.feed(sent[a:b])
    assert read == messages


@given(st.binary(max_size=300))
def test_whatever_comes_is_read_or_refused(data):
    try:
        list(Reader(MOST).feed(data))
    except Broken as broken:
        assert broken.code in (1002, 1007, 1009)


@pytest.mark.parametrize(("data", "code"), HOSTILE.values(), ids=HOSTILE)
def test_what_the_protocol_forbids_has_its_code(data, code):
    with pytest.raises(Broken) as broken:
        list(Reader(MOST).feed(data))
    assert broken.value.code == code


def test_a_message_has_so_many_fragments():
    reader, piece = Reader(MOST), masked(Opcode.CONT, b"a", fin=False)
    whole = HALF + piece * (MOST_FRAGMENTS - 2) + masked(Opcode.CONT, b"a")
    for _ in range(2):  # each message has its own
        assert list(reader.feed(whole)) == [(Opcode.TEXT, "a" * MOST_FRAGMENTS)]
    with pytest.raises(Broken) as broken:
        list(reader.feed(HALF + masked(Opcode.CONT, fin=False) * MOST_FRAGMENTS))
    assert broken.value.code == 1009
    assert len(reader._parts) == 1


def test_a_ping_fits_into_a_message_that_is_almost_full():
    reader = Reader(MOST)
    sent = masked(Opcode.BINARY, b"a" * MOST, fin=False) + masked(Opcode.PING, b"b" * 125)
    assert list(reader.feed(sent)) == [(Opcode.PING, b"b" * 125)]


def test_so_many_frames_are_read_and_the_rest_waits():
    reader = Reader(MOST)
    assert len([*reader.feed(masked(Opcode.PING) * 5, 3)]) == 3
    assert reader.is_behind
    assert len([*reader.feed(masked(Opcode.PING), 5)]) == 3
    assert not reader.is_behind
    assert reader.frames == 6


GOODBYES = {b"": 1005, b"\x03\xe8": 1000, b"\x03\xe8bye": 1000, b"\x0f\xa0": 4000}
NO_GOODBYES = {
    b"\x03": 1002,
    b"\x03\xe7": 1002,  # 999
    b"\x03\xed": 1002,  # 1005, which is never sent
    b"\x03\xf7": 1002,  # 1015
    b"\x07\xd0": 1002,  # 2000
    b"\x13\x88": 1002,  # 5000
    b"\x03\xe8\xff": 1007,
}


@pytest.mark.parametrize(("payload", "code"), GOODBYES.items())
def test_a_goodbye_has_its_code(payload, code):
    assert closing(payload) == code


@pytest.mark.parametrize(("payload", "code"), NO_GOODBYES.items())
def test_what_is_no_goodbye_is_refused(payload, code):
    with pytest.raises(Broken) as broken:
        closing(payload)
    assert broken.value.code == code
