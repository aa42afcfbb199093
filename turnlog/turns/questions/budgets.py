"""No call beyond the budget: checked before each model call, on what the log says was spent.

What comes of a check is kept as internal events, where most or all of a budget is used up. A
call that would not fit ends the turn with BudgetUsedUp; the question and all that was said stay.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

import msgspec

from turnlog.errors import BudgetUsedUp, EngineFailed
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.clock import now
from turnlog.events.content import Block
from turnlog.events.money import picousd, total, usd
from turnlog.ports import (
    NO_GUARD,
    Billing,
    CallGuard,
    Model,
    Prompt,
    Rate,
    Spent,
    Turn,
    Verdict,
    no_price,
)
from turnlog.projections.billing.budgets import (
    WARN_AT,
    Budget,
    budgets_of,
    estimated_tokens,
    state_of,
)
from turnlog.projections.billing.calendar import period_begins

_log = logging.getLogger(__name__)
NEAR = 4  # a guess may be wrong by this factor: within it, the model is asked to count


@dataclass(frozen=True)
class Budgets:
    """The budgets of this server, and where to read what was spent."""

    rows: Sequence[Budget] = ()
    billing: Billing | None = None
    rate: Rate = no_price
    where: tzinfo = UTC

    def guard(self, turn: Turn) -> CallGuard:
        """The guard of one turn. Without budgets it costs nothing."""
        if not self.rows or self.billing is None:
            return NO_GUARD
        mine = budgets_of(turn.user_id, self.rows)
        if not mine:
            return NO_GUARD
        return _Guard(self, mine, turn)

    async def allow(self, turn: Turn, next_call: Spent) -> bool:
        """Whether a call of that size may be made now."""
        for budget in budgets_of(turn.user_id, self.rows):
            spent = await self.spent(budget, turn.user_id, turn.session_id)
            if not budget.agent and not budget.allows(spent, next_call):
                return False
        return True

    async def states(self, user_id: str, session_id: str | None) -> list[dict[str, Any]]:
        """How far each of a user's budgets is used up; those for a session where one is named."""
        states = []
        for budget in budgets_of(user_id, self.rows):
            if budget.per != "session" or session_id is not None:
                spent = await self.spent(budget, user_id, session_id or "")
                used = budget.used(spent)
                states.append(
                    budget.facts(spent) | {"used": round(used, 4), "state": state_of(used)}
                )
        return states

    async def spent(self, budget: Budget, user_id: str, session_id: str) -> Spent:
        assert self.billing is not None
        if budget.per == "session":
            return await self.billing.spent(user_id, session_id=session_id, agent_id=budget.agent)
        start = period_begins(budget.per, now(), self.where)
        return await self.billing.spent(user_id, start=start, agent_id=budget.agent)


