"""Moves the window of a session when it has become too large: the one place that decides.

In:  the window, and how much room there is.
Out: the window that is told, and what is to be recorded.

What leaves is summarized first, together with the summary that there was. If nobody can, the
window stays as it is for as long as there is room; then what leaves is lost to the model, and the
log says so. A turn never fails because of it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from turnlog.errors import TurnlogError
from turnlog.events.base import Event, Stamped
from turnlog.events.kinds import HistorySummarized, SummaryFailed
from turnlog.ports import CallGuard, Leaving, Prompt, Summarizer
from turnlog.projections.history.window import size as sizes
from turnlog.projections.history.window.digest import digest
from turnlog.projections.history.window.fold import Window
from turnlog.projections.history.window.opening import Opening, after

_log = logging.getLogger(__name__)
UNEXPLAINED = "internal_error"


class Moved(msgspec.Struct, frozen=True):
    """The window that is told, and what came of moving it."""

    window: Window
    records: Sequence[Event] = ()
    moved: bool = False


class Summarizing(NamedTuple):
    """Who summarizes in a turn, and where its calls are until the log has them."""

    summarizer: Summarizer
    guard: CallGuard
    unkept: dict[str, HistorySummarized]


class Mover(msgspec.Struct, frozen=True):
    """What a window is moved with."""

    room: sizes.Room
    speaker: str
    model: str  # that the speaker speaks with
    summarizer: Summarizer
    guard: CallGuard
    unkept: dict[str, HistorySummarized]
    read: Callable[[], Awaitable[Sequence[Stamped]]]  # all events of the window
    prompt_of: Callable[[Sequence[Stamped], Opening], Prompt]  # as the speaker was told it


async def moved(
    window: Window, mover: Mover | None, *, shorter: bool = False, files: sizes.FileTokens
) -> Moved:
    """The window, moved if that is due. Without a mover it stays where it is.

    `shorter`: the model could not take it in.
    """
    stays = Moved(window)
    if mover is None:
        return stays
    size, room = window.measure.size(files), mover.room
    too_long = shorter or window.measure.was_too_long
    if not too_long and not sizes.is_too_large(size, room):
        return stays
    at_once = too_long or sizes.must_move(size, room)
    if not at_once and window.measure.is_too_soon(size, room, files):
        return stays
    events = await mover.read()
    anchor = sizes.moved_anchor(events, size, room, too_long=too_long, files=files)
    if anchor is None:
        return stays
    leaving = [entry for entry in events if entry.position < anchor]
    made = await _summarized(leaving, window.opening, mover)
    records: list[Event] = [*made.calls]
    if made.problem is not None:
        code, error = made.problem
        facts = {"code": code, "error": error, "lost": at_once, **msgspec.structs.asdict(size)}
        _log.warning("what leaves the window could not be summarized", extra={"facts": facts})
        records.append(SummaryFailed(**facts))
        if not at_once:
            return Moved(window, records)
    opening = after(window.opening, leaving, made.text)
    staying = [entry for entry in events if entry.position >= anchor]
    window = Window(mover.speaker, anchor, staying, opening=opening, forgetful=True)
    return Moved(window, [*records, opening.record(anchor)], moved=True)


class _Made(NamedTuple):
    calls: Sequence[HistorySummarized]
    text: str = ""
    problem: tuple[str, str] | None = None  # a code and a sentence


async def _summarized(leaving: Sequence[Stamped], opening: Opening, mover: Mover) -> _Made:
    """The summary, or why there is none."""
    request = Leaving(
        agent_id=mover.speaker,
        model=mover.model,
        prompt=lambda: mover.prompt_of(leaving, opening),
        text=lambda: digest(opening, leaving),
    )
    calls: list[HistorySummarized] = []

    def billed(call: HistorySummarized) -> None:
        calls.append(call)
        mover.unkept[call.message_id] = call  # the turn may be stopped before they are recorded

    try:
        text = await mover.summarizer.summarize(request, mover.guard, billed)
    except TurnlogError as failure:
        return _Made(calls, problem=(failure.code, str(failure)))
    except Exception:  # a bug, here or in a model of somebody's own: not worth a turn
        _log.exception("the summary failed")
        problem = (UNEXPLAINED, "The summary failed. The server's log says why.")
        return _Made(calls, problem=problem)
    if not text.strip():
        return _Made(calls, problem=("no_summary", "The model gave no summary."))
    return _Made(calls, text)
