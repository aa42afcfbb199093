"""What users send, and the line in which it waits until their session has answered the rest."""

from typing import Any, Literal, Protocol

from msgspec.structs import force_setattr

from turnlog.errors import TooMany
from turnlog.events.base import Value
from turnlog.events.content import Sampling

MOST_IN_LINE = 20  # questions of one session


class Question(Value, frozen=True, kw_only=True):
    """What a user sends."""

    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    sampling: Sampling | None = None
    request_id: str | None = None
    on_busy: Literal["reject", "enqueue"] = "reject"
    message_id: str | None = None  # made by our side, where a protocol shows it first
    client_tools: list[dict[str, Any]] = []  # that the client runs: name, description, parameters
    roles: list[str] = []  # of the user, those that agents are for; set by the server

    def __post_init__(self) -> None:
        """A file counts once: who attaches the same content under two names is given one id."""
        if len(self.file_ids) > 1:
            force_setattr(self, "file_ids", list(dict.fromkeys(self.file_ids)))


class Waiting(Value, frozen=True, kw_only=True):
    """A question in line."""

    turn_id: str  # of the turn that it will be
    session_id: str
    user_id: str
    question: Question
    created_at: str


class Line(Protocol):
    """The line of each session, first come, first served.

    Promises: a question that has joined is kept until its turn begins, over restarts too. A turn
    of the session begins only if it is the first in line, or if nobody is; its place in the line
    is free in the same step, so it begins once, whoever tries.
    """

    async def join(self, waiting: Waiting) -> Waiting:
        """Stand behind all others. Returns the one that waits already under this request id.

        Raises NotFound where the session is not the user's, AlreadyAsked where the session has
        seen the request, and TooMany where MOST_IN_LINE wait already.
        """
        ...

    async def turn_ids(self, session_id: str) -> list[str]:
        """Who waits in this session, the first one first."""
        ...

    async def get(self, turn_id: str) -> Waiting | None: ...

    async def of_request(self, session_id: str, request_id: str) -> Waiting | None: ...

    async def sessions(self) -> list[str]:
        """Where somebody waits and no turn runs or waits for a person."""
        ...

    async def leave(self, turn_id: str) -> None:
        """The question is not asked. Nothing happens where it does not wait any more."""
        ...


def too_many_in_line() -> TooMany:
    """What the one is told who would be one too many."""
    return TooMany(f"{MOST_IN_LINE} messages wait in this session already. Wait for one.", 5)
