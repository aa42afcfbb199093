"""Fingerprints of all that a model is told before the messages.

Thoughts that came after another one are not told: the newest models tie a thought to everything
before it, and refuse it when that changes.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from turnlog.ports import ToolSpec


class Prefix(msgspec.Struct, frozen=True, array_like=True):
    """What stands before the messages. Its JSON is that of a list."""

    model: str
    system: str
    searching: Literal["on", 0] | None  # how many are left makes no difference, unless none is
    tools: Sequence[ToolSpec]

    @property
    def json(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def fingerprint(self) -> str:
        return _fingerprint_of(self.json)


class Prefixes:
    """The newest one of each agent: nearly every turn has the same, and takes no hash of it."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[bytes, str]] = {}  # its JSON, and the fingerprint

    def fingerprint(self, agent_id: str, prefix: Prefix) -> str:
        """That of the prefix, which is the agent's now."""
        json, newest = prefix.json, self._newest.get(agent_id)
        if newest is None or newest[0] != json:
            self._newest[agent_id] = newest = (json, _fingerprint_of(json))
        return newest[1]


def _fingerprint_of(json: bytes) -> str:
    return sha256(json).hexdigest()[:16]
