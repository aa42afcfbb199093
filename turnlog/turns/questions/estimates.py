"""What a message would cost, before it is sent. Nothing is kept, and no answer is asked for.

The estimate is of the first model call: all that the model would be told, at the full price of
input. What the answer costs is known when it is there.
"""

import logging

import msgspec

from turnlog.errors import EngineFailed
from turnlog.events.base import Envelope
from turnlog.events.clock import now
from turnlog.events.ids import new_id
from turnlog.events.kinds import UserMessageSent
from turnlog.events.money import picousd, total, usd
from turnlog.events.rows.record import numbered
from turnlog.pipeline.admission import admitted_files, question_event
from turnlog.pipeline.context.desk import Desk
from turnlog.pipeline.context_building import build_context, prompt_of
from turnlog.pipeline.parts import Parts, PartsFor
from turnlog.ports import (
    Engine,
    Estimate,
    EventLog,
    Excerpt,
    File,
    Model,
    Prompt,
    Question,
    Rate,
    Spent,
    Standing,
    Store,
    Turn,
    User,
    owns_loop,
)
from turnlog.projections.billing.budgets import estimated_tokens
from turnlog.turns.questions.budgets import Budgets, size_of

_log = logging.getLogger(__name__)


class Estimates:
    """Builds the prompt as a turn would, and counts it."""

    def __init__(self, store: Store, parts_for: PartsFor, budgets: Budgets, rate: Rate) -> None:
        self._store = store
        self._parts_for = parts_for
        self._budgets = budgets
        self._rate = rate

    async def of(self, user: User | str, session_id: str, question: Question) -> Estimate:
        """Raises what sending the message would raise: NotFound, BadInput, TooLarge."""
        asker = User.named(user)
        user_id = asker.id
        session = await self._store.get_session(user_id, session_id)
        parts = self._parts_for(session, lambda batch: None, sorted(asker.roles))
        files = await admitted_files(question, parts.limits, session, parts.files)
        turn = Turn(id=new_id(), session_id=session.id, user_id=user_id)
        prompt = await self._prompt(question, files, turn, parts)
        tokens = await _counted(prompt, parts.engine)
        cost = total(self._rate(prompt.model, {"input_tokens": tokens}, now()))
        needed = Spent(tokens, picousd(cost or usd(0)))
        return Estimate(
            input_tokens=tokens,
            estimated_cost_usd=cost,
            would_exceed_budget=not await self._budgets.allow(turn, needed),
        )

    async def _prompt(
        self, question: Question, files: list[File], turn: Turn, parts: Parts
    ) -> Prompt:
        agent = parts.agent
        standing = Standing(brought=question.client_tools)
        tools = await parts.tools_for(agent, turn, standing)
        log = _LogWith(self._store, question_event(question, files), turn, parts)
        system = await prompt_of(agent, parts.session)
        desk = Desk(agent, parts.team, question, parts.session, tools, parts.limits, system)
        seat, _ = await build_context(desk, log, attachments=parts.files)
        return seat.prompt


class _LogWith:
    """The log as it would be with the question at its end."""

    def __init__(self, log: EventLog, question: UserMessageSent, turn: Turn, parts: Parts) -> None:
        self._log = log
        self._question = question
        self._turn = turn
        self._agent = parts.agent.ref

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        log = await self._log.excerpt(user_id, session_id, anchor=anchor, after=after)
        place = log.entries[-1].position + 1 if log.entries else after + 1
        placed = Envelope(
            event=self._question,
            event_id=new_id(),
            time=now(),
            agent=self._agent,
            index=0,
            internal=False,
            kept=True,
        )
        entry = numbered(placed, session_id, self._turn.id, place)
        return msgspec.structs.replace(log, entries=[*log.entries, entry])


async def _counted(prompt: Prompt, answerer: Model | Engine) -> int:
    """By the model, where it can count; else a guess."""
    if not owns_loop(answerer):
        try:
            return await answerer.count(prompt)
        except EngineFailed as failure:
            _log.warning("the request could not be counted: %s", failure)
    return estimated_tokens(size_of(prompt))
