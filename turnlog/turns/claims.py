"""At the end of a turn: what the answer claims, compared with what the turn did.

An ordinary turn costs one look at its text. Only an answer with a word of claiming in it has
its turn read back from the log. Whatever goes wrong here, the turn ends as it would have.
"""

import asyncio
import logging

from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Store
from turnlog.projections.claims import unfounded

_log = logging.getLogger(__name__)


async def check_claims(state: TurnState, store: Store) -> list[Event]:
    """An event for each claim that nothing bears out."""
    if not state.may_claim:
        return []
    turn = state.turn
    try:
        log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
        found = await asyncio.to_thread(unfounded, [at for at in log if at.turn_id == turn.id])
    except Exception:
        _log.exception("the claims of turn %s could not be checked", turn.id)
        return []
    return [k.ClaimUnfounded(message_id=f.message_id, claim=f.claim, why=f.why) for f in found]
