"""The engines that ship, by name, and how they reach their models."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.config import Settings
from turnlog.errors import ConfigError
from turnlog.files.library import FileLibrary
from turnlog.ports import Agent, Engine, KeepRaw, Model, Store
from turnlog.stores.raw_ledger import keeping_raw
from turnlog.telemetry.metrics import Metrics
from turnlog.turns.answers.engines import Make

if TYPE_CHECKING:
    from turnlog.engines.claude.provider_files import ProviderFiles


class Provider(NamedTuple):
    """How the engines that ship reach their models."""

    key: str
    url: str | None
    settings: Settings
    metrics: Metrics
    raw: KeepRaw
    files: "ProviderFiles | None"


@asynccontextmanager
async def provider(
    settings: Settings, metrics: Metrics, library: FileLibrary, store: Store | None
) -> AsyncIterator[Provider]:
    """The provider of the settings, or a simulated Claude where there is none. `store`: it is
    open; without one, no file is left with the provider.
    """
    async with (
        _address(settings) as (key, url),
        keeping_raw(settings) as raw,
        _left_files(settings, key, url, store, library) as files,
    ):
        yield Provider(key, url, settings, metrics, raw, files)


@asynccontextmanager
async def _address(settings: Settings) -> AsyncIterator[tuple[str, str | None]]:
    """A key, and where it is good."""
    if not settings.simulated:
        yield settings.api_key or "none", settings.base_url
        return
    from turnlog.simulator import SimulatedClaude

    key = secrets.token_hex(16)  # nobody else talks to the embedded simulation
    async with SimulatedClaude(keep=10, key=key).serve() as url:
        yield key, url


@asynccontextmanager
async def _left_files(
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


def _claude(provider: Provider, *, soon: bool = False) -> Model:
    from turnlog.engines.claude.model import ClaudeModel
    from turnlog.engines.claude.platforms import PLATFORMS

    settings = provider.settings
    platform = PLATFORMS.get(settings.provider)
    if platform and platform.needs and find_spec(platform.needs.partition(".")[0]) is None:
        extra = {"bedrock": "bedrock", "vertex": "vertex"}[settings.provider]
        raise ConfigError(
            f"{settings.provider!r} needs {platform.needs}: pip install 'turnlog[{extra}]'."
        )
    return ClaudeModel(
        api_key=provider.key,
        base_url=provider.url,
        cache=settings.prompt_cache,
        metrics=provider.metrics,
        keep_raw=provider.raw,
        platform=platform,
        files=provider.files,
        window=settings.chunk_window,
    )


def _langgraph(provider: Provider, *, soon: bool) -> Engine:
    from turnlog.engines.langgraph.engine import LangGraphEngine

    return LangGraphEngine(_claude(provider), soon=soon)


def _openai_agents(provider: Provider, *, soon: bool) -> Engine:
    from turnlog.engines.openai_agents.engine import OpenAIAgentsEngine

    return OpenAIAgentsEngine(_claude(provider), soon=soon)


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


ENGINES: dict[str, Make] = {
    "claude": _claude,
    "langgraph": _langgraph,
    "openai_agents": _openai_agents,
}
# What has to be installed for an engine: the package, and our extra that brings it.
NEEDS = {"langgraph": ("langgraph", "langgraph"), "openai_agents": ("agents", "openai")}
