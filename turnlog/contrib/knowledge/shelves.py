"""Whose documents a user may read: the user's own, and those of the user's teams."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from turnlog.contrib.knowledge.document import Found
from turnlog.contrib.knowledge.embedding import is_installed
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.contrib.knowledge.places import Place
from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.ports import Store
from turnlog.ports.library import Document, PageText

EVERYBODY = "*"
Teams = Mapping[str, frozenset[str]]  # a team's name -> its members


def read_teams(text: str) -> Teams:
    """`sales: alice, bob; all: *`. Raises ConfigError for anything else."""
    teams: dict[str, frozenset[str]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, members = part.partition(":")
        named = frozenset(filter(None, (member.strip() for member in members.split(","))))
        if not colon or not name.strip() or not named or name.strip() in teams:
            raise ConfigError(
                f"'knowledge_teams': {part!r} is no team. Write 'sales: alice, bob; all: *'."
            )
        teams[name.strip()] = named
    return teams


class Shelves:
    """The library as one user sees it. It lives from `async with` on."""

    def __init__(self, place: Place | Path | None, teams: Teams | None = None) -> None:
        """`place`: a folder, or another database; None: the documents go with the process."""
        self._place = place
        self._teams = teams or {}
        self._open = AsyncExitStack()

    async def __aenter__(self) -> "Shelves":
        async with AsyncExitStack() as stack:
            place = self._place or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.library = await stack.enter_async_context(Library(place))
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._open.aclose()

    def __str__(self) -> str:
        ways = "words and meaning" if is_installed() else "words"
        return f"a library, searched by {ways}"

    async def documents(self, user_id: str) -> list[Document]:
        return await self.library.documents(self.owners(user_id))

    async def document(self, user_id: str, document_id: str) -> Document:
        return await self.library.document(self.owners(user_id), document_id)

    async def find(self, user_id: str, query: str, most: int = 5) -> list[Found]:
        return await self.library.find(self.owners(user_id), query, most)

    async def add(
        self,
        user_id: str,
        title: str,
        pages: Sequence[PageText],
        *,
        source: str,
        team: str | None = None,
    ) -> Document:
        """Into the user's own documents, or those of a team that the user is in."""
        if not title.strip() or len(title) > 500:
            raise BadInput("A document has a title of 1 to 500 characters.")
        owner = f"user:{user_id}" if team is None else self._team(user_id, team)
        parts = [Page(text, number) for text, number in pages]
        return await self.library.add(owner, title.strip(), parts, source=source, by=user_id)

    async def delete(self, user_id: str, document_id: str) -> Document:
        return await self.library.delete(self.owners(user_id), document_id)

    def owners(self, user_id: str) -> list[str]:
        """Whose documents the user may read."""
        teams = [name for name, members in self._teams.items() if {user_id, EVERYBODY} & members]
        return [f"user:{user_id}", *(f"team:{name}" for name in teams)]

    def _team(self, user_id: str, team: str) -> str:
        if f"team:{team}" not in self.owners(user_id):
            raise NotFound(f"You are in no team {team!r}.")
        return f"team:{team}"


def shelves_beside(store: Store, folder: str, settings: Mapping[str, str]) -> Shelves:
    """Beside the log, as it is kept; in memory, for as long as the process lives."""
    for name in settings:
        if name.startswith("knowledge_") and name != "knowledge_teams":
            raise ConfigError(f"{name!r} is unknown. There is 'knowledge_teams'.")
    return Shelves(_place_beside(store, folder), read_teams(settings.get("knowledge_teams", "")))


def _place_beside(store: Store, folder: str) -> Place | Path | None:
    scheme, _, rest = store.url.partition(":")
    if scheme == "postgresql":
        from turnlog.contrib.knowledge.places.postgres import PostgresPlace
        from turnlog.stores.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            return PostgresPlace(store)
    return None if scheme == "memory" else Path(rest if scheme == "sqlite" else folder)
