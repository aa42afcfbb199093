"""The adapters by name: what a setting or an argument of `create_app` may choose."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from turnlog.config import Settings
from turnlog.errors import ConfigError
from turnlog.files.library import FileLibrary
from turnlog.files.workers import Workers
from turnlog.ports import Agent, Bus, Engine, KeepRaw, Model, Store
from turnlog.stores.files.urls import blobs_beside
from turnlog.telemetry.metrics import Metrics
from turnlog.tools.approval import Policy
from turnlog.transports import wire
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.limits import Connections, Limits, WriteLimits
from turnlog.turns.answers.engines import Engines, Make
from turnlog.turns.answers.summaries import Summaries
from turnlog.turns.questions.limits import UserLimits

if TYPE_CHECKING:
    from turnlog.engines.claude.provider_files import ProviderFiles


def _claude(
    key: str,
    url: str | None,
    settings: Settings,
    metrics: Metrics,
    raw: KeepRaw,
    files: "ProviderFiles | None" = None,
    *,
    soon: bool = False,
) -> Model:
    from turnlog.engines.claude.model import ClaudeModel
    from turnlog.engines.claude.platforms import PLATFORMS

    cache = settings.prompt_cache
    platform = PLATFORMS.get(settings.provider)
    if platform and platform.needs and find_spec(platform.needs.partition(".")[0]) is None:
        extra = {"bedrock": "bedrock", "vertex": "vertex"}[settings.provider]
        raise ConfigError(
            f"{settings.provider!r} needs {platform.needs}: pip install 'turnlog[{extra}]'."
        )
    return ClaudeModel(
        api_key=key,
        base_url=url,
        cache=cache,
        metrics=metrics,
        keep_raw=raw,
        platform=platform,
        files=files,
        window=settings.chunk_window,
    )


@asynccontextmanager
async def leaving_files(
    settings: Settings, key: str, url: str | None, store: Store | None, library: FileLibrary
) -> AsyncIterator["ProviderFiles | None"]:
    """Where files are left that are sent again and again; None: they are sent each time.

    Without days in the settings, what was left before is still removed.
    """
    unused = settings.simulated and not settings.deposit_days
    if store is None or settings.provider != "anthropic" or unused:
        yield None
        return
    from turnlog.engines.claude.provider_files import ProviderFiles

    days = settings.deposit_days
    files = ProviderFiles(store.deposits, store.files, api_key=key, base_url=url, days=days)
    async with files:
        library.on_deleted = files.remove_soon
        yield files if days else None


def _langgraph(
    key: str,
    url: str | None,
    settings: Settings,
    metrics: Metrics,
    raw: KeepRaw,
    files: "ProviderFiles | None" = None,
    *,
    soon: bool = False,
) -> Engine:
    from turnlog.engines.langgraph.engine import LangGraphEngine

    return LangGraphEngine(_claude(key, url, settings, metrics, raw, files), soon=soon)


def _openai_agents(
    key: str,
    url: str | None,
    settings: Settings,
    metrics: Metrics,
    raw: KeepRaw,
    files: "ProviderFiles | None" = None,
    *,
    soon: bool = False,
) -> Engine:
    from turnlog.engines.openai_agents.engine import OpenAIAgentsEngine

    return OpenAIAgentsEngine(_claude(key, url, settings, metrics, raw, files), soon=soon)


def authentication(settings: Settings) -> Auth:
    return Auth(
        settings.auth_secret,
        settings.issuer,
        admin_claim=settings.auth_admin_claim,
        roles_claim=settings.auth_roles_claim,
    )


def approval_policy(settings: Settings) -> Policy:
    return Policy(
        server=settings.approval,
        server_approver=settings.approver,
        seconds=settings.approval_timeout,
    )


def summaries(settings: Settings, engines: Engines) -> Summaries:
    """Who summarizes what leaves the window of a long conversation."""
    return Summaries(
        engines=engines,
        default="claude",
        chosen=settings.summary_model,
        provider=settings.provider,
        simulated=settings.simulated,
    )


def user_limits(settings: Settings) -> UserLimits:
    return UserLimits(
        settings.turns_at_once,
        settings.messages_a_minute,
        with_files_a_minute=settings.vision_a_minute,
    )


def access_limits(settings: Settings, store: Store) -> Limits:
    """Where several nodes share a store, they count together."""
    shared = getattr(store, "shared_writes", None)
    writes = WriteLimits(settings.most_writes, shared=shared)
    return Limits(writes, Connections(settings.most_connections))


def user_files(settings: Settings, store: Store) -> FileLibrary:
    """Where users' files are kept and read."""
    blobs = blobs_beside(store.url, settings.files_url, settings.data)
    workers = Workers(settings.file_workers)
    alone = store.url.startswith(("sqlite:", "memory:"))  # one server to a place
    return FileLibrary(store.files, blobs, workers, settings.file_limits, alone=alone)


