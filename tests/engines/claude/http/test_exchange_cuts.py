"""However a response comes, and however it is read, it is the same one, and ends as it should."""

import asyncio
import itertools

from hostile_model import BEGIN, end, text
from hypothesis import given, settings
from hypothesis import strategies as st
from own_ticks import Ticks
from raw_server import HEAD, LAST, LIMIT, chunk

from turnlog.engines.claude.http.exchange import Exchange
from turnlog.engines.claude.http.framing import Broken


class Cut(asyncio.Transport):
    """No socket cuts what it carries where a test wants it to."""

    def get_write_buffer_size(self):
        return 0


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
    for piece, times in zip(pieces, itertools.cycle(rounds), strict=False):
        exchange.data_received(piece)
        for _ in range(times):
            await asyncio.sleep(0)
        if times % 2:
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


@settings(max_examples=150)
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
