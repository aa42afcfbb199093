"""A bus of many nodes: what a turn shows here is seen by those who watch on other nodes.

Each node has channels of its own, as in one process. What is published goes to them at once,
and into a stream between the nodes. A node reads the streams of those sessions only that
somebody watches there.

The server between the nodes may go away. Then turns of this node are still seen on it, and
whoever watches a turn of another node is told to reload, and follows the log until it is back.
It may be away for one node alone. What that one could not send, it says when it is back: whoever
watches those sessions at other nodes reloads.
"""

import asyncio
import logging
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from turnlog.buses.memory import HEARTBEAT, MOST_BYTES, MemoryBus
from turnlog.buses.packing import Reference, pack, pack_signal, unpack, unpack_signal
from turnlog.buses.stream import Away, Parcel, Stream, Unfit, end
from turnlog.errors import ConfigError
from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor
from turnlog.events.kinds import ENDINGS, UserMessageSent
from turnlog.ports import Batches, Encode, OnSignal, Signal, Watcher

_log = logging.getLogger(__name__)
Recall = Callable[[str, int], Awaitable[Stamped]]  # the entry of a session with this number
MOST_WAITING = 10_000  # parcels that wait to be sent; where more do, the server is away
MOST_KNOWN = 10 * MOST_WAITING  # sessions that a node keeps in mind
AT_ONCE = 500  # parcels that are sent in one go
NOBODY = ""  # in the place of a node: something of the session was not sent
TRIES_EVERY = 1.0  # seconds, while the server is away


