"""Whole agents as tools of `/mcp`: a call is a turn of a real session, as anywhere else.

Limits, budgets, approvals and the log are those of every turn. What happens is told as progress.
A write that asks first asks the person behind the client; where the client cannot ask, the call
says what it waits for, and the same session is looked at again by a call without a message.
"""

import asyncio
import re
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

from turnlog.errors import AlreadyDecided, BadInput, Forbidden, NotFound, TurnlogError
from turnlog.events.kinds import ApprovalRequested, ApprovalResolved
from turnlog.ports import Backend, Decision, OfferedTool, Question, StartedTurn, ToolSpec, User
from turnlog.transports.protocols import reading, telling
from turnlog.transports.protocols import story as s

EVERY = "*"
STATES = ("completed", "waiting", "cancelled", "failed")
WAITS = (
    "This waits for an approval: {}. Decide at /api/approvals/{}, then call again with session {!r}"
    " and no message."
)
INPUT = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "description": "What to ask or to tell the agent. Leave it out to see how a session "
            "that waited goes on.",
        },
        "session": {
            "type": "string",
            "description": "The session of an earlier answer, to go on in it.",
        },
    },
}
OUTPUT = {
    "type": "object",
    "properties": {
        "session": {"type": "string"},
        "turn": {"type": "string"},
        "status": {"enum": list(STATES)},
        "text": {"type": "string"},
        "approvals": {"type": "array", "items": {"type": "object"}},
        "citations": {"type": "array", "items": {"type": "object"}},
        "error": {"type": "string"},
    },
    "required": ["session", "turn", "status", "text"],
}


class Caller(Protocol):
    """The client of a call."""

    name: str
    arguments: dict[str, Any]
    state: str | None  # of a call that was answered by questions
    answers: dict[str, Decision]

    @property
    def can_ask(self) -> bool: ...

    @property
    def asks_with_result(self) -> bool: ...

    async def report(self, message: str) -> None: ...

    async def ask(self, approval: ApprovalRequested) -> Decision | None: ...

    def questions(self, approvals: list[ApprovalRequested], state: str) -> Any: ...

    def result(self, text: str, facts: dict[str, Any], *, failed: bool) -> Any: ...


