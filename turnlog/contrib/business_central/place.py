"""Where a Business Central is, and as whom to sign in there."""

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from turnlog.errors import ConfigError
from turnlog.net import keeps_secrets

BASE_URL = "https://api.businesscentral.dynamics.com"
AUTH_URL = "https://login.microsoftonline.com"


@dataclass(frozen=True, kw_only=True)
class Place:
    """An environment of a tenant, and the application that signs in to it."""

    tenant: str
    client_id: str
    client_secret: str = field(repr=False)
    environment: str = "Production"
    company: str | None = None  # its name or id; None: the only one there is
    base_url: str = BASE_URL
    auth_url: str = AUTH_URL

    def __post_init__(self) -> None:
        for name in ("base_url", "auth_url"):
            if not keeps_secrets(getattr(self, name)):
                raise ConfigError(f"'bc_{name}' must be https://…, not {getattr(self, name)!r}.")

    @property
    def api(self) -> str:
        tenant, environment = quote(self.tenant, safe=""), quote(self.environment, safe="")
        return f"{self.base_url.rstrip('/')}/v2.0/{tenant}/{environment}/api/v2.0"

    @property
    def token_url(self) -> str:
        return f"{self.auth_url.rstrip('/')}/{quote(self.tenant, safe='')}/oauth2/v2.0/token"

    def owns(self, url: str) -> bool:
        """Whether a link leads to the same server: a token goes nowhere else."""
        return _origin(url) == _origin(self.base_url)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
