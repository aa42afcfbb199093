"""What people decide: approvals, once and in time, and writes that are in doubt.

An answer is kept as an event of the turn that waits for it; then the turn goes on, in this
process, wherever it ran before. An answer that may not count is refused and recorded.
"""

import asyncio
import contextlib
import logging
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from turnlog.errors import (
    AlreadyDecided,
    BadInput,
    Busy,
    ContentErased,
    Forbidden,
    NotFound,
    TurnOver,
)
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.clock import now, seconds_until
from turnlog.events.content import hash_of
from turnlog.events.ids import new_id
from turnlog.pipeline.admission import check_texts
from turnlog.pipeline.parts import PartsFor
from turnlog.ports import Approval, Decision, Store, Turn, User, may_change
from turnlog.turns.people.edits import check_edit
from turnlog.turns.running_turns import RunningTurns
from turnlog.turns.server_event import SERVER, server_envelope

_log = logging.getLogger(__name__)
MOST_REFUSALS = 3  # of one approval that are kept
MOST_REMEMBERED = 10_000  # approvals
MOST_REASON = 2_000  # characters
LONGEST_SLEEP = 60.0  # another process may have asked something that expires sooner
RETRY = 0.5  # seconds, where another process is at what has expired
TRIES = 5
TAKES_WITHIN = 10.0  # seconds that another process has


class Decisions:
    """Answers from people, and from time."""

    def __init__(self, store: Store, turns: RunningTurns, parts_for: PartsFor) -> None:
        self._store = store
        self._turns = turns
        self._parts_for = parts_for
        self._refused: dict[str, int] = {}  # by approval: how many answers did not count
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._watching = asyncio.create_task(self._watch_the_clock())

    async def __aexit__(self, *exc: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching

    async def decide(self, user: User, approval_id: str, decision: Decision) -> Approval:
        """The first answer counts, and only it.

        Raises NotFound, Forbidden, AlreadyDecided, BadInput or ContentErased.
        """
        _check_words(decision.reason or "", "reason")
        check_texts(decision.args or {}, "args")
        try:
            approval = await self._store.approval_to_decide(user, approval_id)
        except NotFound:
            _log.warning("an approval was answered that is not there, or not this user's to decide")
            raise
        except Forbidden as refused:  # the asker tried
            own = await self._store.get_approval(user.id, approval_id)
            await self._record_refusal(user.id, own, str(refused))
            raise
        asker = approval.asked_by
        try:
            _refuse_late(approval)
            resolved = _resolved(user.id, approval, decision)
            if decision.args is not None:
                _refuse_change(approval, decision.args)
                described = await self._check_edit(asker, approval, decision.args)
                if decision.approved:
                    resolved = replace(resolved, description=described)
            await self._resolve_anywhere(asker, approval, resolved)
        except (AlreadyDecided, Forbidden) as refused:
            await self._record_refusal(user.id, approval, str(refused))
            raise
        return await self._store.get_approval(asker, approval_id)

    async def settle(
        self, user_id: str, session_id: str, tool_use_id: str, *, happened: bool, note: str | None
    ) -> None:
        """A person says what became of a write that is in doubt."""
        _check_words(note or "", "note")
        doubts = await self._store.list_doubts(user_id)
        place = (session_id, tool_use_id)
        doubt = next((d for d in doubts if (d.session_id, d.tool_use_id) == place), None)
        if doubt is None:
            raise NotFound(f"There is no call {tool_use_id!r} in doubt.")
        settled = k.ToolSettled(
            tool_use_id=tool_use_id,
            tool_name=doubt.tool_name,
            happened=happened,
            decided_by=user_id,
            note=note,
        )
        await self._annotate(user_id, session_id, doubt.turn_id, settled)

    # inside

    async def _resolve_anywhere(
        self, asker: str, approval: Approval, event: k.ApprovalResolved
    ) -> None:
        """The same wherever the turn is. Whoever works on it is told, until the log has it."""
        with contextlib.suppress(Busy):
            return await self._resolve(asker, approval, event)
        event = replace(event, told_as=new_id())
        deadline = asyncio.get_running_loop().time() + TAKES_WITHIN
        while asyncio.get_running_loop().time() < deadline:
            await self._turns.telling.tell(approval, event)
            try:
                if await self._keeps(asker, approval, event):
                    return None
            except AlreadyDecided:
                if await self._is_kept(asker, approval, event):
                    return None
                raise
        raise Busy(approval.turn_id)

    async def _is_kept(self, asker: str, approval: Approval, event: k.ApprovalResolved) -> bool:
        """Whether the turn has taken this very answer, and not another one."""
        turn = await self._store.find_turn(asker, approval.session_id, approval.turn_id)
        assert turn is not None
        log = await self._store.read(asker, approval.session_id, after=turn.first_seq)
        answers = [entry.event for entry in log if isinstance(entry.event, k.ApprovalResolved)]
        return any(answer.told_as == event.told_as for answer in answers)

    async def _resolve(self, user_id: str, approval: Approval, event: k.ApprovalResolved) -> None:
        """Keep the decision in the turn that waits for it, and let the turn go on."""
        for _ in range(TRIES):
            if await self._keeps(user_id, approval, event):
                return
        raise Busy(approval.turn_id)  # another process works on it

    async def _keeps(self, user_id: str, approval: Approval, event: k.ApprovalResolved) -> bool:
        """The same, in one try: the turn may come to rest meanwhile, or be in other hands."""
        if live := self._turns.live(approval.turn_id):
            return await live.takes(event)
        if turn := await self._turns.claim(user_id, approval.session_id, approval.turn_id):
            await self._go_on(turn, event)
            return True
        _refuse_decided(await self._store.get_approval(user_id, approval.id))
        await self._turns.heal(approval.session_id)  # its process may have died
        return False

    async def _check_edit(self, asker: str, approval: Approval, args: dict[str, Any]) -> str:
        try:
            return await check_edit(self._store, self._parts_for, asker, approval, args)
        except ContentErased:
            await self._turns.withdraw(asker, approval.session_id)
            raise

    async def _go_on(self, turn: Turn, event: k.ApprovalResolved) -> None:
        try:
            await self._turns.go_on(turn, event)
        except Exception as error:
            nobody_can = isinstance(error, ContentErased) or (
                isinstance(error, NotFound) and event.outcome == "expired"
            )
            with contextlib.suppress(TurnOver):  # another has it, and goes on with it
                await (self._turns.give_up(turn) if nobody_can else self._store.suspend_turn(turn))
            raise

    async def _record_refusal(self, user_id: str, approval: Approval, why: str) -> None:
        """The first few tries are kept: a client that goes on trying does not fill the log."""
        tries = self._refused.pop(approval.id, 0) + 1
        self._refused[approval.id] = tries
        if len(self._refused) > MOST_REMEMBERED:
            del self._refused[next(iter(self._refused))]
        if tries > MOST_REFUSALS:
            _log.warning("approval %s was answered again; that is kept no more", approval.id)
            return
        refused = k.DecisionRefused(approval_id=approval.id, tried_by=user_id, why=why)
        await self._annotate(approval.asked_by, approval.session_id, approval.turn_id, refused)

    async def _annotate(self, user_id: str, session_id: str, turn_id: str, event: Event) -> None:
        turn = Turn(id=turn_id, session_id=session_id, user_id=user_id)
        await self._store.annotate(turn, [server_envelope(event)])

    async def _watch_the_clock(self) -> None:
        """Answer what nobody answered in time."""
        while True:
            try:
                for user_id, approval in await self._store.due_approvals(now()):
                    await self._expire(user_id, approval)
                due = await self._store.next_expiry()
            except Exception:
                _log.exception("approvals could not be looked at")
                due = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_sleep(due)):
                    await self._turns.asked.wait()
            self._turns.asked.clear()

    async def _expire(self, user_id: str, approval: Approval) -> None:
        event = k.ApprovalResolved(
            approval_id=approval.id,
            approved=False,
            decided_by=SERVER.id,
            outcome="expired",
            reason=None,
            args_hash=approval.args_hash,
        )
        try:
            await self._resolve(user_id, approval, event)
        except (AlreadyDecided, Busy, ContentErased):
            pass  # others were quicker, or are at it; or the turn was ended
        except Exception:  # the next one expires all the same
            _log.exception("approval %s could not be expired", approval.id)


