"""Questions that were sent before, under the same request id."""

from turnlog.errors import AlreadyAsked, Reused
from turnlog.events import kinds as k
from turnlog.ports import Question, Session, StartedTurn, Store, Waiting


async def started_before(
    store: Store, session: Session, question: Question, earlier: AlreadyAsked
) -> StartedTurn:
    """The turn that the earlier one began. Raises Reused where that was another question."""
    after = earlier.first_seq - 1
    (first,) = await store.read(session.user_id, session.id, after=after, limit=1)
    if first.erased:
        raise Reused("The message of this requestId was erased. Take a new one.")
    if isinstance(first.event, k.UserMessageSent):
        files = [file["id"] for file in first.event.files]
        _refuse_other(question, first.event.content, files)
    return StartedTurn(turn_id=earlier.turn_id, session_id=session.id, first_seq=earlier.first_seq)


async def waits_already(store: Store, session_id: str, question: Question) -> Waiting | None:
    """The earlier one, if it waits in line. Raises Reused where that is another question."""
    if question.request_id is None:
        return None
    earlier = await store.line.of_request(session_id, question.request_id)
    if earlier is not None:
        _refuse_other(question, earlier.question.message, earlier.question.file_ids)
    return earlier


def _refuse_other(question: Question, message: str, file_ids: list[str]) -> None:
    if (message, file_ids) != (question.message, question.file_ids):
        raise Reused("This requestId was used for another message. Take a new one.")
