"""Notices in a dictionary."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from turnlog.events.kinds import Complete
from turnlog.events.rows.record import Record, stamped
from turnlog.ports import SILENT, Announcer, Notice, Turn


class MemoryOutbox:
    """An Outbox without a disk."""

    def __init__(self) -> None:
        self._notices: dict[tuple[str, str], Notice] = {}
        self.announcer: Announcer = SILENT
        self.on_written: Callable[[], None] = lambda: None

    def tell(self, turn: Turn, rows: Iterable[Record]) -> None:
        """Write what is to be said of these events."""
        notices = [n for row in rows for n in self.announcer.of_event(turn.user_id, stamped(row))]
        self.write(notices)
        if notices:
            self.on_written()

    def tell_end(self, turn: Turn, complete: Complete | None) -> None:
        if complete is not None:
            who, where = turn.user_id, (turn.session_id, turn.id)
            self.write(self.announcer.of_end(who, *where, complete))
            self.on_written()

    def write(self, notices: Iterable[Notice]) -> None:
        self._notices |= {_key(notice): notice for notice in notices}

    async def claim(self, endpoint: str, now: str, until: str, limit: int) -> list[Notice]:
        waiting = [each for each in self._waiting(endpoint) if each.due_at <= now]
        due = sorted(waiting, key=lambda each: (each.due_at, each.created_at, each.id))[:limit]
        self.write(replace(each, due_at=until) for each in due)
        return due

    async def next_due(self, endpoint: str) -> str | None:
        return min((each.due_at for each in self._waiting(endpoint)), default=None)

    async def settle(self, notice: Notice) -> None:
        if _key(notice) in self._notices:
            self.write([notice])

    async def page(self, *, status: str | None = None, limit: int = 100) -> list[Notice]:
        chosen = [each for each in self._notices.values() if status in (None, each.status)]
        chosen.sort(key=lambda each: (each.id, each.endpoint))
        return sorted(chosen, key=lambda each: each.created_at, reverse=True)[:limit]

    async def replay(self, now: str, *, id: str | None = None, status: str | None = None) -> int:
        chosen = [each for each in self._notices.values() if status in (None, each.status)]
        again = [each for each in chosen if id in (None, each.id)]
        self.write(replace(each, status="waiting", tries=0, due_at=now) for each in again)
        self.on_written()
        return len(again)

    async def forget(self, before: str) -> int:
        old = [
            key
            for key, each in self._notices.items()
            if each.created_at < before and each.status != "waiting"
        ]
        for key in old:
            del self._notices[key]
        return len(old)

    def _waiting(self, endpoint: str) -> list[Notice]:
        mine = [each for each in self._notices.values() if each.endpoint == endpoint]
        return [each for each in mine if each.status == "waiting"]


def _key(notice: Notice) -> tuple[str, str]:
    return notice.id, notice.endpoint
