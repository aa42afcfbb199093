"""Who summarizes what leaves the window of a session."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


class Summary(NamedTuple):
    """A summary; "" where the model gave none. The call is to be kept in any case."""

    text: str
    call: HistorySummarized


class Summarizer(Protocol):
    """Makes one summary of what leaves, the former summary included."""

    async def summarize(self, leaving: Leaving, guard: CallGuard) -> Summary:
        """Raises EngineFailed, and nothing else, for what the provider did."""
        ...


class _Nobody:
    async def summarize(self, leaving: Leaving, guard: CallGuard) -> Summary:
        raise EngineFailed("no_summarizer", "There is no model here that could summarize.")


NOBODY: Summarizer = _Nobody()
