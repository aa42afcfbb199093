"""Where a Business Central is, and which application signs in to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from urllib.parse import quote, urlsplit

from turnlog.config import unknown_setting
from turnlog.errors import ConfigError
from turnlog.net import keeps_secrets

BASE_URL = "https://api.businesscentral.dynamics.com"
AUTH_URL = "https://login.microsoftonline.com"
PREFIX = "bc_"  # of our settings: bc_tenant, TURNLOG_BC_TENANT
_REQUIRED = ("bc_tenant", "bc_client_id", "bc_client_secret")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
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
        """Whether a link leads to the same server. A token goes nowhere else."""
        return _origin(url) == _origin(self.base_url)


SETTINGS = tuple(f"{PREFIX}{each.name}" for each in fields(Endpoint))


def endpoint_from(settings: Mapping[str, str]) -> Endpoint | None:
    """The endpoint that the `bc_` settings describe, or None if there are none.

    Raises ConfigError for an unknown `bc_` setting, and for settings that describe half of one.
    """
    values = {name: value for name, value in settings.items() if name.startswith(PREFIX)}
    for name in sorted(values.keys() - set(SETTINGS)):
        raise unknown_setting(name, SETTINGS, "Business Central")
    if not values:
        return None
    missing = [repr(name) for name in _REQUIRED if name not in values]
    if missing:
        raise ConfigError(f"Business Central needs {', '.join(missing)} as well.")
    return Endpoint(**{name.removeprefix(PREFIX): value for name, value in values.items()})


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
