"""Who summarizes what leaves the window of a session."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from turnlog.errors import EngineFailed
from turnlog.events.kinds import HistorySummarized
from turnlog.ports.guard import CallGuard
from turnlog.ports.model import Prompt


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """What leaves the window, in the two forms that it can be summarized from."""

    agent_id: str  # who speaks
    model: str  # with which model
    prompt: Callable[[], Prompt]  # as that agent was told it, for a model that compacts by itself
    text: Callable[[], str]  # as one text, for any model


# Hears of each call that has begun, when it is over: to be kept, however it ended.
Billed = Callable[[HistorySummarized], None]


class Summarizer(Protocol):
    """Makes one summary of what leaves, the former summary included."""

    async def summarize(self, leaving: Leaving, guard: CallGuard, billed: Billed) -> str:
        """The summary; "" where the model gave none.

        Raises EngineFailed, and nothing else, for what the provider did.
        """
        ...


class _Nobody:
    async def summarize(self, leaving: Leaving, guard: CallGuard, billed: Billed) -> str:
        raise EngineFailed("no_summarizer", "There is no model here that could summarize.")


NOBODY: Summarizer = _Nobody()
