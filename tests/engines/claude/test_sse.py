"""A broken stream is refused, wherever it is cut and whatever stands beside what is broken."""

import json
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.engines.claude import sse
from turnlog.engines.claude.sse import SseSplitter


def one_piece(text):
    delta = {"type": "text_delta", "text": text}
    return json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}).encode()


ONE, OTHER, STOP = one_piece("a"), one_piece("b"), b'{"type": "content_block_stop", "index": 0}'
BODIES = [ONE, ONE, OTHER, STOP, ONE + OTHER, STOP + ONE, ONE + b" ", b" " + ONE, b"",
          *(body[at] for body in (ONE, STOP)
            for at in (slice(0, 30), slice(30, None))),
          ONE[: ONE.index(b', "delta')], ONE[ONE.index(b'{"type": "text'):],
          ONE[: ONE.index(b'{"type": "text')]]  # fmt: skip
WILD = st.tuples(
    st.sampled_from([b"event: content_block_delta\n", b"event: content_block_start\n", b""]),
    st.sampled_from(BODIES),
).map(lambda parts: b"%bdata: %b\n\n" % parts)


def taken(stream, cuts, *, joins):
    """What is said until something is refused, and whether something was."""
    splitter, kept = SseSplitter(joins=joins), []
    try:
        for a, b in pairwise([0, *sorted(cuts), len(stream)]):
            for raw in splitter.feed(stream[a:b]):
                is_piece = raw["type"] == "content_block_delta"
                if is_piece and kept and isinstance(kept[-1], str):
                    kept[-1] += raw["delta"]["text"]
                else:
                    kept.append(raw["delta"]["text"] if is_piece else raw)
    except ValueError:
        return kept, True
    return kept, False


@settings(deadline=None)
@given(frames=st.lists(WILD, max_size=6), data=st.data())
def test_what_is_refused_does_not_depend_on_where_a_stream_is_cut(frames, data):
    stream = b"".join(frames)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=4))
    with mock.patch.object(sse, "FEW", 0):
        ways = [
            taken(stream, places, joins=joins)
            for places in ((), cuts, range(len(stream)))
            for joins in (True, False)
        ]
    assert ways == [ways[0]] * 6


@pytest.mark.parametrize("is_piece", [True, False])
def test_two_values_on_a_line_do_not_make_up_for_one_on_two_lines(is_piece):
    event, body = (b"content_block_delta", ONE) if is_piece else (b"content_block_start", STOP)
    half = ONE.index(b'{"type": "text')
    lines = [body + ONE, ONE[:half], ONE[half:]]
    stream = b"".join(b"event: %b\ndata: %b\n\n" % (event, line) for line in lines)
    assert taken(stream, (), joins=True) == ([], True)
