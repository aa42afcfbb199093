"""The bus in memory: its contract, its bounds, and what a watcher who is slow or silent costs."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from functools import partial

import msgspec
import pytest
import redis.asyncio as redis
from redis_servers import REDIS_SERVERS

from turnlog.buses import channels
from turnlog.buses.memory import MemoryBus
from turnlog.buses.nodes import NodesBus
from turnlog.buses.packing import pack
from turnlog.buses.postgres.stream import PostgresStream
from turnlog.buses.redis.stream import RedisStream
from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.cursor import BEGINNING, Cursor, cursor_of
from turnlog.testing import samples as s
from turnlog.testing.contracts import BusContract
from turnlog.testing.contracts.bus import SMALL
from turnlog.testing.shown_turns import WHOLE, chunk, deaf, refused, turn, until
from turnlog.transports import sse, wire


async def opened_bus(**bounds):
    bus = MemoryBus(wire.encode, **bounds)
    await bus.open(deaf)
    return bus


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def connected(self):
        buses = []

        async def connect(on_signal):
            buses.append(MemoryBus(wire.encode, beside=buses[0] if buses else None))
            await buses[-1].open(on_signal)
            return buses[-1]

        yield connect
        for bus in buses:
            await bus.close()

    @pytest.fixture
    async def small_bus(self):
        bus = await opened_bus(most_bytes=SMALL)
        yield bus
        await bus.close()


async def recall(session_id, seq):
    raise AssertionError("nothing here is large")


class NodesContract(BusContract):
    """The contract for a bus between nodes: give it a `stream` fixture that makes streams."""

    @pytest.fixture
    async def connected(self, stream):
        async with AsyncExitStack() as stack:

            async def connect(on_signal, **bounds):
                bus = NodesBus(stream(), wire.encode, recall, **bounds)
                await bus.open(on_signal)
                stack.push_async_callback(bus.close)
                async with asyncio.timeout(60):
                    while bus.away is not None:  # the server was slow: it is found again
                        await asyncio.sleep(0.01)
                return bus

            yield connect

    @pytest.fixture
    async def small_bus(self, connected):
        return await connected(deaf, most_bytes=SMALL)

    async def test_a_node_that_reads_late_sees_an_end_and_the_next_turn(self, connected):
        here, there = await connected(deaf), await connected(deaf)
        (asked, *rest), second = turn(*WHOLE, s.broke()), turn(s.broke(), after=4, turn_id="t2")
        async with aclosing(there.follow("s", BEGINNING)) as following:
            here.publish("s", [asked])
            await until(following, asked)
            async with there._reading:  # nothing is read meanwhile
                for shown in (rest, second):
                    here.publish("s", shown)
                    await here._sent()
            assert await until(following, second[-1]) == [*rest, *second]

    @pytest.mark.parametrize("lost", [0, 2])
    async def test_a_node_that_goes_on_with_a_turn_passes_over_nothing(self, connected, lost):
        """The node before it died: what it had stored last, it may not have shown."""
        here, there = await connected(deaf), await connected(deaf)
        shown = turn(*WHOLE)
        async with aclosing(there.follow("s", BEGINNING)) as following:
            here.publish("s", shown[:2])
            await until(following, shown[1])
            rest = shown[2 + lost :]
            for entry in rest:
                there.publish("s", [entry])
            assert await refused(following) if lost else await until(following, rest[-1]) == rest

    async def test_how_a_turn_is_healed_is_seen_though_more_was_shown_than_saved(self, connected):
        died, heals, there = [await connected(deaf) for _ in range(3)]
        shown, healed = turn(*map(chunk, "abc")), turn(chunk("a"), s.said("a"), s.broke())
        async with aclosing(there.follow("s", BEGINNING)) as following:
            died.publish("s", shown[:2])
            died.publish("s", shown[2:])
            await until(following, shown[-1])
            heals.publish("s", healed[2:])
            assert await until(following, healed[-1]) == healed[2:]

    async def test_the_next_turn_at_another_node_is_followed_there_from_its_beginning(
        self, connected
    ):
        """That node reads the stream late: the turn before stands in it."""
        here, there = await connected(deaf), await connected(deaf)
        first, second = turn(*WHOLE, s.broke()), turn(*WHOLE, s.broke(), after=4, turn_id="t2")
        here.publish("s", first)
        await here._sent()
        there.publish("s", second[:1])
        async with aclosing(there.follow("s", cursor_of(first[-1]))) as following:
            await until(following, second[0])
            there.publish("s", second[1:])
            assert await until(following, second[-1]) == second[1:]

    async def test_a_turn_that_comes_back_to_a_node_passes_over_nothing(self, connected):
        """It waited for a person twice, and went on at another node in between."""
        here, there = await connected(deaf), await connected(deaf)
        shown = turn(*WHOLE)
        for node, part in ((here, shown[:2]), (there, shown[2:4]), (here, shown[4:])):
            node.publish("s", part)
            node.publish("s", [])  # nobody works on it there
            await node._sent()
        assert await refused(here.follow("s", cursor_of(shown[2])))
        async with aclosing(here.follow("s", cursor_of(shown[3]))) as following:
            assert await until(following, shown[-1]) == shown[4:]


@pytest.mark.slow
@pytest.mark.parametrize("servers", REDIS_SERVERS)
class TestRedisBus(NodesContract):
    @pytest.fixture
    async def stream(self, servers, request):
        server = request.getfixturevalue(servers)
        for each in getattr(server, "masters", [server]):
            async with redis.from_url(each.url) as client:
                await client.flushall()
        return partial(RedisStream, server.url)


@pytest.mark.slow
class TestPostgresBus(NodesContract):
    @pytest.fixture
    async def stream(self, database):
        return partial(PostgresStream, database)


async def test_one_who_reads_nothing_costs_nothing_and_slows_nobody():
    """Twenty thousand chunks: they are held once, whoever watches, and wait as one."""
    bus = await opened_bus()
    lazy = [bus.follow("s", BEGINNING) for _ in range(3)]
    first, *chunks = turn(*(chunk(f"{n} ") for n in range(20_000)))
    bus.publish("s", [first])
    for following in lazy:
        await until(following, first)
    async with aclosing(bus.follow("s", BEGINNING)) as keen:
        await until(keen, first)
        for entry in chunks:
            bus.publish("s", [entry])
        assert len(bus.channels["s"].events) == 20_001
        (whole,) = await until(keen, chunks[-1])
    for following in lazy:
        assert await until(following, chunks[-1]) == [whole]
        await following.aclose()
    assert whole.event.content == "".join(entry.event.content for entry in chunks)
    assert bus.channels["s"].watchers == 0
    await bus.close()


async def test_idle_sessions_are_forgotten_and_others_are_not(monkeypatch):
    monkeypatch.setattr(channels, "MOST_CHANNELS", 2)
    bus = await opened_bus()
    running, over = turn(chunk("a")), turn(s.broke())
    async with aclosing(bus.follow("watched", BEGINNING)) as following:
        bus.publish("watched", over)
        await until(following, over[-1])
        bus.publish("running", running)
        for name in "abcd":
            bus.publish(name, over)
        assert list(bus.channels) == ["watched", "running", "c", "d"]
    assert await refused(bus.follow("running", Cursor(-2, 0)))
    await bus.close()


async def test_one_who_begins_to_read_late_is_not_left_on_a_forgotten_channel(monkeypatch):
    monkeypatch.setattr(channels, "MOST_CHANNELS", 0)
    bus, shown = await opened_bus(), turn(s.said("Yes."))
    late = bus.follow("s", BEGINNING)
    bus.publish("other", turn(s.broke()))  # it makes the bus forget what is idle
    bus.publish("s", shown)
    assert await until(late, shown[-1]) == shown
    await late.aclose()
    await bus.close()


async def test_channels_remember_so_many_bytes_and_no_more():
    """Also with turns that do not end, of clients that watch and read nothing."""
    bus = await opened_bus(most_bytes=100_000)
    lazy = {n: bus.follow(str(n), BEGINNING) for n in range(100)}
    for n, following in lazy.items():
        shown = turn(*(chunk(f"{i} ", block=i % 2) for i in range(20)))
        bus.publish(str(n), shown[:1])
        await until(following, shown[0])
        for entry in shown[1:]:
            bus.publish(str(n), [entry])
            assert bus.channels.size <= 100_000
    assert bus.channels.size == sum(channel.size for channel in bus.channels.values())
    assert await refused(lazy[0])
    for following in lazy.values():
        await following.aclose()
    await bus.close()


async def test_channels_of_turns_that_were_forgotten_go_when_they_are_over(monkeypatch):
    monkeypatch.setattr(channels, "MOST_CHANNELS", 2)
    bus = await opened_bus(most_bytes=5_000)
    for n in range(20):
        *shown, last = turn(*(chunk("x" * 1000) for _ in range(5)), s.broke())
        for entry in shown:
            bus.publish(str(n), [entry])
        bus.publish(str(n), [last])
    assert len(bus.channels) <= 3
    await bus.close()


@pytest.mark.parametrize("over", [False, True])
def test_what_a_process_shows_that_has_lost_the_turn_is_stale(over):
    there = channels.Channels(wire.encode, SMALL)
    *begun, end = turn(chunk("a"), chunk("b"), s.broke())
    there.add("s", begun)
    if over:
        there.add("s", [end])
    stale = [entry for entry in begun[1:] if there["s"].is_stale(entry)]
    assert stale == begun[1:]  # of a zombie, or read once more
    assert there["s"].is_stale(end) is over


def test_an_earlier_turn_is_stale_and_a_remark_on_it_is_not():
    there, earlier = channels.Channels(wire.encode, SMALL), turn(chunk("a"), s.broke())
    there.add("s", turn(chunk("b"), after=1, turn_id="t2"))
    assert all(there["s"].is_stale(entry) for entry in earlier)
    remark = msgspec.structs.replace(earlier[-1].envelope, index=None)
    assert not there["s"].is_stale(msgspec.structs.replace(earlier[-1], envelope=remark))


class OneParcel:
    """A stream that has one parcel for whoever reads it first."""

    def __init__(self, body):
        self.body = [body]

    async def open(self, on_nudge, *_):
        self.nudge = on_nudge

    async def watch(self, session_id):
        pass

    async def read(self, after):
        bodies, self.body = self.body, []
        return {"s": [(f"{n}", body) for n, body in enumerate(bodies)]}

    async def unwatch(self, session_id):
        pass

    async def close(self):
        pass


async def test_what_cannot_be_read_of_another_node_ends_no_reading():
    """Of a newer version, or too large and in a log that does not answer."""
    stream = OneParcel(pack("other", turn(chunk("a"))))
    bus = NodesBus(stream, wire.encode, recall)
    await bus.open(deaf)
    async with aclosing(bus.follow("s", BEGINNING)) as batches:
        await anext(batches)
        stream.body = [b"not a parcel"]
        stream.nudge("s")
        async with asyncio.timeout(60):
            while await anext(batches) is not None:  # it is told to reload
                pass
    stream.body = [pack("other", turn(chunk("b"), after=9, turn_id="t2"))]
    async with aclosing(bus.follow("s", Cursor(9, 0))) as batches:
        (first, *_) = await anext(batches)
        assert first.entry.turn_id == "t2"
    await bus.close()


async def test_a_silent_stream_says_that_it_is_alive():
    bus, shown = await opened_bus(heartbeat=0), turn(s.said("Yes."))
    async with aclosing(bus.follow("s", BEGINNING)) as following:
        assert [sse.frames(await anext(following)) for _ in "abc"] == [sse.ALIVE] * 3
        bus.publish("s", shown)
        assert await until(following, shown[-1]) == shown
    assert bus.channels["s"].watchers == 0
    await bus.close()


async def test_one_who_lacks_the_answer_is_not_given_its_end_alone():
    bus = await opened_bus()
    end = k.Complete(
        reason="success", stop_reason="end_turn", token_usage=TokenUsage(), model="", tools_used=[]
    )
    (placed,) = s.placed(end, first_index=2)
    entry = Stamped(session_id="s", turn_id="t", envelope=placed, seq=None, position=1)
    bus.publish("s", [entry])  # the answer is number 1, and was shown by another process
    assert await anext(bus.follow("s", Cursor(0, 0))) is None
    assert await anext(bus.follow("s", Cursor(1, 1)))
    await bus.close()


async def test_many_watched_sessions_are_not_looked_at_for_each_new_one(monkeypatch):
    monkeypatch.setattr(channels, "MOST_CHANNELS", 10)
    looks = 0

    class Watched(channels.Channel):
        @property
        def idle(self):
            nonlocal looks
            looks += 1
            return False

    monkeypatch.setattr(channels, "Channel", Watched)
    house = channels.Channels(wire.encode, 1_000_000)
    for number in range(2000):
        assert house[f"s{number}"]
    assert looks < 2000 * 30  # not two million
