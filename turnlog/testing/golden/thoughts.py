"""Golden pages that think: the session's setting is changed, and the model asked accordingly."""

from collections.abc import Sequence
from typing import Any

import aiohttp

from turnlog.simulator.listener import listen


async def switch(app: Any, session_id: str, setting: dict[str, Any] | None) -> None:
    """The session's own setting, over HTTP; it holds from here on."""
    if setting is not None:
        async with listen(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as client:
            path = f"{url}/api/sessions/{session_id}/thinking"
            async with client.patch(path, json=setting) as response:
                assert response.status == 200


def asked_otherwise(requests: Sequence[dict[str, Any]], wanted: bool) -> list[str]:
    """What the model was asked to do about thinking, where it is not what the user wants."""
    asked = [body.get("thinking", {}).get("type") for body in requests]
    wrong = [kind for kind in asked if (kind in ("enabled", "adaptive")) != wanted]
    return [f"thinking is wanted: {wanted}, the model was asked for {kind!r}" for kind in wrong]
