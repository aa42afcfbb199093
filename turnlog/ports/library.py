"""The library: documents that agents look things up in."""

from collections.abc import Sequence
from typing import Protocol

from turnlog.events.base import Value


class Document(Value, frozen=True, kw_only=True, rename="camel"):
    """A document in somebody's library."""

    id: str
    owner: str  # "user:alice" or "team:sales"
    title: str
    source: str  # "file:ID" where it was uploaded
    state: str  # waiting | ready | failed
    done: int  # passages that are indexed, of `passages`
    passages: int
    error: str | None
    added_at: str
    added_by: str


PageText = tuple[str, int | None]  # the text of a page and its number; None: there are no pages


class Library(Protocol):
    """The documents of users and of their teams. Somebody else's are not found."""

    async def documents(self, user_id: str) -> list[Document]:
        """What the user may read, newest first."""
        ...

    async def document(self, user_id: str, document_id: str) -> Document: ...

    async def add(
        self,
        user_id: str,
        title: str,
        pages: Sequence[PageText],
        *,
        source: str,
        team: str | None = None,
    ) -> Document:
        """Take a document in; it is indexed later, and `state` says when that is done."""
        ...

    async def delete(self, user_id: str, document_id: str) -> Document: ...
