"""What is left of a log where the content of events was destroyed.

People see in its place that something was erased; a model is told of questions alone. What stands
there has the number, the time and the speaker of the event, and nothing of what it said. It is
there to be shown: whoever acts on a log looks at `Stamped.erased` first.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from turnlog.events.base import Event, Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import Error, Message, Thinking, UserMessageSent
from turnlog.events.rows.record import BareRecord, Record, placed, stamped

Row = Record | BareRecord
ERASED_TEXT = "[The text of this message was erased.]"


def shown(row: Row) -> Stamped:
    """The event of the row, or what stands in its place where it was erased.

    Raises UnknownEvent where the content is in an archive.
    """
    if row.body or not _is_gone(row):
        return stamped(row)
    return replace(placed(row, _STANDS_FOR.get(row.type, _note)(row)), erased=row.type)


def what_is_left(rows: Iterable[Record]) -> list[Stamped]:
    """The events of the rows without those that were erased. A question says that it was: its
    turn begins with it. Raises UnknownEvent where the content is in an archive.
    """
    return [stamped(row) if row.body else shown(row) for row in rows if row.body or _stays(row)]


def _stays(row: Row) -> bool:
    return not _is_gone(row) or row.type == "user_message_sent"


def _is_gone(row: Row) -> bool:
    return row.is_erased and not row.is_archived


def _question(row: Row) -> Event:
    return UserMessageSent(message_id=row.event_id, content=ERASED_TEXT)


def _answer(row: Row) -> Event:
    return _said(row, ERASED_TEXT, "end_turn")


def _thought(row: Row) -> Event:
    return Thinking(message_id=row.event_id, content="[The text of this thought was erased.]")


def _error(row: Row) -> Event:
    text = "[The text of this error was erased.]"
    return Error(error=text, code="erased", retryable=False)


def _note(row: Row) -> Event:
    """Of what refers to another event, as a result does to its call: nobody can tell to which."""
    return _said(row, f"[The content of a {row.type!r} was erased.]", "tool_use")


def _said(row: Row, text: str, stop_reason: str) -> Message:
    return Message(
        message_id=row.event_id,
        blocks=[{"type": "text", "text": text}],
        stop_reason=stop_reason,
        model="",
        token_usage=TokenUsage(),
    )


_STANDS_FOR: dict[str, Callable[[Row], Event]] = {
    "user_message_sent": _question,
    "message": _answer,
    "thinking": _thought,
    "error": _error,
}