def _memory_bus(settings: Settings, store: Store) -> Bus:
    from turnlog.buses.memory import MemoryBus

    return MemoryBus(wire.encode)


def _redis_bus(settings: Settings, store: Store) -> Bus:
    try:
        from turnlog.buses.redis.stream import RedisStream
    except ImportError:
        raise ConfigError("Redis needs a package: pip install 'turnlog[cluster]'.") from None
    from turnlog.buses.nodes import NodesBus

    if not (settings.redis_url or "").startswith(("redis://", "rediss://", "unix://")):
        raise ConfigError("TURNLOG_REDIS_URL is redis://HOST:PORT, or rediss://HOST:PORT for TLS.")
    assert settings.redis_url is not None
    return NodesBus(RedisStream(settings.redis_url), wire.encode, store.recall)


def _postgres_bus(settings: Settings, store: Store) -> Bus:
    from turnlog.buses.nodes import NodesBus
    from turnlog.buses.postgres.stream import PostgresStream
    from turnlog.stores.postgres.store import PostgresStore

    if not isinstance(store, PostgresStore):
        raise ConfigError("The bus 'postgres' needs a store in PostgreSQL.")
    return NodesBus(PostgresStream(store.secret_url), wire.encode, store.recall)


def bus_for(name: str | None, settings: Settings, store: Store) -> Bus:
    """By its name; without one, the best that the settings have a server for."""
    shared = store.url.startswith("postgresql:")
    if settings.redis_url is not None and not shared:
        raise ConfigError(
            "TURNLOG_REDIS_URL is for many nodes, and these need one log:"
            " set TURNLOG_DATABASE_URL=postgresql://… too, or leave it out."
        )
    if name is None:
        name = "redis" if settings.redis_url else "postgres" if shared else "memory"
    if name not in BUSES:
        raise ConfigError(f"{name!r} is not known here. There are: {', '.join(BUSES)}.")
    return BUSES[name](settings, store)


def limit_all_nodes(settings: Settings, store: Store) -> None:
    """Where several nodes share a store, they count a user's turns together."""
    if store.url.startswith("postgresql:"):
        from turnlog.stores.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            store.limit(
                settings.turns_at_once, settings.messages_a_minute, settings.vision_a_minute
            )
            store.use_writers(settings.database_writers)


ENGINES: dict[str, Make] = {
    "claude": _claude,
    "langgraph": _langgraph,
    "openai_agents": _openai_agents,
}
# What has to be installed for an engine: the package, and our extra that brings it.
NEEDS = {"langgraph": ("langgraph", "langgraph"), "openai_agents": ("agents", "openai")}


def graph_engine(graph: Any, settings: Settings) -> Engine:
    """The engine of a graph that somebody brings. It is under the name `langgraph`."""
    if not installed("langgraph"):
        raise ConfigError("A graph needs LangGraph. Install it: pip install 'turnlog[langgraph]'.")
    from turnlog.engines.langgraph.graph import GraphEngine

    return GraphEngine(graph, approval_timeout=settings.approval_timeout)


def graph_agent(graph: Any) -> Agent:
    """The agent that the whole graph is."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", getattr(graph, "name", None) or "")
    return Agent("graph" if name in ("", "LangGraph") else name.strip("_-")[:64] or "graph")


def installed(engine: str) -> bool:
    return engine not in NEEDS or find_spec(NEEDS[engine][0]) is not None


BUSES: dict[str, Callable[[Settings, Store], Bus]] = {
    "memory": _memory_bus,
    "redis": _redis_bus,
    "postgres": _postgres_bus,
}
