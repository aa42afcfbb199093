"""What this server knows of the windows of sessions, so that it reads only what has come since.

A window is in here only while nobody works with it. The log is asked each time: where another
node, a person or a moved anchor has changed what it says, or where something of it was erased, the
window is folded anew.
"""

from collections.abc import Sequence

from turnlog.events.base import Stamped
from turnlog.pipeline.context.prefixes import Prefixes
from turnlog.ports import Excerpt, Excerpts, Session
from turnlog.projections.history.window.fold import Window

MOST_BYTES = 64_000_000  # of all sessions together
Key = tuple[str, str, str]  # user, session, agent


class Windows:
    """The windows of all sessions, within bounds of memory; those that were used last stay."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """`most`: bytes. 0: nothing is remembered."""
        self.prefixes = Prefixes()
        self._most = most
        self._bytes = 0
        self._kept: dict[Key, tuple[Window, int]] = {}  # with their bytes; the oldest first

    def pop(self, key: Key) -> Window | None:
        window, size = self._kept.pop(key, (None, 0))
        self._bytes -= size
        return window

    def keep(self, key: Key, window: Window) -> None:
        """Unless it is larger than all of them may be: then the others stay."""
        if key in self._kept:
            self.pop(key)
        size = window.bytes
        if size > self._most:
            return
        self._kept[key] = window, size
        self._bytes += size
        while self._bytes > self._most:
            self.pop(next(iter(self._kept)))


class SessionWindow:
    """The window of one agent in one session, as this server knows it."""

    def __init__(self, windows: Windows, log: Excerpts, session: Session, agent: str) -> None:
        self._windows = windows
        self._log = log
        self._session = session
        self._agent = agent
        self._key = (session.user_id, session.id, agent)

    async def take(self, *, anew: bool = False) -> Window:
        """The window as the log has it now. If it is known, only what came since is read."""
        known, anchor = self._windows.pop(self._key), self._session.anchor
        if (
            known is not None
            and known.anchor == anchor
            and not anew
            and known.grow(await self._after(known.position))
        ):
            return known
        log = await self._after(anchor - 1)
        return Window(self._agent, anchor, log.entries, emptied=log.emptied)

    def keep(self, window: Window) -> None:
        """Until it is taken again."""
        self._windows.keep(self._key, window)

    async def read(self) -> Sequence[Stamped]:
        """All of its events."""
        return (await self._after(self._session.anchor - 1)).entries

    async def _after(self, position: int) -> Excerpt:
        session = self._session
        return await self._log.excerpt(
            session.user_id, session.id, anchor=session.anchor, after=position
        )
