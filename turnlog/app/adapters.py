"""What the settings choose, made of them: buses by name, limits, policies, where files are."""

from collections.abc import Callable

from turnlog.config import Settings
from turnlog.errors import ConfigError
from turnlog.files.library import FileLibrary
from turnlog.files.workers import Workers
from turnlog.ports import Bus, Store
from turnlog.stores.files.urls import blobs_beside
from turnlog.tools.approval import Policy
from turnlog.transports import wire
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.limits import Connections, Limits, WriteLimits
from turnlog.turns.answers.engines import Engines
from turnlog.turns.answers.summaries import Summaries
from turnlog.turns.questions.limits import UserLimits


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


BUSES: dict[str, Callable[[Settings, Store], Bus]] = {
    "memory": _memory_bus,
    "redis": _redis_bus,
    "postgres": _postgres_bus,
}
