"""However a response comes, and however it is read, it is the same one, and ends as it should."""

import asyncio
import itertools

import pytest
from examples import times
from hostile_model import BEGIN, end, frame, text
from hypothesis import given
from hypothesis import strategies as st
from own_ticks import Ticks
from raw_server import HEAD, LAST, LIMIT, chunk

from turnlog.engines.claude.http.exchange import Exchange
from turnlog.engines.claude.http.framing import Broken


class Cut(asyncio.Transport):
    """No socket cuts what it carries where a test wants it to."""

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return False


class Owner:
    def __init__(self):
        self.kept = []

    def take_back(self, exchange, *, is_kept):
        self.kept.append(is_kept)


async def received(pieces, habits, rounds):
    """What somebody makes of these pieces who now reads, now lets them pile up; between two of
    them the loop makes so many rounds. Its content, whether it is whole, and what the owner got."""
    owner, ticks, content = Owner(), Ticks(), []
    exchange = Exchange(Cut(), owner)

    async def read():
        await exchange.head()
        for habit in itertools.cycle(habits):
            if habit == "reads":
                if not (piece := await exchange.read()):
                    return
                content.append(piece)
            else:
                more = itertools.chain([True] * len(habits), itertools.repeat(False))
                await exchange.pile_up(ticks, lambda piece, more=more: take(piece, more))

    def take(piece, more):
        content.append(piece)
        return next(more)

    reading = asyncio.create_task(read())
    for piece, ticked in zip(pieces, itertools.cycle(rounds), strict=False):
        exchange.data_received(piece)
        for _ in range(ticked):
            await asyncio.sleep(0)
        if ticked % 2:
            ticks.tick()
    exchange.connection_lost(None)
    async with asyncio.timeout(LIMIT):
        error = (await asyncio.gather(reading, return_exceptions=True))[0]
    assert error is None or isinstance(error, Broken | OSError), error
    return b"".join(content), error is None, owner.kept


BODIES = {
    "in chunks": HEAD + chunk(BEGIN) + chunk(text("a")) + chunk(text("b") + end()) + LAST,
    "of a size": b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BEGIN + text("a"))
    + BEGIN + text("a"),
    "until the end": b"HTTP/1.1 200 OK\r\n\r\n" + BEGIN + text("a") + end(),
}  # fmt: skip
WHOLE = {
    "in chunks": BEGIN + text("a") + text("b") + end(),
    "of a size": BEGIN + text("a"),
    "until the end": BEGIN + text("a") + end(),
}
HABITS = st.lists(st.sampled_from(["reads", "piles up"]), max_size=4).map(
    lambda all: [*all, "reads"]
)
ROUNDS = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@times(2)
@given(
    kind=st.sampled_from([*BODIES]),
    lost=st.sampled_from([0, 0, 1, 2, 3, 40]),
    more=st.sampled_from([b"", b"", b"more"]),
    habits=HABITS,
    rounds=ROUNDS,
    data=st.data(),
)
def test_a_response_is_the_same_however_it_comes_and_however_it_is_read(
    kind, lost, more, habits, rounds, data
):
    stream = BODIES[kind][: len(BODIES[kind]) - lost]
    stream += b"" if lost else more
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    places = sorted({0, len(stream), *places})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    content, is_whole, kept = asyncio.run(received(pieces, habits, rounds))
    if kind == "until the end":
        assert (content, is_whole) == (stream.partition(b"\r\n\r\n")[2], True)
    else:
        assert WHOLE[kind].startswith(content)
        assert (content == WHOLE[kind] and is_whole) == (lost == 0)
        assert is_whole == (lost == 0)
    assert len(kept) == 1
    assert not (kept[0] and (lost or more or kind == "until the end"))


ENDS = {
    "end": chunk(text("a")) + chunk(end()),
    "end in one chunk": chunk(text("a") + end()),
    "error": chunk(text("a")) + chunk(frame("error", error={"message": "event: no"})),
    "last chunk": chunk(text("a")) + LAST,
    "trailer": chunk(text("a")) + b"0\r\nname: value\r\n\r\n",
}


@pytest.mark.parametrize("stream", ENDS.values(), ids=ENDS)
async def test_what_ends_an_answer_does_not_wait_wherever_it_is_cut(stream):
    for place in range(1, len(stream)):
        exchange, piling = await piled_up()
        exchange.data_received(stream[:place])
        exchange.data_received(stream[place:])
        assert exchange._pieces == []  # all was taken, and there was no tick
        await stopped(piling)


@pytest.mark.parametrize("word", ["message_stop", "event: error", "event: message_stop", "\n\n"])
async def test_text_that_only_looks_like_an_end_waits(word):
    exchange, piling = await piled_up()
    exchange.data_received(piece := chunk(text(word)))
    exchange.data_received(more := chunk(text("a") + text("b")))
    assert exchange._pieces == [piece, more]
    await stopped(piling)


async def piled_up():
    """An exchange whose text waits for a tick that does not come, and who waits for it."""
    exchange = Exchange(Cut(), Owner())
    exchange.data_received(HEAD)
    await exchange.head()
    piling = asyncio.create_task(exchange.pile_up(Ticks(), lambda piece: True))
    await asyncio.sleep(0)
    return exchange, piling


async def stopped(piling):
    piling.cancel()
    await asyncio.wait([piling])
