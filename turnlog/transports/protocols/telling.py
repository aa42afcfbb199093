"""A turn told to one client of another protocol: started or found, followed, decided, streamed."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from turnlog.errors import NotFound
from turnlog.events.base import Stamped
from turnlog.events.kinds import Complete, Error, ResyncRequired, UserMessageSent
from turnlog.events.rows import erasure
from turnlog.ports import Backend, Decision, StartedTurn, User
from turnlog.telemetry.metrics import Metrics
from turnlog.transports import sse
from turnlog.transports.protocols.story import Failed, Step, Story

Steps = AsyncGenerator[list[Step], None]
encode = msgspec.json.Encoder(decimal_format="number").encode
ENDS = (Complete, Error, ResyncRequired)
PAGE = 500  # events that are read at a time
_SILENT = "The server stopped before the answer was over. Ask for the session again."


async def told(
    backend: Backend, user_id: str, turn: StartedTurn, after: int | None = None
) -> Steps:
    """The steps of a turn, batch by batch, until it is over or waits for somebody.

    `after`: only what follows this number. An empty batch is a sign of life.
    """
    hearing, over = _Hearing(after), False
    story = hearing.story
    is_first = True  # what was there already: the turn may be at rest, and no sign will come
    async with aclosing(backend.follow_turn(user_id, turn)) as batches:
        async for batch in batches:
            steps: list[Step] = []
            for live in batch:
                steps += hearing.take(live.entry)
                over = over or isinstance(live.entry.event, ENDS)
            may_rest = story.approvals and (is_first or not batch)
            if may_rest and await is_waiting(backend, user_id, turn):
                steps.append(story.waits())
                over = True
            is_first = False
            yield steps
            if over:
                return
    yield [*story.close(), Failed(_SILENT, "interrupted")]


class _Hearing:
    """The fold for one client, who is told only what follows a number."""

    def __init__(self, after: int | None) -> None:
        self.story = Story()
        self._after = after

    def take(self, entry: Stamped) -> list[Step]:
        again: list[Step] = []
        if self._after is not None and entry.position > self._after:
            self._after = None
            again = list(self.story.again())
        new = list(self.story.take(entry))
        return [*again, *new] if self._after is None else []


async def is_waiting(backend: Backend, user_id: str, turn: StartedTurn) -> bool:
    newest = await backend.store.newest_turn(user_id, turn.session_id)
    return newest is not None and newest.id == turn.turn_id and newest.state == "waiting"


async def newest(backend: Backend, user_id: str, session_id: str) -> StartedTurn | None:
    """The session's newest turn, over or not. Raises NotFound for another user's session."""
    await backend.store.get_session(user_id, session_id)
    turn = await backend.store.newest_turn(user_id, session_id)
    if turn is None:
        return None
    return StartedTurn(turn_id=turn.id, session_id=session_id, first_seq=turn.first_seq)


async def is_running(backend: Backend, user_id: str, session_id: str) -> bool:
    turn = await backend.store.newest_turn(user_id, session_id)
    return turn is not None and turn.state == "running"


async def last_number(backend: Backend, user_id: str, session_id: str) -> int:
    return await backend.store.last_number(user_id, session_id)


async def turn_at(backend: Backend, user_id: str, session_id: str, number: str) -> StartedTurn:
    """The turn that begins with this number of a session. Raises NotFound for whatever is not
    there, or not this user's.
    """
    unknown = NotFound("There is no such turn.")
    if not number.isascii() or not number.isdigit():
        raise unknown
    first_seq = min(int(number[:18]), 2**62)
    try:
        first = await backend.store.read(user_id, session_id, after=first_seq - 1, limit=1)
    except NotFound:
        raise unknown from None
    if not first or first[0].seq != first_seq or not isinstance(first[0].event, UserMessageSent):
        raise unknown
    return StartedTurn(turn_id=first[0].turn_id, session_id=session_id, first_seq=first_seq)


async def following(backend: Backend, user_id: str, turn: StartedTurn) -> StartedTurn | None:
    """The session's next turn after this one, if there is one."""
    last = await newest(backend, user_id, turn.session_id)
    if last is None or last.turn_id == turn.turn_id:
        return None
    after = turn.first_seq
    while page := await backend.store.read(user_id, turn.session_id, after=after, limit=PAGE):
        for entry in page:
            if isinstance(entry.event, UserMessageSent):
                return replace(turn, turn_id=entry.turn_id, first_seq=entry.position)
        after = page[-1].position
    return last


