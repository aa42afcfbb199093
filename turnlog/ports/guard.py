"""Who may refuse the next model call of a turn."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from turnlog.errors import TurnlogError
from turnlog.events.base import Event
from turnlog.ports.model import Model, Prompt


class Verdict(NamedTuple):
    """What is to be kept of the check, and why the call may not be made, if it may not."""

    records: Sequence[Event] = ()
    refusal: TurnlogError | None = None


class CallGuard(Protocol):
    """Looks at the budgets before each call, on what the log says was spent."""

    async def before(self, prompt: Prompt, model: Model, agent_id: str = "") -> Verdict:
        """Whether this agent may make this call."""
        ...

    async def after(self, *, goes_on: bool, agent_id: str = "") -> Verdict:
        """After an answer: whether another call may come, where the model goes on."""
        ...


NOTHING_AGAINST = Verdict()


class _NoGuard:
    async def before(self, prompt: Prompt, model: Model, agent_id: str = "") -> Verdict:
        return NOTHING_AGAINST

    async def after(self, *, goes_on: bool, agent_id: str = "") -> Verdict:
        return NOTHING_AGAINST


NO_GUARD: CallGuard = _NoGuard()
