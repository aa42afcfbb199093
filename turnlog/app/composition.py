"""`create_app`: agents, settings and adapters become one application."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from turnlog.app.adapters import bus_for, limit_all_nodes
from turnlog.app.application import Connection, Turnlog
from turnlog.app.engines import ENGINES, NEEDS, graph_agent, graph_engine, installed
from turnlog.app.registry import agents_of, with_agents
from turnlog.config import Settings, load
from turnlog.errors import ConfigError
from turnlog.ports import (
    Agent,
    Bus,
    Engine,
    Model,
    Store,
)
from turnlog.ports.library import Library
from turnlog.stores.files.urls import archives_beside
from turnlog.stores.urls import keep_archives, store_at
from turnlog.telemetry.metrics import Metrics
from turnlog.tools.agents import checks
from turnlog.tools.agents.outputs import with_schema
from turnlog.turns.answers.engines import Engines


def create_app(
    agents: Sequence[Agent] | None = None,  # None: those of the demo
    *,
    settings: Settings | None = None,
    store: Store | str | None = None,  # or its URL; without one, the settings' database_url
    bus: Bus | str | None = None,  # memory, redis or postgres; None: as the settings say
    engine: Model | Engine | str | None = None,  # default: claude
    graph: Any = None,  # a compiled LangGraph graph of your own: instead of agents and engine
    engines: Mapping[str, Model | Engine] = MappingProxyType({}),  # others, which a session names
    connections: Sequence[Connection] = (),  # opened with the server, closed after it
    metrics: Metrics | None = None,  # where a store of your own counts into the same ones
    library: Library | None = None,  # the documents that agents look things up in
) -> Turnlog:
    """A server with these agents; the first one answers where a session names none.

    Raises ConfigError, with what to do, for what cannot work.
    """
    settings = settings or load()
    checks.check_list(agents)
    if graph is not None:
        if agents or engine:
            raise ConfigError("A graph brings its own agents: leave out `agents` and `engine`.")
        agents, engine = [graph_agent(graph)], "langgraph"
        engines = {**engines, engine: graph_engine(graph, settings)}
    metrics = metrics or Metrics()
    if store is None or isinstance(store, str):
        store = store_at(store or settings.store_url, metrics)
    if settings.seal_key is not None:
        store.seals = settings.seals
    keep_archives(store, archives_beside(store.url, settings.files_url, settings.data))
    if settings.agents:
        agents = [*(agents or ()), *agents_of(settings)]
    if agents is None or settings.contrib:  # what ships beside it is loaded where it is wanted
        from turnlog.app.shipped import demo_team

        demo = demo_team(settings, store)  # checks its settings, also where nobody uses it
    if agents is None:
        agents, connections, library = demo.agents, demo.connections, demo.library
        engine = engine or ("langgraph" if installed("langgraph") else None)
    checks.check(agents, [entry.id for entry in settings.agents])
    settings = with_agents(settings, agents)
    agents = [with_schema(each) for each in checks.identified(agents, settings.identity)]
    limit_all_nodes(settings, store)
    if bus is None or isinstance(bus, str):
        bus = bus_for(bus, settings, store)
    answerers = Engines(engine or "claude", engines, ENGINES, NEEDS)
    app = Turnlog(agents, settings, store, bus, answerers, connections, metrics, library)
    _check_assertions(agents, settings)
    return app


def _check_assertions(agents: Sequence[Agent], settings: Settings) -> None:
    """Raises ConfigError where a tool server is promised what nobody can sign."""
    for server in (*settings.mcp, *(server for agent in agents for server in agent.mcp)):
        if server.assertion and settings.assertion_key is None:
            raise ConfigError(f"mcp.{server.name}: 'assertion' needs 'assertion_key'.")
