"""The files of a golden page: made of the words in its script, uploaded, attached, deleted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from turnlog.app import Turnlog
from turnlog.testing import made_files

SOMEBODY_ELSE = "somebody-else"


@dataclass
class Attached:
    """The files that a script names."""

    texts: dict[str, str] = field(default_factory=dict)  # by name
    foreign: set[str] = field(default_factory=set)  # names of files that are somebody else's
    _deleted: list[str] = field(default_factory=list)

    def has(self, what: str, *, somebody_elses: bool = False) -> None:
        """`NAME PAGE / PAGE`: a PDF of these pages, a text of these words, or an image."""
        name, _, text = what.partition(" ")
        self.texts[name] = text
        if somebody_elses:
            self.foreign.add(name)

    def deletes(self, name: str) -> None:
        """Before the next question."""
        self._deleted.append(name)

    def taken(self) -> list[str]:
        deleted, self._deleted = self._deleted, []
        return deleted

    async def upload(self, app: Turnlog, user_id: str, session_id: str) -> dict[str, str]:
        """The ids by name."""
        ids = {}
        with TemporaryDirectory() as folder:
            for name, text in self.texts.items():
                path = Path(folder) / name
                path.write_bytes(_made(name, text))
                owner = SOMEBODY_ELSE if name in self.foreign else user_id
                ids[name] = (await app.files.add(owner, session_id, path)).id
        return ids


def names_in(wishes: Iterable[str]) -> list[str]:
    """Of `with NAME, NAME`."""
    lists = [wish.removeprefix("with ") for wish in wishes if wish.startswith("with ")]
    return [name for names in lists for name in names.split(", ")]


def ids_of(names: Iterable[str], ids: Mapping[str, str]) -> list[str]:
    """A name that the script made nothing of stands for itself: an unknown file."""
    return [ids.get(name, name) for name in names]


def cited(citation: Mapping[str, Any]) -> str:
    """A citation in the table of a page: with its file where it has one."""
    text = f"block {citation['blockIndex']}: {citation['cited_text']}"
    if file := citation.get("file"):
        text += f" ({file['name']}, page {file['page']})"
    return f"{text}, which does not hold" if citation.get("verified") is False else text


def _made(name: str, text: str) -> bytes:
    if name.endswith(".pdf"):
        return made_files.pdf(*text.split(" / "))
    if name.endswith(".png"):
        return made_files.picture()
    return text.encode()
