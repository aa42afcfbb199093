"""Moves the window of a session when it has become too large: the one place that decides.

In:  the events since the anchor, who speaks, and how much room there is.
Out: the events that stay, what is told before them, and what is to be recorded.

What leaves is summarized first, together with the summary that there was. If nobody can, the
window stays as it is for as long as there is room; then what leaves is lost to the model, and the
log says so. A turn never fails because of it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnlog.errors import TurnlogError
from turnlog.events.base import Event, Stamped
from turnlog.events.kinds import HistorySummarized, SummaryFailed
from turnlog.ports import CallGuard, Leaving, Prompt, Summarizer
from turnlog.projections.history.window import size as sizes
from turnlog.projections.history.window.digest import digest
from turnlog.projections.history.window.opening import Opening, after, opening_of

_log = logging.getLogger(__name__)
UNEXPLAINED = "internal_error"


class Window(NamedTuple):
    """What the model is told of the log."""

    events: Sequence[Stamped]
    opening: Opening  # what is told before them
    records: Sequence[Event] = ()
    moved: bool = False


class Mover(NamedTuple):
    """What a window is moved with."""

    room: sizes.Room
    summarizer: Summarizer
    guard: CallGuard
    prompt_of: Callable[[Sequence[Stamped], Opening], Prompt]  # as the speaker was told it


async def window_of(
    events: Sequence[Stamped],
    speaker: str,
    mover: Mover | None,
    *,
    shorter: bool = False,
    files: sizes.FileTokens = sizes.NO_FILES,
) -> Window:
    """The window, moved if that is due. Without a mover it stays where it is."""
    opening = opening_of(events)
    as_it_is = Window(events, opening)
    if mover is None:
        return as_it_is
    size = sizes.size_of(events, speaker, files)
    too_long = shorter or sizes.was_too_long(events)
    anchor = sizes.moved_anchor(events, size, mover.room, too_long=too_long, files=files)
    if anchor is None:
        return as_it_is
    at_once = too_long or sizes.must_move(size, mover.room)
    if not at_once and sizes.is_too_soon(events, size, mover.room, files):
        return as_it_is
    leaving = [entry for entry in events if entry.position < anchor]
    made = await _summarized(leaving, opening, speaker, mover)
    records: list[Event] = [made.call] if made.call else []
    if made.problem is not None:
        code, error = made.problem
        facts = {"code": code, "error": error, "lost": at_once, **size._asdict()}
        _log.warning("what leaves the window could not be summarized", extra={"facts": facts})
        records.append(SummaryFailed(**facts))
        if not at_once:
            return as_it_is._replace(records=records)
    opening = after(opening, leaving, made.text)
    staying = [entry for entry in events if entry.position >= anchor]
    return Window(staying, opening, [*records, opening.record(anchor)], moved=True)


class _Made(NamedTuple):
    text: str = ""
    call: HistorySummarized | None = None
    problem: tuple[str, str] | None = None  # a code and a sentence


async def _summarized(
    leaving: Sequence[Stamped], opening: Opening, speaker: str, mover: Mover
) -> _Made:
    """The summary, or why there is none."""
    asked = Leaving(
        agent_id=speaker,
        prompt=lambda: mover.prompt_of(leaving, opening),
        text=lambda: digest(opening, leaving),
    )
    try:
        summary = await mover.summarizer.summarize(asked, mover.guard)
    except TurnlogError as failure:
        return _Made(problem=(failure.code, str(failure)))
    except Exception:  # a bug, here or in a model of somebody's own: not worth a turn
        _log.exception("the summary failed")
        return _Made(problem=(UNEXPLAINED, "The summary failed. The server's log says why."))
    if not summary.text.strip():
        return _Made(call=summary.call, problem=("no_summary", "The model gave no summary."))
    return _Made(summary.text, summary.call)
