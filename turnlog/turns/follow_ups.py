"""When a turn is over: its files are counted as used, and what its answers claim is checked.

This is beside the turns, not in them, and nobody waits for it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, Self

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import FileTable, Store, Turn
from turnlog.projections.claims import MOST_BEFORE, may_claim, unfounded
from turnlog.turns.server_event import server_envelope

_log = logging.getLogger(__name__)
SHORT = 10_000  # characters of a turn's answers that are looked at when it ends
MOST_WAITING = 1_000  # turns; what comes on top is not checked
PATIENCE = 5.0  # seconds that the last checks get when the server stops
Publish = Callable[[str, Sequence[Stamped]], None]


class FollowUp(Protocol):
    """Has something to do when a turn is over and its end was shown. Nobody waits for it."""

    def add(self, state: TurnState) -> None:
        """This turn is over. Returns at once."""
        ...

    async def done(self) -> None:
        """Wait until all of it is done."""
        ...


class FileUses:
    """Notes which files turns came with. Where the process dies first, a use is not counted: the
    log has it.
    """

    def __init__(self, files: FileTable) -> None:
        self._files = files
        self._noting: set[asyncio.Task[None]] = set()

    def add(self, state: TurnState) -> None:
        if state.file_ids:
            task = asyncio.create_task(self._note(state.turn.user_id, state.file_ids))
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def done(self) -> None:
        if self._noting:
            await asyncio.wait(self._noting)

    async def _note(self, user_id: str, file_ids: Sequence[str]) -> None:
        try:
            await self._files.note_use(user_id, file_ids, now())
        except Exception:
            _log.exception("the use of %s files could not be noted", len(file_ids))


class EndedTurn(NamedTuple):
    """A turn that is over."""

    turn: Turn
    texts: Sequence[str]  # of its answers


class ClaimNotes:
    """Notes on claims of answers that nothing in the turn supports.

    Turns that are over wait in a queue, and one task checks them, one after the other. Where the
    process dies first, a note is missing: `turnlog verify --claims` finds the same in the log.
    `async with` it for as long as turns end.
    """

    def __init__(self, store: Store, publish: Publish) -> None:
        """`publish`: those who watch a session must know the numbers of the notes."""
        self._store = store
        self._publish = publish
        self._waiting: asyncio.Queue[EndedTurn] = asyncio.Queue(MOST_WAITING)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._waiting = asyncio.Queue(MOST_WAITING)
        self._task = asyncio.create_task(self._work(), name="claims")
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Write the last notes, or leave them unwritten."""
        assert self._task is not None
        try:
            async with asyncio.timeout(PATIENCE):
                await self.done()
        except TimeoutError:
            _log.warning("the claims of %s turns were not checked", self._waiting.qsize() + 1)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def add(self, state: TurnState) -> None:
        """Check this turn, soon. It is over. Most turns say little and claim nothing: for these
        nobody is woken.
        """
        texts = state.texts
        if sum(map(len, texts)) <= SHORT and not any(map(may_claim, texts)):
            return
        try:
            self._waiting.put_nowait(EndedTurn(state.turn, texts))
        except asyncio.QueueFull:
            _log.warning("the claims of turn %s are not checked: too many wait", state.turn.id)

    async def done(self) -> None:
        """Wait until every turn so far is checked."""
        await self._waiting.join()

    async def _work(self) -> None:
        while True:
            ended = await self._waiting.get()
            try:
                if any(map(may_claim, ended.texts)):  # or else the log need not be read
                    await self._check(ended.turn)
            except Exception:
                _log.exception("the claims of turn %s could not be checked", ended.turn.id)
            finally:
                self._waiting.task_done()

    async def _check(self, turn: Turn) -> None:
        first = max(turn.first_seq - MOST_BEFORE, 0)
        log = await self._store.read(turn.user_id, turn.session_id, after=first - 1)
        if any(entry.erased for entry in log):
            return  # what a claim was founded on may be gone
        own = [entry for entry in log if entry.turn_id == turn.id]
        before = [entry for entry in log if entry.position < turn.first_seq]
        findings = await asyncio.to_thread(unfounded, own, before)
        notes = [
            server_envelope(k.ClaimUnfounded(message_id=f.message_id, claim=f.claim, why=f.why))
            for f in findings
        ]
        if not notes:
            return
        number = await self._store.annotate(turn, notes)
        stamped = [
            Stamped(session_id=turn.session_id, turn_id=turn.id, envelope=note, seq=n, position=n)
            for n, note in enumerate(notes, number)
        ]
        self._publish(turn.session_id, stamped)
