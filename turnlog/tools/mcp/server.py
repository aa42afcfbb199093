"""An MCP server as it is configured: one line of turnlog.toml, or one `McpServer(...)`."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from string import Template
from typing import Any

import msgspec

from turnlog.errors import ConfigError
from turnlog.ports import ApprovalRule, check_approver, check_rule
from turnlog.tools.identity import is_source

_NAME = re.compile(r"[a-zA-Z0-9]+([_-][a-zA-Z0-9]+)*")
_MOST_NAME = 24
_MINTED = "token"


@dataclass(frozen=True)
class McpServer:
    """Where it is, what may be believed of it, and how it learns who asks."""

    name: str
    url: str | None = None  # streamable HTTP; "/mcp" is this server's own
    command: str | Sequence[str] | None = None  # or a program that talks on stdin and stdout
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    approval: ApprovalRule | None = None  # when to ask a person
    approver: str | None = None  # and who may decide
    tools: Sequence[str] | None = None  # which of its tools are taken, by its names; None: all
    trusted: bool = False  # whether its word that a tool only reads is taken
    timeout: float = 60.0  # seconds, of one call
    prefix: bool = True  # whether its tools are called crm__find, and not find
    identity: str | Mapping[str, str] = field(default_factory=dict)  # "token", or by argument
    user_header: str | None = None  # a header that says who asks
    token_secret: str | None = field(default=None, repr=False)  # what "token" is signed with
    assertion: bool = False  # whether each call carries who acts, signed
    agents: Sequence[str] = ()  # of turnlog.toml: who may use it; all, if none is named

    def __post_init__(self) -> None:
        check_rule(self.approval, f"mcp.{self.name}")
        check_approver(self.approver, f"mcp.{self.name}")
        for is_wrong, sentence in _WRONG:
            if is_wrong(self):
                raise ConfigError(f"mcp.{self.name}: {sentence}.")

    @property
    def is_own(self) -> bool:
        """Whether it is this very process, which knows the user of a call anyway."""
        return self.url is not None and self.url.startswith("/")

    @property
    def mints(self) -> bool:
        return self.is_own or self.identity == _MINTED

    @property
    def knows_user(self) -> bool:
        """Whether each user needs a connection of their own."""
        return self.mints or self.user_header is not None

    @property
    def by_argument(self) -> Mapping[str, str]:
        """Parameter -> what it is filled with."""
        return {} if isinstance(self.identity, str) else self.identity

    @property
    def audience(self) -> str:
        """Whom an assertion is for."""
        return self.url or f"mcp:{self.name}"

    @property
    def program(self) -> list[str]:
        given = self.command or ()
        return shlex.split(given) if isinstance(given, str) else list(given)


# fmt: off
_WRONG: list[tuple[Callable[[McpServer], bool], str]] = [
    (lambda s: not _NAME.fullmatch(s.name) or len(s.name) > _MOST_NAME,
     f"a name has 1 to {_MOST_NAME} letters and digits, with single _ or - between them"),
    (lambda s: (s.url is None) == (not s.command),
     "give either 'url' or 'command'"),
    (lambda s: s.url is not None and not s.url.startswith(("http://", "https://", "/")),
     "'url' must begin with http:// or https://"),
    (lambda s: s.command is not None and s.knows_user,
     "a program on stdin knows no header and no token: name an argument in 'identity'"),
    (lambda s: isinstance(s.identity, str) and s.identity != _MINTED,
     "'identity' is \"token\", or a table such as {user_id = \"user\"}"),
    (lambda s: s.identity == _MINTED and not s.is_own and len(s.token_secret or "") < 32,
     "identity \"token\" needs 'token_secret', 32 characters or more, which that server knows"),
    (lambda s: not all(is_source(source) for source in s.by_argument.values()),
     "'identity' fills with user, session, turn, call, nothing, model or \"=some text\""),
    (lambda s: isinstance(s.tools, str),
     "'tools' is a list of names"),
    (lambda s: not 0 < s.timeout <= 86_400,
     "'timeout' must be between 0 and 86400 seconds"),
]
# fmt: on


def servers(table: Any, env: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The servers of turnlog.toml's [mcp.NAME]. Raises ConfigError with what is wrong."""
    if not isinstance(table, dict) or not all(isinstance(each, dict) for each in table.values()):
        raise ConfigError("'mcp' must be tables: [mcp.NAME] with 'url' or 'command'.")
    return tuple(_server(name, values, env) for name, values in table.items())


def _server(name: str, values: dict[str, Any], env: Mapping[str, str]) -> McpServer:
    known = {f.name for f in fields(McpServer)} - {"name"}
    if unknown := sorted(values.keys() - known):
        raise ConfigError(f"mcp.{name} has an unknown setting: {unknown[0]!r}.")
    given = {key: _expanded(name, value, env) for key, value in values.items()}
    try:
        return msgspec.convert(given | {"name": name}, McpServer)
    except msgspec.ValidationError as error:
        raise ConfigError(f"mcp.{name}: {error}.") from None


def _expanded(name: str, value: Any, env: Mapping[str, str]) -> Any:
    """Secrets need not stand in the file: ${NAME} is taken from the environment."""
    if isinstance(value, dict):
        return {key: _expanded(name, each, env) for key, each in value.items()}
    if not isinstance(value, str) or "$" not in value:
        return value
    try:
        return Template(value).substitute(env)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"mcp.{name}: {error} is not set in the environment.") from None