class _Guard:
    """The budgets of one turn."""

    def __init__(self, budgets: Budgets, mine: Sequence[Budget], turn: Turn) -> None:
        self._budgets = budgets
        self._mine = mine
        self._turn = turn
        self._first = True
        self._warned: set[Budget] = set()

    async def before(self, prompt: Prompt, model: Model, agent_id: str = "") -> Verdict:
        if self._first:
            self._first = False
            cost = await self._first_call(prompt, model)
            return await self._verdict(cost, agent_id, warn=False)
        return await self._verdict(Spent(), agent_id)

    async def after(self, *, goes_on: bool, agent_id: str = "") -> Verdict:
        """What a later call costs is not known."""
        return await self._verdict(Spent() if goes_on else None, agent_id)

    async def _verdict(
        self, next_call: Spent | None, agent_id: str, *, warn: bool = True
    ) -> Verdict:
        notices: list[Event] = []
        for budget in self._mine:
            if budget.agent not in (None, agent_id):
                continue
            spent = await self._spent(budget)
            if next_call is not None and not budget.allows(spent, next_call):
                refused = _exceeded(budget, spent, next_call)
                why = BudgetUsedUp(_sentence(budget, spent, next_call))
                return Verdict([*notices, refused], why)
            if budget.used(spent) >= WARN_AT and budget not in self._warned:
                self._warned.add(budget)  # an earlier turn has given the warning
                notices += [_warning(budget, spent)] if warn else []
        return Verdict(notices)

    async def _spent(self, budget: Budget) -> Spent:
        return await self._budgets.spent(budget, self._turn.user_id, self._turn.session_id)

    async def _first_call(self, prompt: Prompt, model: Model) -> Spent:
        """What it costs at least: its prompt. Near a limit the model counts."""
        guess = self._cost(prompt.model, estimated_tokens(size_of(prompt)))
        if not await self._is_near(guess):
            return guess
        try:
            return self._cost(prompt.model, await model.count(prompt))
        except EngineFailed as failure:
            _log.warning("the request could not be counted: %s", failure)
            return guess

    async def _is_near(self, guess: Spent) -> bool:
        """Whether a better number may decide. Where a budget is used up, none does."""
        most = Spent(guess.tokens * NEAR, guess.picousd * NEAR)
        spent = {budget: await self._spent(budget) for budget in self._mine}
        left = all(budget.used(so_far) < 1 for budget, so_far in spent.items())
        return left and not all(budget.allows(so_far, most) for budget, so_far in spent.items())

    def _cost(self, model: str, tokens: int) -> Spent:
        costs = self._budgets.rate(model, {"input_tokens": tokens}, now())
        return Spent(tokens, picousd(total(costs) or usd(0)))


def size_of(prompt: Prompt) -> int:
    """Bytes of all that the model is told."""
    tools = [(spec.name, spec.description, spec.input_schema) for spec in prompt.tools]
    contents = [message["content"] for message in prompt.messages]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    files = [block for block in blocks if (block.get("source") or {}).get("type") == "base64"]
    if not files:
        return len(msgspec.json.encode((prompt.system, prompt.messages, tools)))
    texts = [block for block in blocks if (block.get("source") or {}).get("type") != "base64"]
    encoded = len(msgspec.json.encode((prompt.system, texts, tools)))
    return encoded + sum(_weight_of(block) for block in files)


def _weight_of(block: Block) -> int:
    """An image, or a PDF, in bytes of text that would be as many tokens. A page has some 50 kB."""
    pages = 1 + len(block["source"]["data"]) // 66_000 if block["type"] == "document" else 1
    return pages * 6_000


def _warning(budget: Budget, spent: Spent) -> k.BudgetWarned:
    facts = {"per": budget.per, "used": round(budget.used(spent), 4)}
    _log.warning("most of a budget is used up", extra={"facts": facts})
    return k.BudgetWarned(**budget.facts(spent))


def _exceeded(budget: Budget, spent: Spent, next_call: Spent) -> k.BudgetExceeded:
    facts = {"per": budget.per, "used": round(budget.used(spent), 4)}
    _log.warning("a call was refused, because of a budget", extra={"facts": facts})
    return k.BudgetExceeded(
        **budget.facts(spent),
        next_call_usd=usd(next_call.picousd),
        next_call_tokens=next_call.tokens,
    )


def _sentence(budget: Budget, spent: Spent, next_call: Spent) -> str:
    period = {"session": "this session", "day": "today", "month": "this month"}[budget.per]
    period += f" of the agent {budget.agent!r}" if budget.agent else ""
    so_far, needed = _amounts(budget, spent), _amounts(budget, next_call)
    limit = _amounts(budget, Spent(budget.tokens or 0, picousd(budget.usd or usd(0))))
    if budget.used(spent) >= 1:
        return f"The budget for {period} is used up: {so_far} of {limit}. Ask an administrator."
    return (
        f"The budget for {period} is too small for this: it needs {needed} at least,"
        f" and {so_far} of {limit} are used up. Ask for less, or ask an administrator."
    )


def _amounts(budget: Budget, amount: Spent) -> str:
    """In what the budget is counted in."""
    dollars = [f"${usd(amount.picousd):.4f}"] if budget.usd is not None else []
    tokens = [f"{amount.tokens} tokens"] if budget.tokens is not None else []
    return " and ".join(dollars + tokens)
