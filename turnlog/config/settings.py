"""Every setting with its default, its kind and its bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnlog.config.agents import AgentEntry
from turnlog.errors import ConfigError
from turnlog.events.clock import in_utc
from turnlog.events.rows.seal import LEAST_KEY, Seals
from turnlog.files.library import FileLimits
from turnlog.net import LOOPBACK
from turnlog.pipeline.admission import Limits
from turnlog.ports import ASKER, RULES, ApprovalRule, check_approver, check_rule
from turnlog.projections.billing.budgets import Budget
from turnlog.tools.mcp.server import McpServer
from turnlog.transports.access.jwks import Issuer
from turnlog.webhooks.endpoint import Endpoint

DEFAULT_MODEL = "claude-sonnet-5-5"
CONNECTIONS_A_TURN = 50  # far more than tabs and scripts need; a bound all the same
WRITES_A_MESSAGE = 5  # a session, a file, an approval, a title: what comes with a message


def address_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One field a setting: `max_tokens` is TURNLOG_MAX_TOKENS, or max_tokens in turnlog.toml."""

    app: str | None = None  # MODULE:APP, which commands load; default: the demo
    host: str = "127.0.0.1"
    port: int = 8000
    data: str = "turnlog-data"
    # sqlite:FOLDER, postgresql://…, memory:; default: sqlite, in `data`
    database_url: str | None = field(default=None, repr=False)
    database_writers: int = 2  # connections of a node to PostgreSQL that write what turns do
    redis_url: str | None = field(default=None, repr=False)  # live events between nodes
    model: str = DEFAULT_MODEL
    max_tokens: int = 8192
    max_calls: int = 50  # model calls in one turn
    max_characters: int = 200_000  # of one question
    thinking_budget: int = 10_000
    history_tokens: int = 150_000  # of one prompt: beyond, what came first is summarized
    window_bytes: int = 64_000_000  # of memory: what agents of all sessions were told last
    summary_model: str = ""  # that summarizes it; default: the session's, or a cheap one
    searches_a_session: int = 10  # on the web
    prompt_cache: str = "5m"  # how long the provider keeps what it has read; or 1h, or off
    chunk_window: float = 0.05  # seconds whose chunks are shown together; 0: each at once
    cors_origins: str = ""  # other sites whose pages may ask, with commas between them
    turn_timeout: float = 900.0  # seconds that one turn may take
    turns_at_once: int = 20  # of one user
    # of one user: requests under way, streams and sockets of a node; default: 50 for each turn
    connections_at_once: int | None = None
    messages_a_minute: int = 120  # of one user
    # of one user: everything that changes anything, messages too; default: 5 for each message
    writes_a_minute: int | None = None
    approval: ApprovalRule = "writes"  # when tools ask a person first: always, never, or writes
    approver: str = ASKER  # who may decide: asker, others, role:NAME, others:NAME
    files_url: str | None = None  # file:FOLDER, s3://BUCKET/PREFIX; default: beside the log
    file_workers: int = 2  # processes that read files
    image_bytes: int = 10_000_000  # of one image
    image_side: int = 0  # pixels of what a model is given of an image; 0: by the model
    pdf_bytes: int = 50_000_000  # of one PDF
    pdf_pages: int = 10_000
    document_bytes: int = 10_000_000  # of one document that is neither
    vision_a_minute: int = 30  # messages with files, of one user
    files_quota: int = 1_000_000_000  # bytes of all files of one user
    deposit_days: int = 0  # that files rest with Anthropic, to be named instead of sent again
    approval_timeout: float = 86_400.0  # seconds that an approval stays open
    grace: float = 10.0  # seconds that running turns get when the server stops
    log_format: str = "text"  # or json
    log_level: str = "info"
    serve_mcp: bool = True  # whether other programs may use the tools at /mcp
    mcp_agents: str = ""  # agents that other programs may ask at /mcp, with commas; or *
    log_content: bool = False  # whether log lines may hold what people and tools say
    tool_errors: str = "auto"  # what a tool raises is told in "full", or by "type" only
    keep_raw: bool = False  # whether the provider's bytes are stored beside the log
    auth_secret: str | None = field(default=None, repr=False)
    auth_issuer: str | None = None  # instead of a secret: an identity provider
    auth_audience: str | None = None
    auth_jwks_url: str | None = None
    auth_client_id: str | None = None  # of the web UI, to sign in with the provider
    auth_admin_claim: str = "admin"
    auth_roles_claim: str = "roles"
    # [identity] in turnlog.toml: further parameters of tools that say who acts, or other sources
    identity: Mapping[str, str] = field(default_factory=dict, hash=False)
    assertion_key: str | None = field(default=None, repr=False)  # signs who acts: docs/mcp.md
    assertion_issuer: str = "turnlog"  # what assertions say in `iss`
    seal_key: str | None = field(default=None, repr=False)  # see docs/audit.md
    seal_key_since: str = ""  # what was written before that time has no key
    old_seal_keys: str = field(default="", repr=False)  # used before: a line each, oldest first
    metrics_token: str | None = field(default=None, repr=False)  # opens /metrics, nothing else
    prices: str | None = None  # a price book of your own, TOML
    timezone: str = "UTC"  # where the days of bills and budgets begin
    budgets: tuple[Budget, ...] = ()  # [[budgets]] in turnlog.toml
    api_key: str | None = field(default=None, repr=False)  # ANTHROPIC_API_KEY
    base_url: str | None = None  # ANTHROPIC_BASE_URL
    provider: str = "anthropic"  # where Claude runs: bedrock, vertex, foundry
    agents: tuple[AgentEntry, ...] = ()  # [agents.NAME] in turnlog.toml, and nowhere else
    mcp: tuple[McpServer, ...] = ()  # [mcp.NAME] in turnlog.toml, and nowhere else
    webhooks: tuple[Endpoint, ...] = ()  # [webhooks.NAME] in turnlog.toml, and nowhere else
    # Settings of what ships beside the server, by name; secrets are among them.
    contrib: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        """Raises ConfigError for a rule of approvals that nobody knows."""
        check_rule(self.approval, "the settings")
        check_approver(self.approver, "the settings")
        if self.deposit_days and self.provider != "anthropic":
            raise ConfigError(
                f"'deposit_days' is for Anthropic's own API, and 'provider' is {self.provider!r}."
            )

    @property
    def address(self) -> str:
        return address_of(self.host, self.port)

    @property
    def most_writes(self) -> int:
        """A minute. It grows with `messages_a_minute`."""
        return self.writes_a_minute or WRITES_A_MESSAGE * self.messages_a_minute

    @property
    def most_connections(self) -> int:
        """At once. It grows with `turns_at_once`."""
        return self.connections_at_once or CONNECTIONS_A_TURN * self.turns_at_once

    @property
    def seals(self) -> Seals:
        """How rows of the log are sealed, and proven. Raises ConfigError for a key that can be
        guessed, and for a `since` that is no time: compared as text, it could excuse every row
        from having the key."""
        if self.seal_key is not None and len(self.seal_key) < LEAST_KEY:
            raise ConfigError("TURNLOG_SEAL_KEY is too short: use 32 random characters or more.")
        if self.old_seal_keys and self.seal_key is None:
            raise ConfigError("TURNLOG_OLD_SEAL_KEYS needs TURNLOG_SEAL_KEY, the key of today.")
        if self.seal_key_since and self.seal_key is None:
            raise ConfigError(
                "TURNLOG_SEAL_KEY_SINCE needs TURNLOG_SEAL_KEY: since when is it used?"
            )
        try:
            since = self.seal_key_since and in_utc(self.seal_key_since)
        except (ValueError, OverflowError):
            raise ConfigError(
                "'seal_key_since' must be a time, as 2026-11-18T09:00:00Z, not"
                f" {self.seal_key_since!r}."
            ) from None
        return Seals(self.seal_key, since, self.old_seal_keys.split("\n"))

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
            history_tokens=self.history_tokens,
        )

    @property
    def file_limits(self) -> FileLimits:
        """What files may take up."""
        return FileLimits(
            image_bytes=self.image_bytes,
            pdf_bytes=self.pdf_bytes,
            document_bytes=self.document_bytes,
            pdf_pages=self.pdf_pages,
            image_side=self.image_side,
            quota=self.files_quota,
        )

    @property
    def store_url(self) -> str:
        """Where the log is."""
        return self.database_url or f"sqlite:{self.data}"

    @property
    def simulated(self) -> bool:
        """Without a key, and without an address that needs none, the simulation answers."""
        nobody = self.api_key is None and self.base_url is None
        return nobody and self.provider == "anthropic"

    @property
    def tells_errors(self) -> bool:
        """Whether what a tool raises is told in full: where nobody but the local user is here."""
        if self.tool_errors != "auto":
            return self.tool_errors == "full"
        alone = self.auth_secret is None and self.auth_issuer is None
        return alone and self.host in LOOPBACK

    @property
    def issuer(self) -> Issuer | None:
        """The identity provider. Raises ConfigError where the settings name half of one."""
        if self.auth_issuer is not None:
            return Issuer(
                name=self.auth_issuer,
                audience=self.auth_audience,
                jwks_url=self.auth_jwks_url,
                client_id=self.auth_client_id,
            )
        for name in ("auth_audience", "auth_jwks_url", "auth_client_id"):
            if getattr(self, name) is not None:
                raise ConfigError(f"{name!r} needs 'auth_issuer': whose tokens are they?")
        return None


