"""An address that is told things: [webhooks.NAME] in turnlog.toml."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from string import Template
from typing import Any
from urllib.parse import urlsplit

import msgspec

from turnlog.errors import ConfigError
from turnlog.projections.notices import TYPES
from turnlog.webhooks.addresses import is_public, literal

_NAME = re.compile(r"[a-zA-Z0-9]+([_-][a-zA-Z0-9]+)*")
MOST_NAME = 40
PREFIX = "whsec_"  # of a secret: "base64 encoded, prefixed with whsec_" (Standard Webhooks)
LEAST_SECRET, MOST_SECRET = 24, 64  # bytes, as Standard Webhooks has it


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where notices go, what they are signed with, and of what they tell."""

    name: str
    url: str
    secret: str | list[str] = field(repr=False)  # the newest first, while they are exchanged
    events: list[str] = field(default_factory=lambda: list(TYPES))
    allow_private: bool = False  # whether the address may be on this machine or in this network

    def __post_init__(self) -> None:
        for is_wrong, sentence in _WRONG:
            if is_wrong(self):
                raise ConfigError(f"webhooks.{self.name}: {sentence}.")

    @property
    def secrets(self) -> list[str]:
        return [self.secret] if isinstance(self.secret, str) else list(self.secret)

    @property
    def keys(self) -> list[bytes]:
        """What notices are signed with."""
        return [base64.b64decode(each.removeprefix(PREFIX)) for each in self.secrets]


def _is_secret(text: Any) -> bool:
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return False
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    return LEAST_SECRET <= len(key) <= MOST_SECRET


def _host(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None


def _is_private(url: str) -> bool:
    """Whether the address says so itself. A name is looked up when it is used."""
    address = literal(_host(url) or "")
    return address is not None and not is_public(address)


# fmt: off
_WRONG: list[tuple[Callable[[Endpoint], bool], str]] = [
    (lambda e: not _NAME.fullmatch(e.name) or len(e.name) > MOST_NAME,
     f"a name has 1 to {MOST_NAME} letters and digits, with single _ or - between them"),
    (lambda e: not _host(e.url),
     "'url' must be https://HOST/..."),
    (lambda e: "@" in urlsplit(e.url).netloc,
     "'url' must not hold a password: notices are signed"),
    (lambda e: not e.url.startswith("https://") and not e.allow_private,
     "'url' must begin with https://, unless 'allow_private' is true"),
    (lambda e: _is_private(e.url) and not e.allow_private,
     "the address is on this machine or in a private network; 'allow_private = true' allows it"),
    (lambda e: not e.secrets or not all(_is_secret(each) for each in e.secrets),
     f"'secret' must be {PREFIX} and {LEAST_SECRET} to {MOST_SECRET} bytes in base64;"
     " 'turnlog webhooks --new-secret' makes one"),
    (lambda e: not e.events or any(each not in TYPES for each in e.events),
     f"'events' must be among {', '.join(TYPES)}"),
]
# fmt: on


def endpoints(table: Any, env: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The endpoints of turnlog.toml's [webhooks.NAME]. Raises ConfigError with what is wrong."""
    if not isinstance(table, dict) or not all(isinstance(each, dict) for each in table.values()):
        raise ConfigError("'webhooks' must be tables: [webhooks.NAME] with 'url' and 'secret'.")
    return tuple(_endpoint(name, values, env) for name, values in table.items())


def _endpoint(name: str, values: dict[str, Any], env: Mapping[str, str]) -> Endpoint:
    known = {f.name for f in fields(Endpoint)} - {"name"}
    if unknown := sorted(values.keys() - known):
        raise ConfigError(f"webhooks.{name} has an unknown setting: {unknown[0]!r}.")
    given = {key: _expanded(name, value, env) for key, value in values.items()}
    try:
        return msgspec.convert(given | {"name": name}, Endpoint)
    except msgspec.ValidationError as error:
        raise ConfigError(f"webhooks.{name}: {error}.") from None


def _expanded(name: str, value: Any, env: Mapping[str, str]) -> Any:
    """Secrets need not stand in the file: ${NAME} is taken from the environment."""
    if isinstance(value, list):
        return [_expanded(name, each, env) for each in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    try:
        return Template(value).substitute(env)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"webhooks.{name}: {error} is not set in the environment.") from None
