"""What the settings allow together."""

from turnlog.config.settings import Settings
from turnlog.errors import ConfigError
from turnlog.net import LOOPBACK


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
    settings.seals  # noqa: B018 - it raises for a key that is none
    if settings.metrics_token is not None and len(settings.metrics_token) < 16:
        raise ConfigError("TURNLOG_METRICS_TOKEN is too short: use 16 random characters or more.")
