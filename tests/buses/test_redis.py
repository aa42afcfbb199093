"""Redis between nodes: what was missed is said, a Cluster is followed, an old one is refused."""

import asyncio
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager

import pytest
import redis.asyncio as redis

from turnlog.buses.nodes import NodesBus
from turnlog.buses.packing import pack
from turnlog.buses.redis.stream import RedisStream
from turnlog.buses.stream import Parcel
from turnlog.errors import ConfigError
from turnlog.events.cursor import BEGINNING, cursor_of
from turnlog.testing import samples as s
from turnlog.testing.servers.proxy import Proxy
from turnlog.testing.servers.shards import Shards
from turnlog.testing.servers.valkey import Valkey
from turnlog.testing.shown_turns import Heard, chunk, deaf, refused, turn, until, waits
from turnlog.transports import wire

KEY = b"turnlog:{s}:live"
slow = pytest.mark.slow


async def recall(session_id, seq):
    raise AssertionError("nothing here is large")


@asynccontextmanager
async def nodes(*urls, on_signal=deaf):
    """A bus for each URL."""
    async with AsyncExitStack() as stack:
        buses = []
        for url in urls:
            buses.append(NodesBus(RedisStream(url), wire.encode, recall))
            await buses[-1].open(on_signal)
            stack.push_async_callback(buses[-1].close)
        yield buses


@contextmanager
def running(server):
    server.start()
    try:
        yield server
    finally:
        server.close()


async def known(condition):
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.02)


async def they_go_on(here, there, last, later):
    """Both nodes are back, and what one shows is seen at the other."""
    await known(lambda: not here.away and not there.away)
    async with aclosing(there.follow("s", cursor_of(last))) as following:
        await waits(following)
        here.publish("s", later)
        assert await until(following, later[-1]) == later


@slow
async def test_who_waits_for_what_another_node_could_not_send_is_told():
    """The wire of one node is cut; the other one notices nothing of it."""
    first, *rest = turn(chunk("a"), s.said("a"), s.broke())
    with running(Valkey()) as valkey:
        async with (
            Proxy([("127.0.0.1", valkey.port)]).serve() as proxy,
            nodes(f"redis://127.0.0.1:{proxy.port}", valkey.url) as (cut, there),
        ):
            following = there.follow("s", BEGINNING)
            cut.publish("s", [first])
            await until(following, first)
            proxy.cut()
            cut.publish("s", rest[:1])  # it is on its way when nobody answers any more
            await known(lambda: cut.away)
            cut.publish("s", rest[1:])
            proxy.heal()
            assert await refused(following)
            await known(lambda: not cut.away)


@slow
async def test_who_lost_the_connection_for_a_moment_is_told():
    """The server is back before anybody has asked: nudges of that moment are gone."""
    shown, later = turn(s.said("a")), turn(s.said("b"), after=1, turn_id="t2")
    with running(Valkey()) as valkey:
        async with nodes(valkey.url, valkey.url) as (here, there):
            following = there.follow("s", BEGINNING)
            here.publish("s", shown)
            await until(following, shown[-1])
            valkey.server.kill()
            valkey.start()
            assert await refused(following)
            await they_go_on(here, there, shown[-1], later)


@slow
async def test_what_is_watched_goes_on_where_its_slot_goes(shards):
    """Before it moves, while its keys are elsewhere already, and after."""
    *shown, last = turn(chunk("a"), s.used("t"), s.result("t"), s.said("Yes."))
    for each in shards.masters:  # others have used them
        shards.ask(each, "FLUSHALL")
    async with nodes(shards.url, shards.url) as (here, there):
        async with aclosing(there.follow("s", BEGINNING)) as following:
            here.publish("s", shown[:2])
            await until(following, shown[1])
            target = next(each for each in shards.masters if each is not shards.owner_of(KEY))
            with shards.moving(KEY, target):
                here.publish("s", shown[2:])
                assert await until(following, shown[-1]) == shown[2:]
            here.publish("s", [last])
            assert await until(following, last) == [last]
        assert shards.owner_of(KEY) is target


