"""What the settings allow together, and what of them a client may know."""

from collections.abc import Iterable
from typing import Any

from turnlog.config.settings import Settings
from turnlog.errors import ConfigError
from turnlog.net import LOOPBACK
from turnlog.ports import Agent


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
