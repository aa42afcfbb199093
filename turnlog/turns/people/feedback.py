"""What users say of answers: kept beside the turn, for the audit."""

from collections.abc import Sequence

from turnlog.errors import BadInput, NotFound
from turnlog.events.kinds import FeedbackGiven
from turnlog.pipeline.admission import check_texts
from turnlog.ports import Store, Turn
from turnlog.turns.server_event import server_envelope

MOST_ITEMS = 100
MOST_CHARACTERS = 200


async def give(
    store: Store, user_id: str, session_id: str, message_ids: Sequence[str], *, positive: bool
) -> None:
    """Raises NotFound where there is nothing of this user's to speak of."""
    if len(message_ids) > MOST_ITEMS or any(len(name) > MOST_CHARACTERS for name in message_ids):
        raise BadInput(f"Name at most {MOST_ITEMS} messages by their ids.")
    check_texts(list(message_ids), "item_ids")
    newest = await store.newest_turn(user_id, session_id)
    if newest is None:
        raise NotFound(f"There is no session {session_id!r} with an answer.")
    given = FeedbackGiven(message_ids=list(message_ids), positive=positive, given_by=user_id)
    turn = Turn(id=newest.id, session_id=session_id, user_id=user_id)
    await store.annotate(turn, [server_envelope(given)])