async def test_what_a_node_cannot_read_stops_nothing():
    """As in an upgrade: newer nodes say what older ones do not know."""
    shown, later = turn(s.said("a")), turn(s.said("b"), after=1, turn_id="t2")
    heard = Heard()
    with running(Valkey()) as valkey:
        async with nodes(valkey.url, valkey.url, on_signal=heard) as (here, there):
            following = there.follow("s", BEGINNING)
            here.publish("s", shown)
            await until(following, shown[-1])
            async with redis.from_url(valkey.url) as newer:
                for body in (b"nonsense", b'["node","s","sing"]', b"[" * 5000):
                    await newer.publish("turnlog:signals", body)
                await newer.xadd(KEY, {b"other": b""})
                await newer.publish(KEY, b"newer")
            assert await refused(following)
            here.signal("s", "stop")
            assert [await heard.next() for _ in range(2)] == [("s", "stop")] * 2
            await they_go_on(here, there, shown[-1], later)


@slow
async def test_a_replica_that_takes_over_is_found():
    """kill -9 of the master that the session is at, and that the URL names."""
    shown, later = turn(s.said("a")), turn(s.said("b"), after=1, turn_id="t2")
    heard = Heard()
    with running(Shards(3, replicas=3, dead_after=2)) as shards:
        owner = shards.owner_of(KEY)
        async with nodes(owner.url, owner.url, on_signal=heard) as (here, there):
            following = there.follow("s", BEGINNING)
            here.publish("s", shown)
            await until(following, shown[-1])
            owner.server.kill()
            assert await refused(following)
            await they_go_on(here, there, shown[-1], later)
            here.signal("s", "stop")
            assert [await heard.next(), await heard.next()] == [("s", "stop")] * 2


@asynccontextmanager
async def old_redis():
    """What Redis 6.2 answers: no package has one that a test could start."""
    hello = [b"server", b"redis", b"version", b"6.2.14", b"mode", b"standalone"]

    async def answer(reader, writer):
        while head := await reader.readline():
            words = []
            for _ in range(int(head[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            if words[0] == b"HELLO":
                fields = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in hello)
                writer.write(b"*%d\r\n%s" % (len(hello), fields))
            else:
                writer.write(b"-ERR unknown command\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_server_that_is_too_old_is_refused_with_a_sentence():
    async with old_redis() as url:
        bus = NodesBus(RedisStream(url), wire.encode, recall)
        with pytest.raises(ConfigError, match=r"Redis 6\.2\.14: it needs Redis 7 or Valkey 8"):
            await bus.open(deaf)


@slow
async def test_a_node_is_not_nudged_by_itself():
    """The other one is: what it has read shows that the nudges of both went out."""
    shown = turn(chunk("a"), s.said("a"))
    nudged = {"here": [], "there": []}
    with running(Valkey()) as valkey:
        streams = {name: RedisStream(valkey.url) for name in nudged}
        for name, stream in streams.items():
            await stream.open(nudged[name].append, lambda _: None, lambda: None)
            await stream.watch("s")
        try:
            await streams["here"].add([Parcel("s", pack("here", shown), begins=True)])
            await streams["there"].add([Parcel("s", pack("there", shown), begins=True)])
            await known(lambda: all(nudged.values()))
        finally:
            for stream in streams.values():
                await stream.close()
    assert nudged == {"here": ["s"], "there": ["s"]}


@slow
async def test_no_stream_stays_for_ever():
    """Also where the server came back empty, and it was said before how long the stream stays."""
    first, *rest = turn(chunk("a"), s.said("a"))
    with running(Valkey()) as valkey:
        async with nodes(valkey.url) as (bus,):
            bus.publish("s", [first])
            await it_will_go(valkey)
            valkey.server.kill()
            await known(lambda: bus.away)
            valkey.start()
            await known(lambda: not bus.away)
            bus.publish("s", rest)
            await it_will_go(valkey)


async def it_will_go(valkey):
    """The stream is there, and the server knows when to forget it."""
    async with redis.from_url(valkey.url) as client, asyncio.timeout(120):
        while await client.ttl(KEY) < 0:
            await asyncio.sleep(0.02)
