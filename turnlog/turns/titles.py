"""Conversations without a name get one from their first question, beside the turn."""

import asyncio
import logging

from turnlog.ports import Question, Session, Sessions
from turnlog.projections.titles import title_of

_log = logging.getLogger(__name__)


class Titles:
    """Names sessions. No turn waits for it; where it fails, the session stays without a name."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, session: Session, question: Question) -> None:
        """This question was kept. A session that has a name keeps it."""
        if session.title or not (title := title_of(question.message)):
            return
        task = asyncio.create_task(self._name(session, title), name="title")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def done(self) -> None:
        """Wait until every session so far has its name."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _name(self, session: Session, title: str) -> None:
        try:
            await self._sessions.name_session(session.user_id, session.id, title)
        except Exception:
            _log.exception("session %s could not be named", session.id)
