"""What the model is told at the start of a window: what came before, in short."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnlog.events import kinds as k
from turnlog.events.base import Stamped

MOST_SUMMARY = 24_000  # characters
MOST_FILES = 50  # that left the window and are still named: the newest
LOST = "[What came after that, until the part below, is missing here: it could not be summarized.]"
ALL_LOST = "[The beginning of this conversation is missing here: it could not be summarized.]"


class Opening(NamedTuple):
    """What stands before the first message of a window. Nothing, where it begins at the start."""

    summary: str = ""
    files: Sequence[dict[str, Any]] = ()  # attached before: id, name and mediaType

    @property
    def text(self) -> str:
        """As the model is told it; "" where there is nothing to tell."""
        if not self.summary and not self.files:
            return ""
        before = f"[This conversation began earlier. What came before, in short:]\n{self.summary}"
        return f"{before}\n{self._names}" if self.files else before

    @property
    def readable(self) -> bool:
        """Whether there is a file that a tool can read."""
        return any(not file["mediaType"].startswith("image/") for file in self.files)

    @property
    def _names(self) -> str:
        names = ", ".join(f"{file['name']!r} (id {file['id']})" for file in self.files)
        return f"[Files that were attached before: {names}. They can be read with read_file.]"

    def record(self, anchor: int) -> k.HistoryAnchored:
        return k.HistoryAnchored(anchor=anchor, summary=self.summary, files=[*self.files])


NO_OPENING = Opening()


def opening_of(log: Sequence[Stamped]) -> Opening:
    """Of the window that these events are."""
    for entry in reversed(log):
        if isinstance(entry.event, k.HistoryAnchored):
            return Opening(entry.event.summary, entry.event.files)
    return Opening()


def after(former: Opening, leaving: Sequence[Stamped], summary: str) -> Opening:
    """The next opening. Without a summary of what leaves, it says that something is missing."""
    text = summary or (f"{former.summary}\n{LOST}" if former.summary else ALL_LOST)
    return Opening(_short(text), [*former.files, *_files(leaving)][-MOST_FILES:])


def _short(text: str) -> str:
    return text if len(text) <= MOST_SUMMARY else f"{text[:MOST_SUMMARY]} […]"


def _files(log: Sequence[Stamped]) -> list[dict[str, Any]]:
    events = [entry.event for entry in log if isinstance(entry.event, k.UserMessageSent)]
    names = ("id", "name", "mediaType")
    return [{name: file[name] for name in names} for event in events for file in event.files]
