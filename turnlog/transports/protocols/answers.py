"""What a client answers to a turn that waits: decisions, and results of its own functions.

A client whose answer was lost with its connection sends the same again. What was taken then is not
refused, nor decided a second time: the client is told what followed on it, from the same place.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import UNSET

from turnlog.errors import AlreadyDecided, NotFound
from turnlog.events.base import Stamped
from turnlog.events.content import hash_of
from turnlog.events.kinds import ApprovalResolved, Message
from turnlog.ports import Approval, Backend, Decision, StartedTurn, User
from turnlog.transports.protocols import telling

Taken = tuple[StartedTurn, int]  # a turn, and the number before the answers


async def decide(
    backend: Backend, user: User, session_id: str, decisions: Mapping[str, Decision]
) -> Taken:
    """As `telling.decide`, for clients that may send their answers again. Raises AlreadyDecided for
    another answer than the one that was taken.
    """
    try:
        return await _decide(backend, user, session_id, decisions)
    except AlreadyDecided:
        if again := await sent_before(backend, user, session_id, decisions):
            return again  # it was sent twice at the same moment
        raise


async def _decide(
    backend: Backend, user: User, session_id: str, decisions: Mapping[str, Decision]
) -> Taken:
    turn, entries = await _decided(backend, user, session_id, decisions)
    taken = _taken(entries, user, decisions)
    if turn is not None and len(taken) == len(decisions):
        return turn, _before(entries, taken, None)
    rest = {name: decision for name, decision in decisions.items() if name not in taken}
    going_on, before = await telling.decide(backend, user, session_id, rest)
    return going_on, _before(entries, taken, before + 1)


async def sent_before(
    backend: Backend, user: User, session_id: str, decisions: Mapping[str, Decision]
) -> Taken | None:
    """The turn that has taken all of these answers, or None."""
    turn, entries = await _decided(backend, user, session_id, decisions)
    taken = _taken(entries, user, decisions)
    if turn is None or len(taken) < len(decisions):
        return None
    return turn, _before(entries, taken, None)


def newest(approvals: Sequence[Approval]) -> list[Approval]:
    """Of those that were decided: the ones of the turn that was answered last."""
    decided = [each for each in approvals if each.decided_at is not None]
    last = max(decided, key=lambda each: each.decided_at or "", default=None)
    return [each for each in decided if last is not None and each.turn_id == last.turn_id]


async def _decided(
    backend: Backend, user: User, session_id: str, names: Collection[str]
) -> tuple[StartedTurn | None, list[Stamped]]:
    """The newest turn in which one of these was decided, and its log."""
    found = [await backend.store.get_approval(user.id, name) for name in names]
    decided = newest([each for each in found if each.session_id == session_id])
    if not decided:
        return None, []
    turn = await backend.store.find_turn(user.id, session_id, decided[0].turn_id)
    if turn is None:
        raise NotFound("There is no such turn.")
    started = StartedTurn.of(turn)
    return started, await telling.entries_of(backend, user.id, started)


def _taken(
    entries: Sequence[Stamped], user: User, decisions: Mapping[str, Decision]
) -> dict[str, int]:
    """The answers that are in the log as this user gives them now, each with its number."""
    return {
        entry.event.approval_id: entry.position
        for entry in entries
        if isinstance(entry.event, ApprovalResolved)
        and (decision := decisions.get(entry.event.approval_id)) is not None
        and _is_same(entry.event, user, decision)
    }


def _is_same(kept: ApprovalResolved, user: User, given: Decision) -> bool:
    changed = kept.args_hash if kept.args is not UNSET else None
    changes = hash_of(given.args) if given.approved and given.args is not None else None
    told = (given.approved, user.id, given.reason, changes)
    return (kept.approved, kept.decided_by, kept.reason, changed) == told


def _before(entries: Sequence[Stamped], taken: Mapping[str, int], new: int | None) -> int:
    """The number before the answers to what was asked last: a program may send earlier ones along.

    `new`: the number at which further answers began.
    """
    until = max(taken.values()) if new is None else new
    said = [e.position for e in entries if isinstance(e.event, Message) and e.position < until]
    asked = max(said, default=-1)
    return min([until, *(place for place in taken.values() if place > asked)]) - 1
