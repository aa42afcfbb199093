"""The adapters by name: what a setting or an argument of `create_app` may choose."""

from collections.abc import Callable

from turnlog.config import Settings
from turnlog.ports import Bus, KeepRaw, Model
from turnlog.telemetry.metrics import Metrics
from turnlog.transports import wire
from turnlog.turns.engines import Make


def _claude(key: str, url: str | None, settings: Settings, metrics: Metrics, raw: KeepRaw) -> Model:
    from turnlog.engines.claude.model import ClaudeModel

    cache = settings.prompt_cache
    return ClaudeModel(api_key=key, base_url=url, cache=cache, metrics=metrics, keep_raw=raw)


def _memory_bus(settings: Settings) -> Bus:
    from turnlog.buses.memory import MemoryBus

    return MemoryBus(wire.encode)


ENGINES: dict[str, Make] = {"claude": _claude}
BUSES: dict[str, Callable[[Settings], Bus]] = {"memory": _memory_bus}
