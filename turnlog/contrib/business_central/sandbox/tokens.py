"""The part of Entra ID's token endpoint that client credentials need."""

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

SCOPE = "https://api.businesscentral.dynamics.com/.default"


class Tokens:
    """Issues tokens to a client that knows the secret, and checks them later."""

    def __init__(
        self, tenant: str, client_id: str, secret: str, seconds: int, clock: Callable[[], datetime]
    ) -> None:
        self._tenant, self._client_id, self._secret = tenant, client_id, secret
        self._seconds, self._clock = seconds, clock
        self._expiry: dict[str, datetime] = {}

    def issue(self, tenant: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """The status and the body of the response."""
        if tenant != self._tenant:
            return _refusal(
                400, "invalid_request", f"AADSTS90002: Tenant '{tenant[:50]}' not found."
            )
        if form.get("grant_type") != "client_credentials":
            return _refusal(
                400, "unsupported_grant_type", "AADSTS70003: The grant type is not known."
            )
        if form.get("scope") != SCOPE:
            return _refusal(400, "invalid_scope", "AADSTS70011: The provided scope is not valid.")
        if form.get("client_id") != self._client_id:
            return _refusal(400, "unauthorized_client", "AADSTS700016: Application was not found.")
        if not secrets.compare_digest(
            form.get("client_secret", "").encode(), self._secret.encode()
        ):
            return _refusal(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.")
        token = secrets.token_urlsafe(24)
        self._expiry[token] = self._clock() + timedelta(seconds=self._seconds)
        return 200, {
            "token_type": "Bearer",
            "expires_in": self._seconds,
            "access_token": token,
        }

    def accepts(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        expiry = self._expiry.get(token)
        return kind.lower() == "bearer" and expiry is not None and self._clock() < expiry

    def expire(self) -> None:
        """Make every token expire now."""
        self._expiry.clear()


def _refusal(status: int, error: str, description: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": error, "error_description": description}