class AgentTools:
    """The agents that the settings name, each as a tool `ask_NAME`."""

    def __init__(self, backend: Backend, agents: Sequence[str]) -> None:
        self._backend = backend
        self._agents = {tool_name(agent): agent for agent in agents}
        self._stopping: set[asyncio.Task[object]] = set()

    def has(self, name: str) -> bool:
        return name in self._agents

    def all_tools(self) -> list[OfferedTool]:
        return [_offered(name, agent, "") for name, agent in self._agents.items()]

    def tools(self, user: User) -> list[OfferedTool]:
        """Those that this user may use."""
        mine = {agent["id"]: agent for agent in self._backend.config(user)["agents"]}
        return [
            _offered(name, mine[agent]["name"], mine[agent]["description"])
            for name, agent in self._agents.items()
            if agent in mine
        ]

    async def call(self, caller: Caller, user: User, key: str) -> Any:
        """The agent's answer, or questions that must be answered first."""
        turn, before = await self._turn(caller, user, key)
        try:
            while True:
                waits = await self._told(caller, user, turn, before)
                questions = await self._to_ask(caller, user, waits)
                if not questions:
                    return await self._result(caller, user, turn, waits)
                if caller.asks_with_result:
                    return caller.questions(questions, f"{turn.session_id}_{turn.first_seq}")
                before = await telling.last_number(self._backend, user.id, turn.session_id)
                if not await self._decided(caller, user, turn, questions[0]):
                    return await self._result(caller, user, turn, waits)
        except asyncio.CancelledError:
            self._later(self._backend.stop_turn(user.id, turn.session_id, turn.turn_id))
            raise

    # inside

    async def _turn(self, caller: Caller, user: User, key: str) -> tuple[StartedTurn, int | None]:
        """What the call is about: answers, a question, or a session that waited."""
        backend = self._backend
        if caller.state is not None:
            session_id, _, number = caller.state.rpartition("_")
            turn = await telling.turn_at(backend, user.id, session_id, number)
            before = await telling.last_number(backend, user.id, session_id)
            with suppress(AlreadyDecided):  # by somebody else, in the meantime
                await telling.decide(backend, user, session_id, caller.answers)
            return turn, before if caller.answers else None
        message, session_id = _wish(caller.arguments)
        if not message:
            found = await telling.newest(backend, user.id, session_id) if session_id else None
            if found is None:
                raise BadInput("Say what the agent is asked: 'message' is empty.")
            return found, None
        if session_id:
            await self._check(user, session_id, self._agents[caller.name])
        else:
            made = await backend.create_session(user, agent=self._agents[caller.name])
            session_id = made.id
        question = Question(message=message, request_id=key or None)
        return await self._begun(user, session_id, question), None

    async def _begun(self, user: User, session_id: str, question: Question) -> StartedTurn:
        """A call that is taken back while its question is written stops its turn as well."""
        beginning = asyncio.create_task(self._backend.start_turn(user, session_id, question))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            self._later(self._stop(user, beginning))
            raise

    async def _check(self, user: User, session_id: str, agent: str) -> None:
        session = await self._backend.store.get_session(user.id, session_id)
        if session.agent_id != agent:
            raise BadInput(f"Session {session_id!r} is one of {session.agent_id!r}, not {agent!r}.")

    async def _told(
        self, caller: Caller, user: User, turn: StartedTurn, before: int | None
    ) -> s.Waits | None:
        """Follow the turn, with one report for each batch. What it waits for in the end."""
        async with aclosing(telling.told(self._backend, user.id, turn, before)) as batches:
            async for steps in batches:
                told = [words for step in steps if (words := _words(step))]
                if told:
                    await caller.report("".join(told))
                waits = next((step for step in steps if isinstance(step, s.Waits)), None)
                if waits is not None:
                    return waits
        return None

    async def _to_ask(
        self, caller: Caller, user: User, waits: s.Waits | None
    ) -> list[ApprovalRequested]:
        """What the person behind the client may decide. Others are asked elsewhere."""
        gave_none = caller.state is not None and not caller.answers
        if waits is None or gave_none or not caller.can_ask:
            return []
        mine = []
        for approval in waits.open:
            try:
                await self._backend.store.approval_to_decide(user, approval.approval_id)
            except (Forbidden, NotFound):
                continue
            mine.append(approval)
        return mine

    async def _decided(
        self, caller: Caller, user: User, turn: StartedTurn, approval: ApprovalRequested
    ) -> bool:
        """Ask, until somebody decides: here, or anywhere else."""
        asking = asyncio.ensure_future(caller.ask(approval))
        elsewhere = asyncio.ensure_future(self._is_resolved(user, turn, approval))
        try:
            await asyncio.wait((asking, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            if elsewhere.done():
                return True
            decision = await asking
        finally:
            for task in (asking, elsewhere):
                task.cancel()
            await asyncio.gather(asking, elsewhere, return_exceptions=True)
        if decision is None:
            return False
        await self._backend.answer_approval(user, approval.approval_id, decision)
        return True

    async def _is_resolved(
        self, user: User, turn: StartedTurn, approval: ApprovalRequested
    ) -> None:
        """Returns when the approval is decided, or its turn is over."""
        async with aclosing(self._backend.follow_turn(user.id, turn)) as batches:
            async for batch in batches:
                for live in batch:
                    event = live.entry.event
                    if (
                        isinstance(event, ApprovalResolved)
                        and event.approval_id == approval.approval_id
                    ):
                        return

    async def _result(
        self, caller: Caller, user: User, turn: StartedTurn, waits: s.Waits | None
    ) -> Any:
        entries = await telling.entries_of(self._backend, user.id, turn)
        (record,) = reading.turns(entries)
        state = await self._state(user, turn, record, waits)
        open_ = waits.open if waits is not None else ()
        notes = [WAITS.format(a.description, a.approval_id, turn.session_id) for a in open_]
        texts = [message.content for message in record.messages if message.content]
        error = record.error.error if record.error else ""
        text = "\n\n".join([*texts, *notes, *([error] if error else [])])
        facts: dict[str, Any] = {
            "session": turn.session_id,
            "turn": turn.turn_id,
            "status": state,
            "text": "\n\n".join(texts),
            "approvals": [_approval(approval) for approval in open_],
            "citations": [c for message in record.messages for c in message.citations],
        }
        if error:
            facts["error"] = error
        return caller.result(text or f"({state})", facts, failed=state == "failed")

    async def _state(
        self, user: User, turn: StartedTurn, record: reading.TurnRecord, waits: s.Waits | None
    ) -> str:
        if record.error is not None:
            return "failed"
        if waits is not None:
            return "waiting"
        stopped = bool(record.messages) and record.messages[-1].stop_reason == "cancelled"
        return "cancelled" if stopped else "completed"

    async def _stop(self, user: User, beginning: Awaitable[StartedTurn]) -> None:
        with suppress(TurnlogError):  # it did not begin
            turn = await beginning
            await self._backend.stop_turn(user.id, turn.session_id, turn.turn_id)

    def _later(self, stop: Coroutine[Any, Any, object]) -> None:
        """The client took its call back. What was said is kept; a task of its own stops the turn,
        because this one is being torn down.
        """
        stopping = asyncio.create_task(stop)
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)


def tool_name(agent_id: str) -> str:
    return "ask_" + re.sub(r"[^A-Za-z0-9_-]", "_", agent_id)


def _wish(arguments: dict[str, Any]) -> tuple[str, str]:
    message, session_id = arguments.get("message") or "", arguments.get("session") or ""
    if not isinstance(message, str) or not isinstance(session_id, str):
        raise BadInput("'message' and 'session' are text.")
    return message, session_id


def _offered(name: str, title: str, description: str) -> OfferedTool:
    about = f"Asks the agent {title!r}. {description}".strip()
    return OfferedTool(
        spec=ToolSpec(name=name, description=about, input_schema=INPUT),
        title=f"Ask {title}",
        output_schema=OUTPUT,
        writes=True,
        destroys=True,  # what its tools may do, with the approvals that they ask for
        repeatable=False,
    )


def _approval(approval: ApprovalRequested) -> dict[str, Any]:
    return {
        "id": approval.approval_id,
        "tool": approval.tool_name,
        "args": approval.args,
        "description": approval.description,
        "expiresAt": approval.expires_at,
    }


# What is told as progress.
# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.TextGrew:     lambda step: step.text,
    s.ThoughtBegan: lambda step: "[thinks]",
    s.Called:       lambda step: f"[{step.call.tool_name}]",
    s.Asked:        lambda step: f"[asks: {step.approval.description}]",
    s.TookOver:     lambda step: f"[{step.agent.name} takes over]",
}
# fmt: on


def _words(step: s.Step) -> str:
    rule = TABLE.get(type(step))
    return str(rule(step)) if rule is not None else ""
