"""Many Socket.IO clients in one process: they join, ask, watch, and compare with the log.

    python -m bench.watchers SERVER CLAUDE SOCKETS SESSIONS

Prints one JSON object, a `Seen`. They speak the protocol themselves: a client library would
cost more than the server that is measured.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import aiohttp
import uvicorn

from bench.clocked_claude import sent_at
from turnlog.projections.transcript import Shown
from turnlog.testing import invariants

LONGEST = 120.0  # seconds, after which whatever is missing is missing
EVENT = '42["agent:event",'
ASK = {"model": "m", "max_tokens": 9, "stream": True, "messages": []}
Lags = list[float]


@dataclass(kw_only=True)
class Seen:
    """What the watchers saw. Lags are seconds from Claude's write to the client's read."""

    events: int = 0
    broken: list[str] = field(default_factory=list)
    lags: Lags = field(default_factory=list)  # while every session streamed
    all_lags: Lags = field(default_factory=list)  # and while they began and ended
    bare_lags: Lags = field(default_factory=list)  # the same streams, read without turnlog
    cpu: float = 0.0  # seconds of the server's
    seconds: float = 0.0
    megabytes: float = 0.0  # of the server, at the end


@dataclass
class Watcher:
    """One socket in one session, and what it got when."""

    line: aiohttp.ClientWebSocketResponse
    session_id: str
    packets: list[tuple[float, str]] = field(default_factory=list)

    async def join(self) -> None:
        await self.line.receive_str()
        await self.line.send_str("40")
        await self.line.receive_str()
        await self._emit(0, "session:join", sessionId=self.session_id)
        while '"session_start"' not in await self.line.receive_str():
            pass

    async def ask(self) -> None:
        await self._emit(1, "chat:message", sessionId=self.session_id, message="Go on, please.")

    async def watch(self) -> None:
        """Until the turn is over."""
        while True:
            packet = await self.line.receive_str()
            if packet == "2":
                await self.line.send_str("3")
            elif packet.startswith(EVENT):
                self.packets.append((time.time(), packet))
                if packet.startswith(('{"type":"complete"', '{"type":"error"'), len(EVENT)):
                    return

    def events(self) -> list[tuple[float, Shown]]:
        return [(at, json.loads(packet[2:])[1]) for at, packet in self.packets]

    async def _emit(self, number: int, event: str, **payload: str) -> None:
        await self.line.send_str(f"42{number}{json.dumps([event, payload])}")


async def watch(server: str, claude: str, sockets: int, sessions: int) -> Seen:
    seen = Seen()
    connections = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connections) as http, asyncio.timeout(LONGEST):
        bare = await asyncio.gather(*(_bare_lags(http, claude) for _ in range(sessions)))
        seen.bare_lags = _while_all(bare)
        await _warm_up(http, server)
        ids = [await new_session(http, server) for _ in range(sessions)]
        watchers = [await joined(http, server, ids[n % sessions]) for n in range(sockets)]
        cpu, begun = (await _numbers(http, server))["process_cpu_seconds_total"], time.time()
        watching = asyncio.gather(*(one.watch() for one in watchers))
        await asyncio.gather(*(one.ask() for one in watchers[:sessions]))
        await watching
        numbers, seen.seconds = await _numbers(http, server), time.time() - begun
        seen.cpu = numbers["process_cpu_seconds_total"] - cpu
        seen.megabytes = numbers["process_resident_memory_bytes"] / 1e6
        logs = {one: await _log(http, server, one) for one in ids}
        for one in watchers:
            await one.line.close()
    _judge(seen, watchers, logs)
    return seen


async def _warm_up(http: aiohttp.ClientSession, server: str) -> None:
    """The first turn of a process is not like the others."""
    first = await joined(http, server, await new_session(http, server))
    await first.ask()
    await first.watch()
    await first.line.close()


def _judge(seen: Seen, watchers: Sequence[Watcher], logs: dict[str, list[Shown]]) -> None:
    """Compare what each one saw with the log, and read the lags out of the pieces."""
    streams = []
    for one in watchers:
        events = one.events()
        seen.events += len(events)
        seen.broken += invariants.broken([event for _, event in events], logs[one.session_id])
        streams.append(_pieces(events))
    seen.all_lags = [at - sent for pieces in streams for sent, at in pieces]
    seen.lags = _while_all(streams)


Pieces = list[tuple[float, float]]  # when it was sent, and when it arrived


def _pieces(events: Sequence[tuple[float, Shown]]) -> Pieces:
    chunks = [(at, event) for at, event in events if event["type"] == "message_chunk"]
    return [(sent, at) for at, event in chunks for sent in sent_at(event["content"])]


def _while_all(streams: Sequence[Pieces]) -> Lags:
    """The lags of what was sent while every stream ran."""
    first, last = max(s[0][0] for s in streams), min(s[-1][0] for s in streams)
    return [at - sent for pieces in streams for sent, at in pieces if first <= sent <= last]


async def _bare_lags(http: aiohttp.ClientSession, claude: str) -> Pieces:
    pieces: Pieces = []
    async with http.post(f"{claude}/v1/messages", json=ASK) as response:
        async for read in response.content.iter_any():
            at = time.time()
            texts = re.findall(rb'"text_delta","text":"(\d+)"', read)
            pieces += [(sent, at) for text in texts for sent in sent_at(text.decode())]
    return pieces


async def joined(http: aiohttp.ClientSession, server: str, session_id: str) -> Watcher:
    url = f"{server}/socket.io/?EIO=4&transport=websocket"
    # Browsers offer to be compressed for, too.
    line = await http.ws_connect(url, compress=15, max_msg_size=0)
    watcher = Watcher(line, session_id)
    await watcher.join()
    return watcher


async def new_session(http: aiohttp.ClientSession, server: str) -> str:
    async with http.post(f"{server}/api/sessions") as response:
        return str((await response.json())["id"])


async def _log(http: aiohttp.ClientSession, server: str, session_id: str) -> list[Shown]:
    url = f"{server}/api/sessions/{session_id}/messages?limit=1000"
    async with http.get(url) as response:
        events: list[Shown] = (await response.json())["events"]
        return events


async def _numbers(http: aiohttp.ClientSession, server: str) -> dict[str, float]:
    async with http.get(f"{server}/metrics") as response:
        values = re.findall(r"^(\w+) (\S+)$", await response.text(), re.MULTILINE)
        return {name: float(value) for name, value in values}


if __name__ == "__main__":
    loop_factory = uvicorn.Config("turnlog").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        saw = runner.run(watch(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    sys.stdout.write(json.dumps(asdict(saw)))
