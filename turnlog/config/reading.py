"""Settings are read: `turnlog.toml`, then the environment, which wins."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from turnlog.config.agents import entries
from turnlog.config.settings import CHOICES, NUMBERS, Settings
from turnlog.errors import BadInput, ConfigError
from turnlog.projections.billing.budgets import read_budgets
from turnlog.projections.billing.calendar import zone
from turnlog.tools.identity import is_source
from turnlog.tools.mcp.server import servers
from turnlog.webhooks.endpoint import endpoints

# Settings of what ships beside the server begin like this. Only their names are read here, into
# `contrib`; each part of `turnlog.contrib` checks its own and refuses what it does not know.
CONTRIB_PREFIXES = ("bc_", "knowledge_")  # Business Central, the library
_PREFIX = "TURNLOG_"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9._-]+(:\d+)?|https?://\[[0-9a-f:]+\](:\d+)?")
_REFERENCE = re.compile(r"\$\{?(\w+)")
_FILE_ONLY = ("agents", "budgets", "identity", "mcp", "webhooks")
NAMES = [f.name for f in fields(Settings) if f.name != "contrib"]
ENVIRONMENT = {f"{_PREFIX}{name.upper()}": name for name in NAMES if name not in _FILE_ONLY} | {
    "ANTHROPIC_API_KEY": "api_key",
    "ANTHROPIC_BASE_URL": "base_url",
}


def load(
    env: Mapping[str, str] = os.environ,
    file: Path = Path("turnlog.toml"),
    *,
    whole: bool = True,
    **arguments: Any,
) -> Settings:
    """The settings: from these arguments, else the environment, else the file.

    `whole`: with the servers and addresses that a server talks to, whose secrets must be there.
    """
    from_file = _from_file(file)
    tables = [from_file.get(name, {}) for name in ("mcp", "webhooks")]
    _refuse_unknown(env, _referred(tables))
    if not whole:
        from_file = {n: v for n, v in from_file.items() if n not in ("agents", "mcp", "webhooks")}
    named = from_file | _from_environment(env)
    named |= {name: value for name, value in arguments.items() if value is not None}
    agents = entries(named.pop("agents", {}), file.parent)
    mcp = servers(named.pop("mcp", {}), env)
    webhooks = endpoints(named.pop("webhooks", {}), env)
    contrib = {name: _typed(name, named.pop(name)) for name in list(named) if _is_contrib(name)}
    typed = {name: _typed(name, value) for name, value in named.items()}
    return replace(Settings(), agents=agents, mcp=mcp, webhooks=webhooks, contrib=contrib, **typed)


def unknown_setting(
    name: str, known: Iterable[str], where: str = "There", *, prefix: str = ""
) -> ConfigError:
    """The error for a name that nobody reads, with the known name that it may stand for.

    `prefix`: what all of them begin with, and so makes none more alike.
    """
    others = [each.removeprefix(prefix) for each in known if each.startswith(prefix)]
    nearest = get_close_matches(name.removeprefix(prefix), others, n=1)
    hint = f" Did you mean {prefix + nearest[0]!r}?" if nearest else ""
    return ConfigError(f"{where} has an unknown setting: {name!r}.{hint}")


def _from_file(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        named = tomllib.loads(file.read_text(), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file.name} cannot be read: {error}.") from None
    for name in sorted(named.keys() - set(NAMES)):
        if not _is_contrib(name):
            raise unknown_setting(name, NAMES, file.name)
    return named


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    ours = {name: env[key] for key, name in ENVIRONMENT.items() if env.get(key)}
    lowered = {key.removeprefix(_PREFIX).lower(): key for key in env if key.startswith(_PREFIX)}
    return ours | {n: env[key] for n, key in lowered.items() if _is_contrib(n) and env[key]}


def _refuse_unknown(env: Mapping[str, str], referred: set[str]) -> None:
    """A variable that nobody reads is a setting that somebody believes in.

    `referred`: variables of any name that turnlog.toml itself takes values from.
    """
    for key in sorted(env):
        name = key.removeprefix(_PREFIX).lower()
        if not key.startswith(_PREFIX) or not env[key] or key in ENVIRONMENT or key in referred:
            continue
        if name in _FILE_ONLY:
            raise ConfigError(f"{key} is not read: write '{name}' into turnlog.toml.")
        if not _is_contrib(name):
            raise unknown_setting(key, ENVIRONMENT, "The environment", prefix=_PREFIX)


def _referred(value: Any) -> set[str]:
    """The variables that a table of the file names as ${NAME}."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return set().union(*map(_referred, parts))
    return set(_REFERENCE.findall(value)) if isinstance(value, str) else set()


def _is_contrib(name: str) -> bool:
    return name.startswith(CONTRIB_PREFIXES)


def _typed(name: str, value: Any) -> Any:
    if name in CHOICES:
        return _chosen(name, str(value).lower())
    if name in NUMBERS:
        return _number(name, value)
    if name == "budgets":
        return read_budgets(value)
    if name == "identity":
        return _identity(value)
    if name == "timezone":
        return _zone(str(value))
    if not isinstance(value, str):  # a list or a table has a text, too, which nobody meant
        raise ConfigError(f"{name!r} must be text in quotes, not {_shown(value)}.")
    return _sites(value) if name == "cors_origins" else value


def _identity(value: Any) -> Mapping[str, str]:
    """Parameter -> what the server fills it with."""
    sources = value if isinstance(value, dict) else {"": value}
    for name, source in sources.items():
        if not name or not isinstance(source, str) or not is_source(source):
            raise ConfigError(
                "'identity' is a table such as {owner_id = \"user\"}. A parameter is filled with"
                f' user, session, turn, call, nothing, model or "=some text", not {source!r}.'
            )
    return sources


def _sites(names: str) -> str:
    """Each as a browser says it in `Origin`: another spelling would never be that of a page."""
    for name in filter(None, map(str.strip, names.split(","))):
        if not _ORIGIN.fullmatch(name):
            raise ConfigError(
                "'cors_origins' has sites as https://erp.example or http://localhost:3000, with"
                f" commas between them, each by its name and without a path, not {name!r}."
            )
    return names


def _zone(name: str) -> str:
    try:
        zone(name)
    except BadInput as error:
        raise ConfigError(f"'timezone': {error}") from None
    return name


def _number(name: str, value: Any) -> float:
    kind, least, most = NUMBERS[name]
    try:
        number = kind(str(value))
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{name!r} must be {wanted}, not {_shown(value)}.") from None
    if not least <= number <= most:
        raise ConfigError(f"{name!r} must be between {least} and {most}, not {_shown(value)}.")
    return number


def _shown(value: Any) -> str:
    """As somebody may have written it: numbers of the file are decimals."""
    return str(value) if isinstance(value, Decimal) else repr(value)


def _chosen(name: str, value: str) -> Any:
    if value not in CHOICES[name]:
        raise ConfigError(f"{name!r} must be one of {', '.join(CHOICES[name])}, not {value!r}.")
    return value == "true" if value in ("true", "false") else value
