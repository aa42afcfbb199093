"""What the contracts have in common: stores on one place, how one dies, and what to append."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from turnlog.events.base import Envelope, Event, Stamped
from turnlog.events.rows.record import BareRecord
from turnlog.ports import Store, Turn
from turnlog.testing import samples as s

Opened = Callable[[], Awaitable[Store]]  # one more handle on the same place


class Contract:
    """Give it an `opened` fixture and a way to die."""

    @pytest.fixture
    async def store(self, opened: Opened) -> Store:
        return await opened()

    async def dies(self, store: Store) -> None:
        """The process that holds this store is killed. The place stays."""
        raise NotImplementedError

    async def begun(
        self, store: Store, session_id: str = "s", user_id: str = "alice", turn_id: str = ""
    ) -> Turn:
        """A new session with a running turn whose question is kept as number 0."""
        await store.create_session(s.new_session(session_id, user_id))
        turn = s.new_turn(turn_id or f"t-{session_id}", session_id, user_id)
        return await store.begin_turn(turn, s.placed(s.asked()))


_SOURCE = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}
EVERY_PROJECTION: list[Event] = [
    s.said({"type": "text", "text": "It says so.", "citations": [_SOURCE]}, s.call("a"),
           stop="tool_use", id="msg_every"),
    s.used("a"),
    s.approval("ok?", "a"),
    s.decision("ok?"),
    s.approval("sure?", "a"),
    s.result("a"),
    s.said("Done.", id="msg_done"),
]  # fmt: skip


def said(times: int) -> list[Envelope]:
    return s.placed(*(s.said("Something.") for _ in range(times)))


def numbers(log: Sequence[Stamped | BareRecord]) -> list[int | None]:
    return [entry.seq for entry in log]
