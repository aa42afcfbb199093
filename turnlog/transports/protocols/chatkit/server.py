"""The package's server with our log behind it: threads are sessions, items are what was said.

The log is written by turns and by nothing else. What the package wants to store is there already;
what it wants to change or delete, it may not.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chatkit import types as c
from chatkit.server import ChatKitServer
from chatkit.store import AttachmentStore, NotFoundError, Store

from turnlog.errors import BadInput, NotFound
from turnlog.ports import Backend, Decision, Question, Session, StartedTurn, User
from turnlog.transports.protocols import reading, telling
from turnlog.transports.protocols.chatkit import items
from turnlog.transports.protocols.chatkit.items import Teller

PAGE = 500  # events that are read at a time
KEPT = "The log is append-only: nothing in it is changed or deleted."
UPLOAD = "Files are uploaded at once: set `uploadStrategy` to `direct`, to /chatkit/attachments."


@dataclass
class Context:
    """Who asks, and the turn that the request has started or goes on with."""

    backend: Backend
    user: User
    turn: StartedTurn | None = None

    @property
    def user_id(self) -> str:
        return self.user.id


class LogStore(Store[Context]):
    """A Store over the log."""

    def generate_thread_id(self, context: Context) -> str:
        return str(uuid.uuid4())

    def generate_item_id(self, item_type: Any, thread: Any, context: Context) -> str:
        return str(uuid.uuid4())

    # threads

    async def load_thread(self, thread_id: str, context: Context) -> c.ThreadMetadata:
        return _thread(await self._session(thread_id, context))

    async def save_thread(self, thread: c.ThreadMetadata, context: Context) -> None:
        try:
            session = await context.backend.store.get_session(context.user_id, thread.id)
        except NotFound:
            await context.backend.create_session(context.user, session_id=thread.id)
            return
        if thread.title and thread.title != session.title:
            await context.backend.change_session(context.user_id, thread.id, title=thread.title)

    async def load_threads(
        self, limit: int, after: str | None, order: str, context: Context
    ) -> c.Page[c.ThreadMetadata]:
        store = context.backend.store
        sessions = await store.list_sessions(context.user_id, limit=limit + 1, after=after)
        page = [_thread(session) for session in sessions[:limit]]
        last = page[-1].id if len(sessions) > limit else None
        if order == "asc":
            page.reverse()
        return c.Page(data=page, has_more=len(sessions) > limit, after=last)

    async def delete_thread(self, thread_id: str, context: Context) -> None:
        """It is archived: still readable for an audit, and gone from the list."""
        await self._session(thread_id, context)
        await context.backend.change_session(context.user_id, thread_id, archived=True)

    # items

    async def load_thread_items(
        self, thread_id: str, after: str | None, limit: int, order: str, context: Context
    ) -> c.Page[c.ThreadItem]:
        """`asc` without `after` is the last `limit` items, oldest first: what a model or a person
        needs first. With `after` it is what follows. `desc` goes from the newest to the oldest.
        """
        await self._session(thread_id, context)
        wanted = limit + 1
        found, at = await self._items(thread_id, context, wanted, after)
        if order == "asc":
            page = found[-limit:] if after is None else found[at + 1 : at + 1 + limit]
            more = after is not None and at + 1 + limit < len(found)
        else:
            older = found if after is None else found[:at]
            page, more = older[-limit:][::-1], len(older) > limit
        return c.Page(data=page, has_more=more, after=page[-1].id if page and more else None)

    async def _items(
        self, thread_id: str, context: Context, wanted: int, until: str | None
    ) -> tuple[list[Any], int]:
        """The newest items, oldest first: `wanted` of them, and as many before `until`."""
        found: list[Any] = []
        before: int | None = None
        while True:
            entries = await telling.page_of(
                context.backend, context.user_id, thread_id, limit=PAGE, before=before
            )
            records = reading.turns(entries)
            found = [i for record in records for i in items.items_of(record, thread_id)] + found
            at = next((n for n, item in enumerate(found) if item.id == until), -1)
            enough = len(found) >= wanted if until is None else at >= wanted
            first = records[0].first_seq if records else 0
            if enough or first == 0 or first == before:
                return found, at
            before = first

    async def load_item(self, thread_id: str, item_id: str, context: Context) -> Any:
        found, at = await self._items(thread_id, context, 0, item_id)
        if at < 0:
            raise NotFoundError(f"There is no item {item_id!r}.")
        return found[at]

    async def add_thread_item(self, thread_id: str, item: Any, context: Context) -> None:
        """A question begins a turn; everything else was in the log before it was shown. The time
        of the package has no zone: the log's is told.
        """
        if isinstance(item, c.UserMessageItem):
            question, backend = _question(item), context.backend
            context.turn = await backend.start_turn(context.user, thread_id, question)
            began = await telling.began_at(backend, context.user_id, context.turn)
            item.created_at = datetime.fromtimestamp(began, UTC)

    async def save_item(self, thread_id: str, item: Any, context: Context) -> None:
        """It was replaced because of what the log says."""

    async def delete_thread_item(self, thread_id: str, item_id: str, context: Context) -> None:
        raise BadInput(KEPT)

    # attachments

    async def save_attachment(self, attachment: Any, context: Context) -> None:
        """Its file is kept already."""

    async def load_attachment(self, attachment_id: str, context: Context) -> Any:
        file = await context.backend.files.get(context.user_id, attachment_id)
        return items.attachment(file.facts)

    async def delete_attachment(self, attachment_id: str, context: Context) -> None:
        await context.backend.files.delete(context.user_id, attachment_id)

    async def _session(self, thread_id: str, context: Context) -> Session:
        try:
            return await context.backend.store.get_session(context.user_id, thread_id)
        except NotFound as error:
            raise NotFoundError(str(error)) from None


class Server(ChatKitServer[Context]):
    """Answers by turns."""

    def __init__(self) -> None:
        super().__init__(LogStore())
        self._stopping: set[asyncio.Task[bool]] = set()

    def _get_attachment_store(self) -> Any:
        return _NoPromises()

    def _to_thread_response(self, thread: Any) -> Any:
        """The package gives a new thread the time of its clock, without a zone."""
        told = super()._to_thread_response(thread)
        told.created_at = told.created_at.astimezone(UTC)
        return told

    async def respond(
        self, thread: Any, input_user_message: Any, context: Context
    ) -> AsyncIterator[Any]:
        if context.turn is None:
            raise BadInput("There is no question to answer.")
        async for event in self._told(thread, context, context.turn, None):
            yield event

    async def action(
        self, thread: Any, action: Any, sender: Any, context: Context
    ) -> AsyncIterator[Any]:
        """A button of an approval was pressed."""
        payload = action.payload if isinstance(action.payload, dict) else {}
        if action.type != items.DECIDE or not isinstance(payload.get("approved"), bool):
            raise BadInput(f"There is no action {action.type!r} here.")
        decision = Decision(approved=payload["approved"], reason=payload.get("reason"))
        name = str(payload.get("approvalId"))
        turn, before = await telling.decide(
            context.backend, context.user, thread.id, {name: decision}
        )
        context.turn = turn
        async for event in self._told(thread, context, turn, before):
            yield event

    async def add_feedback(
        self, thread_id: str, item_ids: list[str], feedback: Any, context: Context
    ) -> None:
        positive = feedback == "positive"
        await context.backend.give_feedback(context.user_id, thread_id, item_ids, positive=positive)

    async def handle_stream_cancelled(
        self, thread: Any, pending_items: Any, context: Context
    ) -> None:
        """What was shown is kept, by the turn itself. The request is being torn down: a task of
        its own stops its turn, and not the next one, which another tab may have begun.
        """
        turn_id = context.turn.turn_id if context.turn else None
        stop = asyncio.create_task(context.backend.stop_turn(context.user_id, thread.id, turn_id))
        self._stopping.add(stop)
        stop.add_done_callback(self._stopping.discard)

    async def _told(
        self, thread: Any, context: Context, turn: StartedTurn, before: int | None
    ) -> AsyncIterator[Any]:
        teller = Teller(thread.id, lambda: datetime.now(UTC))
        async for steps in telling.told(context.backend, context.user_id, turn, before):
            for step in steps:
                for event in teller.tell(step):
                    yield event
        session = await context.backend.store.get_session(context.user_id, thread.id)
        thread.title = session.title or None  # the server tells the client, if it has changed


class _NoPromises(AttachmentStore[Context]):
    """An attachment is there when it is uploaded, and not before."""

    async def create_attachment(self, input: Any, context: Context) -> Any:
        raise BadInput(UPLOAD)

    async def delete_attachment(self, attachment_id: str, context: Context) -> None:
        """The store deletes its file."""


def _thread(session: Session) -> c.ThreadMetadata:
    created = datetime.fromisoformat(session.created_at)
    return c.ThreadMetadata(id=session.id, title=session.title or None, created_at=created)


def _question(item: c.UserMessageItem) -> Question:
    texts = [part.text for part in item.content]
    quoted = [f"> {item.quoted_text}"] if item.quoted_text else []
    return Question(
        message="\n".join([*quoted, *texts]),
        file_ids=[attachment.id for attachment in item.attachments],
        message_id=item.id,
    )
