"""turnlog as a library: `await app.run_turn(...)` for the result, `async for` for the events."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Stamped
from turnlog.ports import Agent, InLine, Question, Session, StartedTurn, TurnResult, User
from turnlog.projections.outcome import outcome, refused
from turnlog.tools.agents import outputs
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.turns.following import Following, Live
from turnlog.turns.running_turns import RunningTurns


class TurnEvent:
    """An event as a program uses it: `event.type`, `event.content`, and its fields by name.

    Those of a result, of an iteration and of `on_event` are all of this kind.
    """

    def __init__(self, entry: Stamped) -> None:
        self.entry = entry

    @property
    def type(self) -> str:
        return self.entry.event.type

    @property
    def content(self) -> str:
        """Its text: of a chunk, a message, a thought, an error; "" where it has none."""
        event = self.entry.event
        if isinstance(event, k.Error):
            return event.error
        text = getattr(event, "content", "")
        return text if isinstance(text, str) else ""

    @property
    def agent(self) -> AgentRef:
        return self.entry.envelope.agent

    def __getattr__(self, name: str) -> Any:
        """A field of its kind, in Python's spelling: `event.tool_name`; or of its entry."""
        if name == "entry":  # a copy is being made, which has none yet
            raise AttributeError(name)
        of = self.entry.event if hasattr(self.entry.event, name) else self.entry
        return getattr(of, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TurnEvent) and self.entry == other.entry

    __hash__ = None  # type: ignore[assignment]  # an event may hold lists

    def as_dict(self) -> dict[str, Any]:
        """The JSON that clients are sent."""
        return wire.decode(wire.encode(self.entry))

    def __repr__(self) -> str:
        return f"<{self.type} of {self.agent.id}: {self.content[:60]!r}>"


Begun = StartedTurn | TurnResult  # a result: it was refused, and nothing began
OnEvent = Callable[[TurnEvent], object]  # what it returns is awaited, if it can be


