"""Settings: `turnlog.toml`, then the environment, which wins. Everything has a default."""

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from turnlog.errors import BadInput, ConfigError
from turnlog.net import LOOPBACK
from turnlog.pipeline.admission import Limits
from turnlog.ports import Agent
from turnlog.projections.billing.budgets import Budget, read_budgets
from turnlog.projections.billing.calendar import zone
from turnlog.tools.mcp.server import McpServer, servers
from turnlog.tools.tool import Approval
from turnlog.transports.jwks import Issuer

DEFAULT_MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One field a setting: `max_tokens` is TURNLOG_MAX_TOKENS, or max_tokens in turnlog.toml."""

    host: str = "127.0.0.1"
    port: int = 8000
    data: str = "turnlog-data"
    database_url: str | None = None  # sqlite:FOLDER, memory:; default: sqlite, in `data`
    model: str = DEFAULT_MODEL
    max_tokens: int = 8192
    max_calls: int = 50  # model calls in one turn
    max_characters: int = 200_000  # of one question
    thinking_budget: int = 10_000
    searches_a_session: int = 10  # on the web
    prompt_cache: str = "5m"  # how long the provider keeps what it has read; or 1h, or off
    cors_origins: str = ""  # other sites whose pages may ask, with commas between them
    turn_timeout: float = 900.0  # seconds that one turn may take
    turns_at_once: int = 20  # of one user
    messages_a_minute: int = 120  # of one user
    approval: Approval = "writes"  # whom tools ask first: always, never, or writes only
    approval_timeout: float = 86_400.0  # seconds that an approval stays open
    grace: float = 10.0  # seconds that running turns get when the server stops
    log_format: str = "text"  # or json
    log_level: str = "info"
    log_content: bool = False  # whether log lines may hold what people and tools say
    keep_raw: bool = False  # whether the provider's bytes are stored beside the log
    auth_secret: str | None = field(default=None, repr=False)
    auth_issuer: str | None = None  # instead of a secret: an identity provider
    auth_audience: str | None = None
    auth_jwks_url: str | None = None
    auth_admin_claim: str = "admin"
    metrics_token: str | None = field(default=None, repr=False)  # opens /metrics, nothing else
    prices: str | None = None  # a price book of your own, TOML
    timezone: str = "UTC"  # where the days of bills and budgets begin
    budgets: tuple[Budget, ...] = ()  # [[budgets]] in turnlog.toml
    api_key: str | None = field(default=None, repr=False)  # ANTHROPIC_API_KEY
    base_url: str | None = None  # ANTHROPIC_BASE_URL
    mcp: tuple[McpServer, ...] = ()  # [mcp.NAME] in turnlog.toml, and nowhere else
    # Settings of what ships beside the server, by name; secrets are among them.
    contrib: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def origins(self) -> list[str]:
        """The sites whose pages may ask."""
        return [site.strip() for site in self.cors_origins.split(",") if site.strip()]

    @property
    def limits(self) -> Limits:
        """What a question and its answer may cost."""
        return Limits(
            model=self.model,
            max_tokens=self.max_tokens,
            max_calls=self.max_calls,
            max_characters=self.max_characters,
            searches=self.searches_a_session,
        )

    @property
    def store_url(self) -> str:
        """Where the log is."""
        return self.database_url or f"sqlite:{self.data}"

    @property
    def simulated(self) -> bool:
        """Without a key, and without an address that needs none, the simulation answers."""
        return self.api_key is None and self.base_url is None

    @property
    def issuer(self) -> Issuer | None:
        """The identity provider. Raises ConfigError where the settings name half of one."""
        if self.auth_issuer is not None:
            return Issuer(
                name=self.auth_issuer, audience=self.auth_audience, jwks_url=self.auth_jwks_url
            )
        for name in ("auth_audience", "auth_jwks_url"):
            if getattr(self, name) is not None:
                raise ConfigError(f"{name!r} needs 'auth_issuer': whose tokens are they?")
        return None


# Settings of what ships beside the server begin like this. Only their names are read here, into
# `contrib`; each part of `turnlog.contrib` checks its own and refuses what it does not know.
CONTRIB_PREFIXES = ("bc_",)  # Business Central
_PREFIX = "TURNLOG_"
_FILE_ONLY = ("budgets", "mcp")
NAMES = [f.name for f in fields(Settings) if f.name != "contrib"]
ENVIRONMENT = {f"{_PREFIX}{name.upper()}": name for name in NAMES if name not in _FILE_ONLY} | {
    "ANTHROPIC_API_KEY": "api_key",
    "ANTHROPIC_BASE_URL": "base_url",
}
# Every number with its kind and its bounds.
_NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "port": (int, 0, 65_535),
    "max_tokens": (int, 1, 1_000_000),
    "max_calls": (int, 1, 10_000),
    "max_characters": (int, 1, 10_000_000),
    "thinking_budget": (int, 1_000, 100_000),
    "searches_a_session": (int, 0, 10_000),
    "grace": (float, 0, 3_600),
    "turn_timeout": (float, 1, 86_400),
    "approval_timeout": (float, 1, 31_536_000),
    "turns_at_once": (int, 1, 100_000),
    "messages_a_minute": (int, 1, 1_000_000),
}

_CHOICES = {
    "approval": ("always", "never", "writes"),
    "prompt_cache": ("5m", "1h", "off"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
    "log_content": ("true", "false"),
    "keep_raw": ("true", "false"),
}


def load(
    env: Mapping[str, str] = os.environ, file: Path = Path("turnlog.toml"), **arguments: Any
) -> Settings:
    """The settings: from these arguments, else the environment, else the file."""
    named = _from_file(file) | _from_environment(env)
    named |= {name: value for name, value in arguments.items() if value is not None}
    mcp = servers(named.pop("mcp", {}), env)
    contrib = {name: str(named.pop(name)) for name in list(named) if _is_contrib(name)}
    typed = {name: _typed(name, value) for name, value in named.items()}
    return replace(Settings(), mcp=mcp, contrib=contrib, **typed)


def unknown_setting(name: str, known: Iterable[str], where: str = "There") -> ConfigError:
    """The error for a name that nobody reads, with the known name that it may stand for."""
    nearest = get_close_matches(name, list(known), n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return ConfigError(f"{where} has an unknown setting: {name!r}.{hint}")


def for_clients(settings: Settings, agents: Iterable[Agent]) -> dict[str, Any]:
    """What a user interface needs to know before it asks anything."""
    return {
        "model": settings.model,
        "simulated": settings.simulated,
        "agents": [{"id": agent.id, "name": agent.ref.name} for agent in agents],
        "limits": {
            "maxCharacters": settings.max_characters,
            "turnsAtOnce": settings.turns_at_once,
            "messagesAMinute": settings.messages_a_minute,
            "searchesASession": settings.searches_a_session,
            "turnTimeout": settings.turn_timeout,
            "approvalTimeout": settings.approval_timeout,
        },
    }


def refuse_open_door(settings: Settings) -> None:
    """Without authentication everybody is the local user: on this machine only."""
    secret, issuer = settings.auth_secret, settings.issuer
    if secret is None and issuer is None and settings.host not in LOOPBACK:
        raise ConfigError(
            f"Without authentication turnlog listens on loopback only, not on {settings.host!r}."
            " Set TURNLOG_AUTH_SECRET (32 characters or more) or TURNLOG_AUTH_ISSUER to open it."
        )
    if secret is not None and issuer is not None:
        raise ConfigError("Set TURNLOG_AUTH_SECRET or TURNLOG_AUTH_ISSUER, not both.")
    if secret is not None and len(secret) < 32:
        raise ConfigError("TURNLOG_AUTH_SECRET is too short: use 32 random characters or more.")
    if settings.metrics_token is not None and len(settings.metrics_token) < 16:
        raise ConfigError("TURNLOG_METRICS_TOKEN is too short: use 16 random characters or more.")


def _from_file(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        named = tomllib.loads(file.read_text(), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name} cannot be read: {error}.") from None
    for name in sorted(named.keys() - set(NAMES)):
        if not _is_contrib(name):
            raise unknown_setting(name, NAMES, file.name)
    return named


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    ours = {name: env[key] for key, name in ENVIRONMENT.items() if env.get(key)}
    lowered = {key.removeprefix(_PREFIX).lower(): key for key in env if key.startswith(_PREFIX)}
    return ours | {n: env[key] for n, key in lowered.items() if _is_contrib(n) and env[key]}


def _is_contrib(name: str) -> bool:
    return name.startswith(CONTRIB_PREFIXES)


def _typed(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _chosen(name, str(value).lower())
    if name in _NUMBERS:
        return _number(name, value)
    if name == "budgets":
        return read_budgets(value)
    if name == "timezone":
        return _zone(str(value))
    return str(value)


def _zone(name: str) -> str:
    try:
        zone(name)
    except BadInput as error:
        raise ConfigError(f"'timezone': {error}") from None
    return name


def _number(name: str, value: Any) -> float:
    kind, least, most = _NUMBERS[name]
    try:
        number = kind(str(value))
    except ValueError:
        raise ConfigError(f"{name!r} must be {kind.__name__}, not {value!r}.") from None
    if not least <= number <= most:
        raise ConfigError(f"{name!r} must be between {least:g} and {most:g}, not {value!r}.")
    return number


def _chosen(name: str, value: str) -> Any:
    if value not in _CHOICES[name]:
        raise ConfigError(f"{name!r} must be one of {', '.join(_CHOICES[name])}, not {value!r}.")
    return value == "true" if value in ("true", "false") else value