def _sleep(due: str | None) -> float:
    """Seconds until the clock is looked at again."""
    if due is None:
        return LONGEST_SLEEP
    left = seconds_until(due)
    return min(left + 0.01, LONGEST_SLEEP) if left > 0 else RETRY


def _refuse_decided(approval: Approval) -> None:
    if approval.status != "pending":
        raise AlreadyDecided(f"This is {approval.status} already.")


def _check_words(text: str, name: str) -> None:
    if len(text) > MOST_REASON:
        raise BadInput(f"{name!r} is longer than {MOST_REASON} characters.")
    check_texts(text, name)


def _refuse_late(approval: Approval) -> None:
    _refuse_decided(approval)
    if approval.expires_at <= now():
        raise AlreadyDecided("This has expired. Ask the assistant again.")


def _refuse_change(approval: Approval, args: dict[str, Any]) -> None:
    if hash_of(args) != approval.args_hash and not may_change(approval.may_decide):
        raise Forbidden("Two people must agree on one call. Reject it, and say what to change.")


def _resolved(user_id: str, approval: Approval, decision: Decision) -> k.ApprovalResolved:
    edited = decision.args if decision.approved else None
    return k.ApprovalResolved(
        approval_id=approval.id,
        approved=decision.approved,
        decided_by=user_id,
        outcome="approved" if decision.approved else "rejected",
        reason=decision.reason,
        args=UNSET if edited is None else edited,
        args_hash=approval.args_hash if edited is None else hash_of(edited),
    )