class NodesBus:
    """A Bus for many nodes, over a Stream."""

    shared = True

    def __init__(
        self,
        stream: Stream,
        encode: Encode,
        recall: Recall,
        *,
        heartbeat: float = HEARTBEAT,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._stream = stream
        self._here = MemoryBus(encode, heartbeat=heartbeat, most_bytes=most_bytes)
        self._recall = recall
        self._me = uuid.uuid4().hex
        self._waiting: deque[Parcel] = deque()
        self._signals: deque[bytes] = deque()
        self._something = asyncio.Event()  # to send
        self._dirty: set[str] = set()  # sessions whose stream has more
        self._nudged = asyncio.Event()
        self._reading = asyncio.Lock()
        self._watchers: Counter[str] = Counter()
        self._filling: dict[str, asyncio.Task[None]] = {}
        self._read_up_to: dict[str, str] = {}
        self._unsent: dict[str, None] = {}  # sessions of which others have not seen everything
        self._running: dict[str, str] = {}  # sessions whose turn is shown by this node
        self._tasks: list[asyncio.Task[None]] = []
        self._on_signal: OnSignal = _deaf
        self._sending: set[asyncio.Task[None]] = set()
        self._lost = asyncio.Event()
        self.away: str | None = None  # in a word, what does not answer

    # its life

    async def open(self, on_signal: OnSignal) -> None:
        self._on_signal = on_signal
        await self._here.open(on_signal)
        try:
            await self._stream.open(self._nudge, self._hear, self._lost.set)
        except Unfit as error:
            raise ConfigError(str(error)) from None
        except Away as error:
            self._go_away(error)
        self._tasks = [
            asyncio.create_task(work(), name=work.__name__)
            for work in (self._send, self._read, self._come_back)
        ]

    async def close(self) -> None:
        if self.away is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self._sent()
        await end([*self._tasks, *self._sending, *self._filling.values()])
        self._tasks = []
        await self._here.close()
        with suppress(Away):
            await self._stream.close()

    # the port

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None:
        if batch and self._running.get(session_id) != batch[0].turn_id:
            self._here.channels.look_for_gap(session_id, batch)
        self._here.publish(session_id, batch)
        self._note(session_id, batch)
        if self.away is not None:
            self._note_unsent([session_id])
        else:
            begins = any(type(entry.event) is UserMessageSent for entry in batch)
            self._waiting.append(Parcel(session_id, pack(self._me, batch), begins))
            self._something.set()
            if len(self._waiting) > MOST_WAITING:
                self._go_away(Away("too much waits to be sent"))

    async def follow(
        self, session_id: str, after: Cursor, watcher: Watcher | None = None
    ) -> Batches:
        await self._watch(session_id)
        try:
            if self.away is not None and session_id not in self._running:
                yield None
                return
            batches = self._here.follow(session_id, after, watcher)
            try:
                async for batch in batches:
                    yield batch
            finally:
                await batches.aclose()
        finally:
            self._unwatch(session_id)

    def signal(self, session_id: str, signal: Signal) -> None:
        self._on_signal(session_id, signal)
        if self.away is None:
            self._signals.append(pack_signal(self._me, session_id, signal))
            self._something.set()

    # watching

    async def _watch(self, session_id: str) -> None:
        """Returns when the channel has all that the stream has."""
        self._watchers[session_id] += 1
        if session_id not in self._filling and self.away is None:
            self._filling[session_id] = asyncio.create_task(self._fill(session_id))
        if session_id in self._filling:
            await asyncio.wait([self._filling[session_id]])

    def _unwatch(self, session_id: str) -> None:
        self._watchers[session_id] -= 1
        if not self._watchers[session_id]:
            del self._watchers[session_id]
            if filling := self._filling.pop(session_id, None):
                filling.cancel()
            if self.away is None:
                task = asyncio.create_task(self._leave(session_id))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _fill(self, session_id: str) -> None:
        try:
            await self._stream.watch(session_id)
            await self._refresh([session_id])
        except Away as error:
            self._go_away(error)

    async def _leave(self, session_id: str) -> None:
        with suppress(Away):
            if session_id not in self._watchers:
                await self._stream.unwatch(session_id)

    # reading

    def _nudge(self, session_id: str) -> None:
        if session_id in self._watchers:
            self._dirty.add(session_id)
            self._nudged.set()

    async def _read(self) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            dirty, self._dirty = self._dirty, set()
            try:
                await self._refresh([name for name in dirty if name in self._watchers])
            except Away as error:
                self._go_away(error)

    async def _refresh(self, session_ids: Sequence[str]) -> None:
        if not session_ids:
            return
        async with self._reading:  # one reader, or a batch would be shown twice
            after = {name: self._read_up_to.get(name, "") for name in session_ids}
            for session_id, parcels in (await self._stream.read(after)).items():
                for place, body in parcels:
                    await self._show(session_id, body)
                    self._read_up_to[session_id] = place
        _bound(self._read_up_to)

    async def _show(self, session_id: str, body: bytes) -> None:
        try:
            node, batch = unpack(session_id, body)
            if node == self._me:
                return
            if node == NOBODY:
                self._lose(session_id)
                return
            entries = [
                await self._recall(session_id, entry.seq) if isinstance(entry, Reference) else entry
                for entry in batch
            ]
        except Exception:  # the store is away, or a newer node shows what this one cannot read
            _log.exception("an event of another node could not be shown")
            self._here.channels.lose(session_id)
            return
        channels = self._here.channels
        entries = [entry for entry in entries if not channels[session_id].is_stale(entry)]
        if entries:
            self._running.pop(session_id, None)
        channels.look_for_gap(session_id, entries)
        channels.add(session_id, entries)

    # sending

    def _note(self, session_id: str, batch: Sequence[Stamped]) -> None:
        if not batch or type(batch[-1].event) in ENDINGS:
            self._running.pop(session_id, None)  # also one that waits: any node may go on with it
        elif not batch[-1].envelope.internal:
            self._running[session_id] = batch[-1].turn_id

    async def _send(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            await self._sent()

    async def _sent(self) -> None:
        parcels: list[Parcel] = []
        try:
            while self._waiting or self._signals:
                if self._waiting:
                    count = min(AT_ONCE, len(self._waiting))
                    parcels = [self._waiting.popleft() for _ in range(count)]
                    await self._stream.add(parcels)
                    parcels = []
                while self._signals:
                    await self._stream.signal(self._signals.popleft())
        except Away as error:
            self._note_unsent(parcel.session_id for parcel in parcels)
            self._go_away(error)

    def _note_unsent(self, session_ids: Iterable[str]) -> None:
        self._unsent.update(dict.fromkeys(session_ids))
        _bound(self._unsent)

    async def _tell_unsent(self) -> None:
        """Those who watch these sessions elsewhere may wait for what was never sent."""
        while self._unsent:
            session_ids = list(islice(self._unsent, AT_ONCE))
            parcels = [Parcel(name, pack(NOBODY, []), False) for name in session_ids]
            for name in session_ids:
                del self._unsent[name]
            try:
                await self._stream.add(parcels)
            except Away:
                self._note_unsent(session_ids)
                raise

    def _hear(self, body: bytes) -> None:
        try:
            node, session_id, signal = unpack_signal(body)
        except (ValueError, RecursionError):  # a newer node says what this one does not know
            _log.warning("a signal of another node could not be read")
            return
        if node != self._me:
            self._on_signal(session_id, signal)

    # away, and back

    def _go_away(self, error: Away) -> None:
        if self.away is None:
            _log.warning("live events of other nodes do not come: %s", error)
            self.away = str(error)
            self._note_unsent(parcel.session_id for parcel in self._waiting)
            self._waiting.clear()
            self._signals.clear()
            for session_id in list(self._watchers):
                self._lose(session_id)
            self._filling.clear()
            # Its next place may lie before this one: it may come back empty, or as a replica.
            for session_id in self._read_up_to.keys() - self._running.keys():
                del self._read_up_to[session_id]
        self._lost.set()

    def _lose(self, session_id: str) -> None:
        """Another node shows it, and this one has not heard everything."""
        if session_id not in self._running:
            self._here.channels.lose(session_id)

    async def _come_back(self) -> None:
        while True:
            await self._lost.wait()
            self._lost.clear()
            self._go_away(Away("the connection was lost"))
            while self.away is not None:
                with suppress(Away):
                    await self._stream.close()
                try:
                    await self._stream.open(self._nudge, self._hear, self._lost.set)
                    await self._tell_unsent()
                except Away:
                    await asyncio.sleep(TRIES_EVERY)
                    continue
                self.away = None
                self._lost.clear()
                _log.warning("live events of other nodes come again")
                for session_id in list(self._watchers):
                    if session_id not in self._filling:
                        self._filling[session_id] = asyncio.create_task(self._fill(session_id))


def _bound(known: dict[str, Any]) -> None:
    while len(known) > MOST_KNOWN:
        del known[next(iter(known))]


def _deaf(session_id: str, signal: Signal) -> None:
    """Nobody listens yet."""
