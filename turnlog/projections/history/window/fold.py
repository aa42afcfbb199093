"""All that a prompt needs to know of the log since the anchor, folded event by event.

A window that was folded before goes on with the events that came since: nothing before them is
looked at again. It gives the same as one that is folded anew, or says that it cannot.
"""

import math
from collections.abc import Sequence, Set
from datetime import datetime

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.ports import Excerpt
from turnlog.ports.files import Told
from turnlog.projections.history.attachments import is_refusal, plan
from turnlog.projections.history.clean import Checked, CleanHistory, is_in_full, repair_record
from turnlog.projections.history.fold import Files, History
from turnlog.projections.history.lint import Finding
from turnlog.projections.history.messages import container_of
from turnlog.projections.history.window.memory import bytes_kept, bytes_of
from turnlog.projections.history.window.opening import NO_OPENING, Opening
from turnlog.projections.history.window.size import Measure

# Bytes of memory that a window and each of its calls take beside what is told.
OF_A_WINDOW, OF_A_CALL = 2_500, 150


class Window:
    """What one agent is told of a session, from an anchor on."""

    __slots__ = ("_emptied", "_forgotten", "_history", "_in_container", "_last", "_new",
                 "_repaired", "_speaker", "_with_files", "anchor", "measure", "mended_in_full",
                 "opening", "position", "tool_ids")  # fmt: skip

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
        self.position = anchor - 1  # of the newest event that it knows
        self._last = ""  # the id of that event
        self._emptied = emptied
        self.opening = NO_OPENING
        self.measure = Measure(speaker)
        self.tool_ids: dict[str, None] = {}  # of every call; an empty set is three times as large
        self.mended_in_full = False  # the model has rejected blocks that it had sent itself
        self._speaker = speaker
        self._forgotten = math.inf if forgetful else -1
        self._with_files: list[Stamped] = []  # questions, and refusals after them
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
        total = OF_A_WINDOW
        if self.tool_ids:
            total += OF_A_CALL * len(self.tool_ids)
        if self._new or self._with_files:
            total += bytes_kept([*self._new, *self._with_files])
        if self.opening is not NO_OPENING:
            total += bytes_of(self.opening)
        return total + self._history.bytes if self._history else total

    def grow(self, log: Excerpt) -> bool:
        """Go on with what the log has after the newest event that is known.

        False: that is another event there, something before it was erased, or the window has
        moved. Then the window has to be folded anew.
        """
        if log.before != self._last or log.emptied != self._emptied:
            return False
        for entry in log.entries:
            if type(entry.envelope.event) is k.HistoryAnchored:
                return False
        self._add(log.entries)
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
            self.position, self._last = log[-1].position, log[-1].envelope.event_id

    def _note(self, entry: Stamped) -> None:
        match entry.envelope.event:
            case k.UserMessageSent(files=files) if files:
                self._with_files.append(entry)
            case k.Error() as error if self._with_files and is_refusal(error):
                self._with_files.append(entry)
            case k.Message(details=details) as message if details and container_of(message):
                self._in_container = message
            case k.ToolUse(tool_use_id=call):
                self.tool_ids[call] = None
            case k.HistoryRepaired() as record:
                self._repaired = record
                self.mended_in_full = self.mended_in_full or is_in_full(record)
            case k.HistoryAnchored(summary=summary, files=files):
                self.opening = Opening(summary, files)
                self._forgotten = max(self._forgotten, entry.position)