class TurnRun(Coroutine[Any, Any, TurnResult]):
    """A turn that is about to run: awaited for its result, or iterated for its events.

    The iteration ends when the turn does, and waits while a person must decide: decide in its
    body, or `break`. The turn goes on without whoever watches it.
    """

    def __init__(self, app: "_App", user_id: str, start: Coroutine[Any, Any, Begun]) -> None:
        self._app = app
        self._user_id = user_id
        self._start = start
        self._on_event: OnEvent | None = None
        self._awaiting: Coroutine[Any, Any, TurnResult] | None = None
        self.result: TurnResult | None = None  # when the iteration is over

    if not TYPE_CHECKING:  # who checks types is told by the checker

        def __getattr__(self, name: str) -> Any:
            """Raises AttributeError: with what to do, for what only the result has."""
            if name in {each.name for each in fields(TurnResult)}:
                what = f"{name!r} is of the result: result = await app.run_turn(...)."
                raise AttributeError(f"run_turn must be awaited. {what}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def telling(self, on_event: OnEvent | None) -> "TurnRun":
        """Call this with each event, too, and wait for it where it is async."""
        self._on_event = on_event
        return self

    def __await__(self) -> Any:
        return self._coroutine().__await__()

    async def __aiter__(self) -> AsyncGenerator[TurnEvent, None]:
        turn = await self._start
        if isinstance(turn, TurnResult):
            self.result = turn
            return
        seen: list[Stamped] = []
        async with aclosing(self._app.follow_turn(self._user_id, turn)) as batches:
            async for batch in batches:
                for live in batch:
                    seen.append(live.entry)
                    await self._tell(live.entry)
                    yield TurnEvent(live.entry)
        await self._app._turns.rest(turn.turn_id)
        self.result = self._app._outcome(turn, seen)

    # as a coroutine, so that tasks can be made of it

    def send(self, value: Any) -> Any:
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine().throw(*error)

    def close(self) -> None:
        """It was never awaited: nothing has begun."""
        self._start.close()
        if self._awaiting is not None:
            self._awaiting.close()

    def __del__(self) -> None:
        self._start.close()

    def _coroutine(self) -> Coroutine[Any, Any, TurnResult]:
        if self._awaiting is None:
            self._awaiting = self._to_rest()
        return self._awaiting

    async def _to_rest(self) -> TurnResult:
        """Until the turn is over, or waits for a person."""
        app, user_id = self._app, self._user_id
        turn = await self._start
        if isinstance(turn, TurnResult):
            return turn
        is_at_rest = app._turns.is_at_rest
        events = await app._following.events(user_id, turn, is_at_rest, self._tell)
        await app._turns.rest(turn.turn_id)
        return app._outcome(turn, events)

    async def _tell(self, entry: Stamped) -> None:
        if self._on_event is None:
            return
        told = self._on_event(TurnEvent(entry))
        if isawaitable(told):
            await told


class _App(Protocol):
    """What the library needs of the application."""

    _agents: Mapping[str, Agent]
    _turns: RunningTurns
    _following: Following

    async def create_session(
        self, user: User | str, *, title: str | None = None, agent: str | None = None
    ) -> Session: ...

    async def start_turn(
        self, user: User | str, session_id: str, question: Question
    ) -> StartedTurn: ...

    def follow_turn(self, user_id: str, turn: StartedTurn) -> Live: ...

    def _outcome(self, turn: StartedTurn, events: list[Stamped]) -> TurnResult: ...


class RunsTurns:
    """What a program may do with the application, without a server."""

    def run_turn(
        self: Any,
        prompt: str,
        *,
        session_id: str | None = None,
        user_id: str = LOCAL_USER,
        roles: Sequence[str] = (),
        agent: str | None = None,
        on_event: OnEvent | None = None,
        files: Sequence[str | Path] = (),
        **options: Any,
    ) -> TurnRun:
        """Ask. `await` it for the result, when the turn is over or waits for a person; or iterate
        over its events with `async for`.

        Without a session a new one is made, for `agent` if one is named. `roles` are the user's.
        `files` are ids, or paths to upload; one that is not the user's is denied, and nothing is
        asked. `on_event` is called with each event, async or not. `options` are those of a
        question: enable_thinking, thinking_budget, request_id, on_busy.
        """
        if session_id is not None and agent is not None:
            raise BadInput("A session has its agent: name the session or the agent, not both.")
        if "file_ids" in options:
            raise TypeError("run_turn takes ids of files as 'files', not as 'file_ids'.")
        bare = Question(message=prompt, **options)  # what it cannot hold is refused before all else

        async def start() -> Begun:
            if self._open is None:
                raise ConfigError("Open the app first: async with app: await app.run_turn(...).")
            user = User(id=user_id, roles=frozenset(roles))
            session = session_id or (await self.create_session(user, agent=agent)).id
            try:
                file_ids = await self.files.ids(user_id, session, files)
            except NotFound as denied:
                return refused(session, denied)
            asked = msgspec.structs.replace(bare, file_ids=file_ids)
            started: StartedTurn = await self.start_turn(user, session, asked)
            return started

        return TurnRun(self, user_id, start()).telling(on_event)

    async def start_turn(
        self: Any, user: User | str, session_id: str, question: Question
    ) -> StartedTurn:
        """Ask, and return when the turn has begun."""
        started: StartedTurn = await self.begun(await self.accept(user, session_id, question))
        return started

    async def begun(self: Any, accepted: StartedTurn | InLine) -> StartedTurn:
        """The turn of a message that was accepted, when it has begun."""
        started: StartedTurn = await self._turns.begun(accepted)
        return started

    def _outcome(self: Any, turn: StartedTurn, events: list[Stamped]) -> TurnResult:
        """How it ended, with the answer as a value where its agent has an `output`."""
        result = replace(outcome(turn, events), events=[TurnEvent(entry) for entry in events])
        last = next((e for e in reversed(events) if isinstance(e.event, k.Message)), None)
        agent = self._agents.get(last.envelope.agent.id) if last is not None else None
        if not result.success or agent is None or agent.output is None:
            return result
        try:
            return replace(result, output=outputs.read(agent.output, result.text))
        except ValueError as error:
            return replace(result, success=False, error=str(error))
