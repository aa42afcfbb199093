"""No call beyond the budget: checked before each model call, on what the log says was spent.

In:  what the engine says, batch by batch; each is stored when the next one is asked for.
Out: the same, with internal events where most or all of a budget is used up. A call that
     would not fit ends the turn with BudgetUsedUp; the question and all that was said stay.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

import msgspec

from turnlog.errors import BudgetUsedUp, EngineFailed
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.clock import now
from turnlog.events.grammar import GOES_ON
from turnlog.events.money import picousd, total, usd
from turnlog.ports import (
    Ask,
    Billing,
    Engine,
    Rate,
    Said,
    Spent,
    ToolBox,
    ToolSpec,
    Turn,
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
Batches = AsyncGenerator[Said, None]
NEAR = 4  # a guess may be wrong by this factor: within it, the model is asked to count


@dataclass(frozen=True)
class Budgets:
    """The budgets of this server, and where to read what was spent."""

    rows: Sequence[Budget] = ()
    billing: Billing | None = None
    rate: Rate = no_price
    where: tzinfo = UTC

    def guard(
        self, turn: Turn, ask: Ask, tools: ToolBox, engine: Engine
    ) -> Callable[[Batches], Batches]:
        """Put it around what the engine says. Without budgets it costs nothing."""
        mine = budgets_of(turn.user_id, self.rows)
        if not mine or self.billing is None:
            return lambda batches: batches
        return _Guard(self, mine, turn, ask, tools, engine).watched

    async def states(self, user_id: str, session_id: str | None) -> list[dict[str, Any]]:
        """How far each of a user's budgets is used up; those for a session where one is named."""
        told = []
        for budget in budgets_of(user_id, self.rows):
            if budget.per != "session" or session_id is not None:
                spent = await self.spent(budget, user_id, session_id or "")
                used = budget.used(spent)
                told.append(budget.facts(spent) | {"used": round(used, 4), "state": state_of(used)})
        return told

    async def spent(self, budget: Budget, user_id: str, session_id: str) -> Spent:
        assert self.billing is not None
        if budget.per == "session":
            return await self.billing.spent(user_id, session_id=session_id)
        start = period_begins(budget.per, now(), self.where)
        return await self.billing.spent(user_id, start=start)


NO_BUDGETS = Budgets()


class _Guard:
    """The budgets of one turn."""

    def __init__(
        self,
        budgets: Budgets,
        mine: Sequence[Budget],
        turn: Turn,
        ask: Ask,
        tools: ToolBox,
        engine: Engine,
    ) -> None:
        self._budgets = budgets
        self._mine = mine
        self._turn = turn
        self._ask = ask
        self._tools = tools
        self._engine = engine
        self._warned: set[Budget] = set()

    async def watched(self, batches: Batches) -> Batches:
        async with aclosing(batches):
            if not self._ask.open_calls:  # those are answered first, whatever the budget says
                notices, refusal = await self._verdict(await self._first_call(), warn=False)
                if notices:
                    yield Said(notices)
                if refusal:
                    raise refusal
            async for said in batches:
                yield said
                for call in _calls_after(said):
                    notices, refusal = await self._verdict(call)
                    if notices:
                        yield Said(notices)
                    if refusal:
                        raise refusal

    async def _verdict(
        self, next_call: Spent | None, warn: bool = True
    ) -> tuple[list[Event], BudgetUsedUp | None]:
        """What is to be kept of it, and why the call that comes next, if one does, may not."""
        notices: list[Event] = []
        for budget in self._mine:
            spent = await self._spent(budget)
            if next_call is not None and not budget.allows(spent, next_call):
                refused = _exceeded(budget, spent, next_call)
                return [*notices, refused], BudgetUsedUp(_sentence(budget, spent, next_call))
            if budget.used(spent) >= WARN_AT and budget not in self._warned:
                self._warned.add(budget)  # what was so before this turn has been told
                notices += [_warning(budget, spent)] if warn else []
        return notices, None

    async def _spent(self, budget: Budget) -> Spent:
        return await self._budgets.spent(budget, self._turn.user_id, self._turn.session_id)

    async def _first_call(self) -> Spent:
        """What it costs at least: its prompt. Near a limit the model counts."""
        guess = self._prompt(estimated_tokens(_size(self._ask, self._tools.specs)))
        if not await self._is_near(guess):
            return guess
        try:
            return self._prompt(await self._engine.count(self._ask, self._tools))
        except EngineFailed as failure:
            _log.warning("the request could not be counted: %s", failure)
            return guess

    async def _is_near(self, guess: Spent) -> bool:
        """Whether a better number may decide. Where a budget is used up, none does."""
        most = Spent(guess.tokens * NEAR, guess.picousd * NEAR)
        spent = {budget: await self._spent(budget) for budget in self._mine}
        left = all(budget.used(so_far) < 1 for budget, so_far in spent.items())
        return left and not all(budget.allows(so_far, most) for budget, so_far in spent.items())

    def _prompt(self, tokens: int) -> Spent:
        costs = self._budgets.rate(self._ask.model, {"input_tokens": tokens}, now())
        return Spent(tokens, picousd(total(costs) or usd(0)))


def _calls_after(said: Said) -> list[Spent | None]:
    """Where to look at the budgets: after an answer, with None if it was the last one; and after
    tools, which may have been those of a turn that went on. What a call costs is not known."""
    calls: list[Spent | None] = []
    for output in said.outputs:
        if isinstance(output, k.Message):
            calls.append(Spent() if output.stop_reason in GOES_ON else None)
        elif isinstance(output, k.ToolResult):
            calls = [Spent()]
    return calls


def _size(ask: Ask, specs: Sequence[ToolSpec]) -> int:
    tools = [(spec.name, spec.description, spec.input_schema) for spec in specs]
    return len(msgspec.json.encode((ask.system, ask.messages, tools)))


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