# Every number with its kind and its bounds.
NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "port": (int, 0, 65_535),
    "max_tokens": (int, 1, 1_000_000),
    "max_calls": (int, 1, 10_000),
    "max_characters": (int, 1, 10_000_000),
    "file_workers": (int, 1, 64),
    "database_writers": (int, 1, 64),
    "image_bytes": (int, 1, 100_000_000),
    "image_side": (int, 0, 8_000),
    "pdf_bytes": (int, 1, 1_000_000_000),
    "pdf_pages": (int, 1, 100_000),
    "document_bytes": (int, 1, 100_000_000),
    "vision_a_minute": (int, 1, 1_000_000),
    "files_quota": (int, 0, 10**15),
    "deposit_days": (int, 0, 90),
    "thinking_budget": (int, 1_000, 100_000),
    "searches_a_session": (int, 0, 10_000),
    "chunk_window": (float, 0, 5),
    "history_tokens": (int, 1_000, 1_000_000),
    "window_bytes": (int, 0, 100_000_000_000),
    "grace": (float, 0, 3_600),
    "turn_timeout": (float, 1, 86_400),
    "approval_timeout": (float, 1, 31_536_000),
    "turns_at_once": (int, 1, 100_000),
    "connections_at_once": (int, 1, 1_000_000),
    "messages_a_minute": (int, 1, 1_000_000),
    "writes_a_minute": (int, 1, 1_000_000),
}

CHOICES = {
    "provider": ("anthropic", "bedrock", "vertex", "foundry"),
    "approval": RULES,
    "prompt_cache": ("5m", "1h", "off"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
    "serve_mcp": ("true", "false"),
    "log_content": ("true", "false"),
    "keep_raw": ("true", "false"),
    "tool_errors": ("auto", "full", "type"),
}
