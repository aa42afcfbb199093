"""The application: a Backend for transports, an ASGI app, and a library."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import tzinfo
from functools import partial
from typing import Any, Self

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from turnlog.app import for_clients
from turnlog.app.adapters import (
    access_limits,
    approval_policy,
    authentication,
    summaries,
    user_files,
    user_limits,
)
from turnlog.app.doors import mcp_door
from turnlog.app.engines import provider
from turnlog.app.registry import Roster
from turnlog.app.turn_run import RunsTurns
from turnlog.assertions import Assertions
from turnlog.config import Settings
from turnlog.contrib.tasks import agent as tasks
from turnlog.contrib.tasks.storage import tasks_beside
from turnlog.errors import BadInput
from turnlog.events.clock import now
from turnlog.events.cursor import Cursor
from turnlog.files.telling import Telling
from turnlog.pipeline.parts import Parts
from turnlog.ports import (
    Agent,
    Approval,
    Bus,
    Decision,
    Give,
    InLine,
    Question,
    Session,
    Show,
    StartedTurn,
    Store,
    User,
)
from turnlog.ports.library import Library
from turnlog.prices import PriceBook
from turnlog.projections.billing.calendar import zone
from turnlog.stores.raw_ledger import RawAnswers
from turnlog.telemetry.metrics import Metrics
from turnlog.tools import client_tools
from turnlog.tools.agents.listing import Row
from turnlog.tools.agents.tools import AgentTools
from turnlog.tools.mcp.source import Sources
from turnlog.tools.read_file import read_file_tool
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.transports.http.app import http_app
from turnlog.transports.mounting import refuse_unopened, route_path
from turnlog.transports.socketio.server import PATH as SOCKETS
from turnlog.transports.socketio.server import Sockets
from turnlog.turns.answers.drafts import DraftKeeper
from turnlog.turns.answers.engines import Engines
from turnlog.turns.answers.message_ids import MessageIds
from turnlog.turns.answers.pace import Pacer
from turnlog.turns.follow_ups import ClaimNotes, FileUses
from turnlog.turns.following import Following, Live
from turnlog.turns.healer import Healer
from turnlog.turns.people import feedback
from turnlog.turns.people.decisions import Decisions
from turnlog.turns.people.sessions import check_changes, new_session
from turnlog.turns.questions.budgets import Budgets
from turnlog.turns.questions.estimates import Estimates
from turnlog.turns.running_turns import RunningTurns
from turnlog.webhooks.delivery import Webhooks

Connection = AbstractAsyncContextManager[Any]  # what the tools of an agent talk to


class Turnlog(RunsTurns):
    """The application: a Backend for transports, an ASGI app, and a library."""

    def __init__(
        self,
        agents: Sequence[Agent],
        settings: Settings,
        store: Store,
        bus: Bus,
        engines: Engines,
        connections: Sequence[Connection] = (),
        metrics: Metrics | None = None,
        library: Library | None = None,
    ) -> None:
        self.settings = settings
        self.address = settings.address  # where it is served; others find it by this
        self.library = library
        self.store = store
        self.metrics = metrics or Metrics()
        self.tasks = tasks_beside(store, settings.data)
        self.files = user_files(settings, store)
        self.raw = RawAnswers(settings)
        self._attachments = Telling(self.files)
        self._connections = connections
        self._agents = {agent.id: agent for agent in agents}
        self._roster = Roster(agents)
        self._engines = engines
        self._summaries = summaries(settings, engines)
        self.bus = bus
        self._book = PriceBook.of(settings.prices)
        self._budgets = Budgets(settings.budgets, store, self._book.rate, self.timezone)
        self._notes = ClaimNotes(store, bus.publish)
        self._turns = RunningTurns(
            store,
            self._parts_for,
            bus,
            user_limits(settings),
            settings.turn_timeout,
            self._book.rate,
            self.metrics,
            follow_ups=[FileUses(store.files), self._notes],
            window_bytes=settings.window_bytes,
        )
        self._following = Following(store, bus, wire.encode, self._turns.live)
        self.rest = self._turns.all_at_rest  # no turn runs here, and what follows is done
        self._message_ids = MessageIds(store)
        self._webhooks = Webhooks(settings.webhooks, store.outbox)
        self.give_feedback = partial(feedback.give, store)
        self.estimates = Estimates(store, self._parts_for, self._budgets, self._book.rate)
        self._decisions = Decisions(store, self._turns, self._parts_for)
        self._healer = Healer(self._turns)
        self._open: AsyncExitStack | None = None
        self._limits = settings.limits
        auth = authentication(settings)
        self._offer = tasks.offer(self.tasks)
        limits = access_limits(settings, store)
        self._door = mcp_door(self, agents, settings, self._offer, auth, limits.writes)
        self._asgi = http_app(
            self, auth, self.lifespan, self._door, settings.origins, settings.metrics_token, limits
        )
        self._mcp = Sources(agents, settings.mcp, self._door.mint, self._asgi, settings.identity)
        assertions = Assertions(settings.assertion_key, settings.assertion_issuer)
        self.jwks = assertions.jwks
        self.tools = AgentTools(
            self._agents,
            self._mcp,
            approval_policy(settings),
            store,
            alone=not auth.required,
            development=settings.tells_errors,
            unlisted=[read_file_tool(self._attachments)],
            assertions=assertions,
        )
        self._sockets = Sockets(self, auth, settings.origins, limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and self._open is None and scope.get("root_path"):
            await refuse_unopened(scope, receive, send)
            return
        is_socket = scope["type"] != "lifespan" and route_path(scope).rstrip("/") == SOCKETS
        await (self._sockets if is_socket else self._asgi)(scope, receive, send)

    # its life: `async with app:`

    async def __aenter__(self) -> Self:
        """Open the store, end what a dead process left, and have somebody to ask."""
        async with AsyncExitStack() as stack:
            self._book.price(self.settings.model, now())  # read now, not while one waits
            await self.store.open(server=self.address)
            stack.push_async_callback(self.store.close)
            await self.bus.open(self._turns.hear)
            stack.push_async_callback(self.bus.close)
            await stack.enter_async_context(self._webhooks)
            await stack.enter_async_context(self._notes)
            await stack.enter_async_context(self.tasks)
            await stack.enter_async_context(self.files)
            await stack.enter_async_context(self._answering(self.store))
            await stack.enter_async_context(self._door)
            await stack.enter_async_context(self._mcp)
            await stack.enter_async_context(self.tools)
            for connection in self._connections:
                await stack.enter_async_context(connection)
            await self._turns.open()  # it may go on with a turn, which needs all of the above
            await stack.enter_async_context(self._sockets)
            stack.push_async_callback(self.end_turns)
            await stack.enter_async_context(self._decisions)
            await stack.enter_async_context(self._healer)
            self._open = stack.pop_all()
        return self

    @asynccontextmanager
    async def lifespan(self, host: Any) -> AsyncIterator[None]:
        """For the application that this one is mounted in: `Starlette(lifespan=app.lifespan)`."""
        async with self:
            yield

    async def __aexit__(self, *exc: object) -> None:
        if self._open is not None:
            await self._open.aclose()
            self._open = None

    @asynccontextmanager
    async def _answering(self, store: Store | None = None) -> AsyncIterator[None]:
        """The engines are open. `store`: it is open, too."""
        async with (
            provider(self.settings, self.metrics, self.files, store) as claude,
            self._engines.opened(claude),
        ):
            yield

    async def end_turns(self) -> None:
        """Running turns get the grace period, then are ended; those who watch see that, and go."""
        await self._turns.end(self.settings.grace)
        await self.bus.close()
        await self._sockets.hang_up()

    async def list_tools(self, user_id: str = LOCAL_USER) -> tuple[list[Row], str]:
        """Every tool of every agent as this user has it, and how the MCP servers answered.

        For the command line: the app is not open.
        """
        async with self._door, self._mcp:
            return await self.tools.listing(user_id), self._mcp.describe()

    # what transports ask for

    async def create_session(
        self,
        user: User | str,
        *,
        title: str | None = None,
        agent: str | None = None,
        engine: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        user = User.named(user)
        mine = self._roster.of(user.id, user.roles)
        if not mine or (agent is not None and agent not in mine):
            there = ", ".join(mine) or "none that you may use"
            raise BadInput(f"There is no agent {agent!r}. There are: {there}.")
        session = new_session(
            user.id,
            agent or next(iter(mine)),
            title,
            thinking_budget=self.settings.thinking_budget,
            engine=self._engines.named(engine),
            session_id=session_id,
        )
        await self.store.create_session(session)
        return session

    async def accept(
        self, user: User | str, session_id: str, question: Question
    ) -> StartedTurn | InLine:
        client_tools.check(question.client_tools)
        user = User.named(user)
        if (roles := self._roster.roles(user.roles)) != question.roles:
            question = replace(question, roles=roles)
        return await self._turns.accept(user.id, session_id, question)

    async def change_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        check_changes(changes, self._agents.values())
        return await self.store.update_session(user_id, session_id, **changes)

    async def stop_turn(self, user_id: str, session_id: str, turn_id: str | None = None) -> bool:
        return await self._turns.stop(user_id, session_id, turn_id)

    async def answer_approval(
        self, user: User | str, approval_id: str, decision: Decision
    ) -> Approval:
        self._turns.refuse_closing()
        return await self._decisions.decide(User.named(user), approval_id, decision)

    async def settle_doubt(
        self, user_id: str, session_id: str, tool_use_id: str, *, happened: bool, note: str | None
    ) -> None:
        await self._decisions.settle(user_id, session_id, tool_use_id, happened=happened, note=note)

    def follow(
        self, user_id: str, session_id: str, after: Cursor | None, give: Give | None = None
    ) -> Live:
        return self._following.session(user_id, session_id, after, give)

    def follow_turn(self, user_id: str, turn: StartedTurn, give: Give | None = None) -> Live:
        return self._following.turn(user_id, turn, give=give)

    @property
    def most_characters(self) -> int:
        return self.settings.max_characters

    @property
    def timezone(self) -> tzinfo:
        return zone(self.settings.timezone)

    async def budgets(self, user_id: str, session_id: str | None = None) -> list[dict[str, Any]]:
        return await self._budgets.states(user_id, session_id)

    def config(self, user: User | str = LOCAL_USER) -> dict[str, Any]:
        user = User.named(user)
        agents = [
            for_clients.agent(agent, self._mcp.known_tools(agent, user.id, self._offer.tools))
            for agent in self._roster.of(user.id, user.roles).values()
        ]
        return for_clients.settings(self.settings) | {"agents": agents}

    def describe(self, *, places: bool = True) -> dict[str, Any]:
        kind = type(self.store).__name__.removesuffix("Store")
        facts = {
            "model": self.settings.model + (" (simulated)" if self.settings.simulated else ""),
            "store": f"{kind} ({self.store.url})" if places else kind,
            "bus": type(self.bus).__name__.removesuffix("Bus"),
            "sequencer": getattr(self.store, "sequencer", "the store: number and row in one step"),
            "agents": ", ".join(self._agents),
        }
        if not places:
            return facts
        where = {
            "connections": ", ".join(map(str, self._connections)),
            "address": self.address,
            "mcp": self._mcp.describe() if self._mcp else "",
        }
        return facts | {name: words for name, words in where.items() if words}

    async def examine(self) -> dict[str, tuple[bool, str]]:
        """Ask the model, the MCP servers and the connections whether they answer. No turn runs,
        nothing is stored, and nothing is paid for: the model counts tokens."""
        from turnlog.app.examination import examine

        return await examine(self.settings, self._answering, self._engines, self._mcp, self)

    # inside

    def _parts_for(self, session: Session, show: Show, roles: Sequence[str] | None = ()) -> Parts:
        return Parts(
            session=session,
            team=self._roster.of(session.user_id, roles),
            engine=self._engines.get(session.engine),
            store=self.store,
            limits=self._limits,
            show=show,
            tools_for=self.tools.box,
            claim_id=self._message_ids.claim,
            pacer_for=partial(Pacer, window=self.settings.chunk_window),
            drafts_for=lambda state: DraftKeeper(state, self.store),
            guard_for=self._budgets.guard,
            rate=self._book.rate,
            files=self._attachments,
            summarizer=self._summaries.by(session.engine),
        )
