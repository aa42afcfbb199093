"""What is left of a log where the content of events was destroyed."""

from collections.abc import Iterable

from turnlog.events.base import Stamped
from turnlog.events.kinds import UserMessageSent
from turnlog.events.record import Record, placed, stamped

ERASED_TEXT = "[The text of this message was erased.]"


def what_is_left(rows: Iterable[Record]) -> list[Stamped]:
    """The events of the rows without those that were erased. A question says that it was: its
    turn begins with it. Raises UnknownEvent where the content is in an archive.
    """
    return [_question(row) if _is_gone(row) else stamped(row) for row in rows if _counts(row)]


def _counts(row: Record) -> bool:
    return not _is_gone(row) or row.type == "user_message_sent"


def _is_gone(row: Record) -> bool:
    return row.is_erased and not row.is_archived


def _question(row: Record) -> Stamped:
    return placed(row, UserMessageSent(message_id=row.event_id, content=ERASED_TEXT))
