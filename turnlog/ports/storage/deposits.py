"""Deposits: parts of files that were left with the model's provider, and are named after that."""

from typing import Any, Protocol

from turnlog.events.base import Value
from turnlog.ports.files import Part


class FileSource(dict[str, Any]):
    """The source of a content block that knows which part of whose file it is.

    On the wire it is the plain dictionary; a model that cannot leave files with its provider
    never looks at the rest.
    """

    __slots__ = ("file_id", "part", "user_id")

    def __init__(self, source: dict[str, Any], user_id: str, file_id: str, part: Part) -> None:
        super().__init__(source)
        self.user_id = user_id
        self.file_id = file_id
        self.part = part


class Deposit(Value, frozen=True, kw_only=True):
    """One part of one file, at one account of a provider."""

    account: str  # a fingerprint of the key and the address: never the key
    provider_id: str  # what the provider calls it
    user_id: str
    file_id: str
    part: Part
    expires_at: str  # the provider removes it by itself then


class Deposits(Protocol):
    """The rows of deposits. Whoever leaves something with a provider adds its row at once."""

    async def add(self, deposit: Deposit) -> None: ...

    async def find(
        self, account: str, user_id: str, file_id: str, part: Part, now: str
    ) -> Deposit | None:
        """The one that lasts longest, if any lasts after `now`."""
        ...

    async def orphans(self, account: str, *, limit: int) -> list[Deposit]:
        """Those of this account whose file is deleted."""
        ...

    async def every(self, account: str, *, limit: int) -> list[Deposit]: ...

    async def forget(self, deposit: Deposit) -> None: ...

    async def forget_expired(self, now: str) -> None:
        """Of every account: the provider has removed them."""
        ...
