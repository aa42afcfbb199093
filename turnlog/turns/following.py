"""Going on from a cursor: identical events, or one honest `resync_required`.

Everybody follows the bus, the one who asked included. Where the bus does not reach back to the
start of a turn, the log does: it has the same events, without the chunks that became messages.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from math import inf

from turnlog.errors import TurnlogError
from turnlog.events.base import Stamped
from turnlog.events.clock import seconds_until
from turnlog.events.cursor import BEGINNING, Cursor, cursor_of
from turnlog.events.kinds import ENDINGS, Error, ResyncRequired
from turnlog.pipeline.ending import completed_again
from turnlog.ports import (
    OPEN,
    Batches,
    Bus,
    Encode,
    Give,
    LiveEvent,
    StartedTurn,
    Store,
    Turn,
    Watcher,
)
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.server_event import server_envelope

TOO_OLD = "What came after this cursor is no longer at hand. Reload, then go on from there."
LOG_LOOKS = 1.0  # seconds between two looks at the log, where nothing comes from other nodes
FEW = 100  # events that are read to see whether all of them are internal
JUST_NOW = 60.0  # seconds; clocks of nodes are not further apart
Live = AsyncGenerator[Sequence[LiveEvent], None]
IsAtRest = Callable[[str, StartedTurn], Awaitable[bool]]  # of this user


class Silence:
    """Tells whether the turn that somebody watches has ended without their seeing it.

    The node that ended it may have been cut off, and have died before it could say so. The store is
    asked after two signs of life with nothing in between, if an end is expected. The end must be
    missing twice, because it may be on its way.
    """

    __slots__ = ("_last", "_missing", "_session_id", "_signs", "_store", "_turn_id", "_user_id")

    def __init__(self, store: Store, user_id: str, session_id: str) -> None:
        self._store, self._user_id, self._session_id = store, user_id, session_id
        self._last: Stamped | None = None
        self._turn_id: str | None = None  # that runs, as far as is known
        self._signs = self._missing = 0

    async def hides_an_end(self, last: Stamped | None) -> bool:
        """After a sign of life; `last` was shown before it."""
        if last is not None and last is not self._last:
            self._last, self._signs, self._missing = last, 0, 0
            self._turn_id = None if type(last.envelope.event) in ENDINGS else last.turn_id
        self._signs += 1
        is_new = last is None and self._signs == 2  # nothing was shown: the store knows
        if self._signs < 2 or (self._turn_id is None and not is_new):
            return False
        try:
            newest = await self._store.newest_turn(self._user_id, self._session_id)
        except TurnlogError:  # it cannot be asked at the moment
            return False
        running = newest.id if newest is not None and newest.state in OPEN else None
        if is_new:
            self._turn_id = running
        self._missing += running != self._turn_id
        return self._missing > 1


class Following:
    """Sessions and turns as those who watch see them. An empty batch is a sign of life."""

    def __init__(
        self, store: Store, bus: Bus, encode: Encode, live: Callable[[str], LiveTurn | None]
    ) -> None:
        """`live`: the turn of that id, until this process has shown its end."""
        self._live = live
        self._store = store
        self._bus = bus
        self._encode = encode

    async def session(
        self, user_id: str, session_id: str, after: Cursor | None, give: Give | None = None
    ) -> Live:
        """What came after the cursor, then what happens; or one resync_required.

        Without a cursor it begins with the newest turn, from its start. `give` takes what comes
        while nothing else is on its way: that is in no batch.
        """
        opening: Sequence[LiveEvent] = []
        watcher, patience = Watcher(give), inf
        if after is None:
            opening, batches = await self._newest_turn(user_id, session_id, watcher)
        else:
            patience = await self._patience(user_id, session_id, after)
            batches = self._bus.follow(session_id, after, watcher)
        watcher.newest = opening[-1].entry if opening else None
        silence = Silence(self._store, user_id, session_id)
        try:
            if opening:
                yield opening
                opening = []
            async for batch in batches:
                if batch:
                    patience = inf
                    watcher.newest = batch[-1].entry
                elif batch is None and self._bus.away is not None:
                    known = cursor_of(watcher.newest) if watcher.newest else after or BEGINNING
                    async for polled in self._by_log(user_id, session_id, known):
                        yield polled
                    yield [self._resync(session_id)]
                    return
                elif batch is None or patience == 0 or await silence.hides_an_end(watcher.newest):
                    yield [self._resync(session_id)]
                    return
                else:
                    patience -= 1
                yield batch
                del batch  # it is not kept while nothing comes
        finally:
            await batches.aclose()

    async def turn(
        self,
        user_id: str,
        started: StartedTurn,
        is_at_rest: IsAtRest | None = None,
        give: Give | None = None,
    ) -> Live:
        """The events of one turn from its start until `complete` or `error`.

        With `is_at_rest` it also ends when nobody works on the turn. `give` as for a session, but
        what ends the turn is in a batch.
        """
        watcher = Watcher(give, wakes_for=ENDINGS)
        opening, batches = await self._from_start(user_id, started, watcher)
        async with aclosing(batches):
            yield opening
            watcher.newest = opening[-1].entry
            if type(watcher.newest.envelope.event) in ENDINGS:
                return
            silence = Silence(self._store, user_id, started.session_id)
            async for batch in batches:
                if batch is None and self._bus.away is not None:
                    known = cursor_of(watcher.newest)
                    async for polled in self._by_log(user_id, started.session_id, known):
                        yield polled
                        if polled and type(polled[-1].entry.event) in ENDINGS:
                            return
                if batch is None or (not batch and await silence.hides_an_end(watcher.newest)):
                    yield [self._resync(started.session_id)]
                    return
                yield batch
                if batch:
                    watcher.newest = batch[-1].entry
                    if type(watcher.newest.envelope.event) in ENDINGS:
                        return
                elif is_at_rest is not None and await is_at_rest(user_id, started):
                    return

    async def events(
        self,
        user_id: str,
        started: StartedTurn,
        is_at_rest: IsAtRest,
        on_event: Callable[[Stamped], Awaitable[None]],
    ) -> list[Stamped]:
        """All events of a turn until it is at rest; `on_event` gets each when it comes."""
        events: list[Stamped] = []
        async with aclosing(self.turn(user_id, started, is_at_rest)) as batches:
            async for batch in batches:
                for live in batch:
                    events.append(live.entry)
                    await on_event(live.entry)
        return events

    # inside

    async def _by_log(self, user_id: str, session_id: str, after: Cursor) -> Live:
        """While nothing comes from other nodes: what they keep, and when a turn of theirs ends."""
        position = after.position
        newest = await self._store.newest_turn(user_id, session_id)
        ended_id = newest.id if newest and newest.state not in OPEN else None
        while self._bus.away is not None:
            log = await self._store.read(user_id, session_id, after=position, limit=FEW)
            shown = [entry for entry in log if not entry.envelope.internal]
            position = log[-1].position if log else position
            newest = await self._store.newest_turn(user_id, session_id)
            if newest and newest.state not in OPEN and newest.id != ended_id and len(log) < FEW:
                ended_id = newest.id
                first = newest.first_seq - 1
                whole = await self._store.read(user_id, session_id, after=first)
                turn = [entry for entry in whole if entry.turn_id == ended_id]
                if not any(isinstance(entry.event, Error) for entry in turn):
                    shown.append(completed_again(turn))
            yield [LiveEvent(entry, self._encode(entry)) for entry in shown]
            await asyncio.sleep(LOG_LOOKS)

    async def _patience(self, user_id: str, session_id: str, after: Cursor) -> float:
        """How many empty batches a client may get before it must reload.

        Zero if the log has events that the bus has not, or if the cursor is not from this log.
        One if a turn runs, or has just ended: it may have stored what it has not shown yet. Its
        last answer and its end are stored together: of another node's turn nobody knows here
        whether its end was shown.
        """
        position = await self._store.last_number(user_id, session_id)
        if position == after.position:
            return inf
        if position < after.position:
            return 0
        missed = await self._store.read(user_id, session_id, after=after.position, limit=FEW)
        if len(missed) < FEW and all(entry.envelope.internal for entry in missed):
            return inf
        turn = await self._store.newest_turn(user_id, session_id)
        if turn is None:
            return 0
        if turn.state == "running" or self._live(turn.id):
            return 1
        return 1 if self._bus.shared and _has_just_ended(turn, missed) else 0

    async def _newest_turn(
        self, user_id: str, session_id: str, watcher: Watcher
    ) -> tuple[Sequence[LiveEvent], Batches]:
        turn = await self._store.newest_turn(user_id, session_id)
        if turn is None:
            return [], self._bus.follow(session_id, BEGINNING, watcher)
        return await self._from_start(user_id, StartedTurn.of(turn), watcher)

    async def _from_start(
        self, user_id: str, started: StartedTurn, watcher: Watcher
    ) -> tuple[Sequence[LiveEvent], Batches]:
        """How the turn begins, and what follows on it: all from the bus, or first from the log."""
        batches = self._bus.follow(started.session_id, started.after, watcher)
        opening = await anext(batches, None)
        if opening and opening[0].entry.seq == started.first_seq:
            return opening, batches
        await batches.aclose()
        newest = await self._store.newest_turn(user_id, started.session_id)
        is_open = newest is not None and newest.id == started.turn_id and newest.state in OPEN
        log = await self._store.read(user_id, started.session_id, after=started.first_seq - 1)
        turn = [entry for entry in log if entry.turn_id == started.turn_id]
        kept = [entry for entry in turn if not entry.envelope.internal]
        if not is_open and not isinstance(kept[-1].event, Error):
            # What is internal counts too; what came after the end is not of the turn's making.
            kept.append(
                completed_again([entry for entry in turn if entry.position <= kept[-1].position])
            )
        # Not the end of the log: the next turn may have begun since the newest one was looked up.
        after = max(cursor_of(kept[-1]), cursor_of(turn[-1]))
        opening = [LiveEvent(entry, self._encode(entry)) for entry in kept]
        return opening, self._bus.follow(started.session_id, after, watcher)

    def _resync(self, session_id: str) -> LiveEvent:
        """The cursor of this event is empty, so a client that ignores it is told again."""
        placed = server_envelope(ResyncRequired(why=TOO_OLD))
        entry = Stamped(session_id=session_id, turn_id="", envelope=placed, seq=None, position=-1)
        return LiveEvent(entry, self._encode(entry))


def _has_just_ended(turn: Turn, missed: Sequence[Stamped]) -> bool:
    """Whether all that was missed is of this turn, and new."""
    is_new = seconds_until(missed[-1].envelope.time) > -JUST_NOW
    return is_new and len(missed) < FEW and all(entry.turn_id == turn.id for entry in missed)
