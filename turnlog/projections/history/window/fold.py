"""All that a prompt needs to know of the log since the anchor, folded event by event.

A window that was folded before goes on with the events that came since: nothing before them is
looked at again. It gives the same as one that is folded anew, or says that it cannot.
"""

import math
from collections.abc import Sequence, Set
from datetime import datetime

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.ports.files import Told
from turnlog.projections.history.attachments import plan
from turnlog.projections.history.clean import Checked, CleanHistory
from turnlog.projections.history.lint import Finding
from turnlog.projections.history.messages import (
    Files,
    History,
    container_of,
    is_in_full,
    repair_record,
)
from turnlog.projections.history.window.memory import bytes_of
from turnlog.projections.history.window.opening import NO_OPENING, Opening
from turnlog.projections.history.window.size import Measure

# Bytes of memory that a window and each of its calls take beside what is told.
OF_A_WINDOW, OF_A_CALL = 2_500, 150


class Window:
    """What one agent is told of a session, from an anchor on."""

    def __init__(
        self,
        speaker: str,
        anchor: int,
        log: Sequence[Stamped],
        *,
        opening: Opening | None = None,
        forgetful: bool = False,
        emptied: int = 0,
    ) -> None:
        """`opening`: None: that of the log. `forgetful`: thoughts of earlier turns are not told.
        `emptied`: see `Excerpt`.
        """
        self.anchor = anchor
        self.emptied = emptied
        self.opening = NO_OPENING
        self.measure = Measure(speaker)
        self.tool_ids: set[str] = set()  # of every call
        self.mended_in_full = False  # the model has rejected blocks that it had sent itself
        self._speaker = speaker
        self._last: tuple[int, str] | None = None  # the newest event: its position and its id
        self._forgotten = math.inf if forgetful else -1
        self._with_files: list[Stamped] = []
        self._in_container: k.Message | None = None  # the newest answer of one
        self._repaired: k.HistoryRepaired | None = None  # the newest record
        self._new: Sequence[Stamped] = ()  # not told yet
        self._history: History | None = None
        self._add(log)
        if opening is not None:
            self.opening = opening

    @property
    def bytes(self) -> int:
        """Of memory, all that it holds, counted anew: of what is settled that costs nothing."""
        beside = OF_A_WINDOW + OF_A_CALL * len(self.tool_ids)
        told = self._history.bytes if self._history else 0
        return beside + told + bytes_of([*self._new, *self._with_files, self.opening])

    @property
    def position(self) -> int:
        """Of the newest event that it knows."""
        return self._last[0] if self._last else self.anchor - 1

    def grow(self, log: Sequence[Stamped]) -> bool:
        """Go on with a log that begins with the newest event that is known.

        False: it has another one there, or the window has moved; it has to be folded anew.
        """
        known, new = log[:1], log[1:]
        if [(entry.position, entry.envelope.event_id) for entry in known] != [self._last]:
            return False
        if any(isinstance(entry.event, k.HistoryAnchored) for entry in new):
            return False
        self._add(new)
        return True

    def plan(self, model: str) -> list[Told]:
        """How each of its files is told, oldest first."""
        return plan(self._with_files, model) if self._with_files else []

    def tell(self, prefix: str, files: Files, to_be_answered: Set[str]) -> Checked | None:
        """The messages that the agent is told; see `History`. None: what was told before would
        have to be told otherwise, so the window has to be folded anew.
        """
        if self._history is None:
            self._history = History(
                self._speaker, opening=self.opening, forgotten=self._forgotten, prefix=prefix
            )
        elif not self._history.stays_with(prefix, files):
            return None
        self._history.prefix = prefix
        self._history.add(self._new, files)
        self._new = ()
        return self._history.telling(
            files, to_be_answered=to_be_answered, fully=self.mended_in_full
        )

    @property
    def clean(self) -> CleanHistory:
        """How much of what was told breaks no rule."""
        return self._history.clean.of_what_was_told() if self._history else CleanHistory()

    def newly_repaired(self, repaired: Sequence[Finding]) -> k.HistoryRepaired | None:
        """The record of these repairs, unless the last one in the log says the same."""
        record = repair_record(repaired)
        return record if record != self._repaired else None

    def open_container(self, now: datetime) -> str | None:
        """The newest one of the window, unless it has expired: the API would refuse that."""
        if self._in_container is None:
            return None
        try:
            expires = datetime.fromisoformat(self._in_container.details["container"]["expires_at"])
            return container_of(self._in_container) if expires > now else None
        except (LookupError, TypeError, ValueError):  # nobody can tell when: not worth the risk
            return None

    def _add(self, log: Sequence[Stamped]) -> None:
        self._new = [*self._new, *log]
        for entry in log:
            self.measure.add(entry)
            self._note(entry)
        if log:
            self._last = log[-1].position, log[-1].envelope.event_id

    def _note(self, entry: Stamped) -> None:
        match entry.event:
            case k.UserMessageSent(files=files) if files:
                self._with_files.append(entry)
            case k.Message() as message if container_of(message):
                self._in_container = message
            case k.ToolUse(tool_use_id=call):
                self.tool_ids.add(call)
            case k.HistoryRepaired() as record:
                self._repaired = record
                self.mended_in_full = self.mended_in_full or is_in_full(record)
            case k.HistoryAnchored(summary=summary, files=files):
                self.opening = Opening(summary, files)
                self._forgotten = max(self._forgotten, entry.position)