async def first_of(backend: Backend, user_id: str, turn: StartedTurn) -> Stamped:
    """The event that the turn begins with."""
    (first,) = await backend.store.read(user_id, turn.session_id, after=turn.first_seq - 1, limit=1)
    return first


async def began_at(backend: Backend, user_id: str, turn: StartedTurn) -> float:
    """When the turn began, in seconds since 1970."""
    return time_of(await first_of(backend, user_id, turn))


def time_of(entry: Stamped) -> float:
    return datetime.fromisoformat(entry.envelope.time).timestamp()


async def entries_of(backend: Backend, user_id: str, turn: StartedTurn) -> list[Stamped]:
    """The kept events of one turn that a user may see."""
    entries: list[Stamped] = []
    after = turn.first_seq - 1
    while True:
        page = await backend.store.read(user_id, turn.session_id, after=after, limit=PAGE)
        mine = [entry for entry in page if entry.turn_id == turn.turn_id]
        entries += [entry for entry in mine if not entry.envelope.internal]
        if len(page) < PAGE or len(mine) < len(page):
            return entries
        after = page[-1].position


async def decide(
    backend: Backend, user: User, session_id: str, decisions: Mapping[str, Decision]
) -> tuple[StartedTurn, int]:
    """Answer what the session's turn waits for, with the roles of the user's token. The turn, and
    the number before the answers.

    Raises NotFound where an approval is not one of this session.
    """
    before = await last_number(backend, user.id, session_id)
    turn = await newest(backend, user.id, session_id)
    for approval_id in decisions:
        approval = await backend.store.get_approval(user.id, approval_id)
        if turn is None or approval.session_id != session_id:
            raise NotFound(f"There is no approval {approval_id!r} in this session.")
    for approval_id, decision in decisions.items():
        await backend.answer_approval(user, approval_id, decision)
    assert turn is not None  # it had something to decide
    return turn, before


async def page_of(
    backend: Backend, user_id: str, session_id: str, *, limit: int, before: int | None = None
) -> list[Stamped]:
    """The newest kept events that a user may see, oldest first, beginning with a whole turn."""
    page = await backend.store.tail(user_id, session_id, limit=limit, before=before)
    shown = [erasure.shown(row) for row in page if not row.is_internal]
    if len(page) == limit:  # the turn at the top may be cut
        first = shown[0].turn_id if shown else ""
        whole = [entry for entry in shown if entry.turn_id != first]
        shown = whole or shown
    return shown


class Frames(StreamingResponse):
    """Steps, through a protocol's table, as server-sent events. Counted while it is open."""

    def __init__(
        self,
        steps: Steps,
        tell: Callable[[Step], Iterable[Any]],
        metrics: Metrics,
        *,
        frame: Callable[[Any], bytes] | None = None,
        last: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__((), headers={**sse.HEADERS, **(headers or {})})
        self._steps = steps
        self._tell = tell
        self._metrics = metrics
        self._frame = frame or _frame
        self._last = last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._metrics.watching("sse"):
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async for body in self._bodies():
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": self._last, "more_body": False})

    async def _bodies(self) -> AsyncIterator[bytes]:
        """One write a batch: what arrived together goes out together."""
        async with aclosing(self._steps) as batches:
            async for steps in batches:
                told = [self._frame(each) for step in steps for each in self._tell(step)]
                yield b"".join(told) or sse.ALIVE


def _frame(event: Any) -> bytes:
    return b"data: %s\n\n" % encode(event)


def all_steps(entries: Sequence[Stamped], after: int | None = None) -> list[Step]:
    """The steps of events that are over; the turn at the end may wait."""
    hearing = _Hearing(after)
    steps = [step for entry in entries for step in hearing.take(entry)]
    return [*steps, hearing.story.waits()] if hearing.story.approvals else steps
