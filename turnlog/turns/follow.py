"""Going on from a cursor: identical events, or one honest `resync_required`."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor
from turnlog.events.kinds import ResyncRequired
from turnlog.ports import Bus, Store
from turnlog.turns.server_event import placed_by_server

TOO_OLD = "What came after this cursor is no longer at hand. Reload, then go on from there."


async def follow(
    user_id: str,
    session_id: str,
    after: Cursor | None,
    store: Store,
    bus: Bus,
    is_live: Callable[[str], bool],
) -> AsyncGenerator[Sequence[Stamped], None]:
    """What the client missed since its cursor, then what happens.

    `is_live`: a turn of the session runs here. What it has stored and not shown yet is newer
    than anything on the bus, and on its way there.
    """
    await store.get_session(user_id, session_id)
    if after is not None:
        newest = await _newest(user_id, session_id, store)
        missed = newest > after.position and bus.is_empty(session_id) and not is_live(session_id)
        if missed or newest < after.position:  # the latter was never given out here
            yield [_resync(session_id)]
            return
    async with aclosing(bus.follow(session_id, after)) as batches:
        async for batch in batches:
            if batch is None:
                yield [_resync(session_id)]
                return
            yield batch


async def _newest(user_id: str, session_id: str, store: Store) -> int:
    newest = await store.tail(user_id, session_id, limit=1)
    return newest[-1].position if newest else -1


def _resync(session_id: str) -> Stamped:
    """Its cursor knows nothing: who does not reload is told again, and skips nothing."""
    placed = placed_by_server(ResyncRequired(why=TOO_OLD))
    return Stamped(session_id=session_id, turn_id="", placed=placed, seq=None, position=-1)
