"""Settings: `turnlog.toml`, then the environment, which wins. Everything has a default."""

from turnlog.config.checks import refuse_open_door
from turnlog.config.reading import CONTRIB_PREFIXES, ENVIRONMENT, NAMES, load, unknown_setting
from turnlog.config.settings import DEFAULT_MODEL, Settings, address_of

__all__ = [
    "CONTRIB_PREFIXES",
    "DEFAULT_MODEL",
    "ENVIRONMENT",
    "NAMES",
    "Settings",
    "address_of",
    "load",
    "refuse_open_door",
    "unknown_setting",
]
