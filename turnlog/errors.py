"""What can go wrong, in words for a person.

Every error carries a code for programs, a sentence for people, and whether trying again
makes sense. Transports turn them into problem documents, the pipeline into `error` events.
"""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NAME = 100  # characters: to look for the nearest of a million takes a quarter second


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name that is nearest, or ""."""
    nearest = get_close_matches(name, list(known), n=1) if len(name) <= MOST_NAME else []
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


class TurnlogError(Exception):
    """Something turnlog can explain. Anything else is a bug and is reported without details."""

    code = "internal_error"
    retryable = False


class NotFound(TurnlogError):
    """It does not exist, or belongs to someone else: the two look the same from outside."""

    code = "not_found"


class AgentGone(NotFound):
    """This server does not have the agent, or its engine. Another one may, or it itself later."""

    def __init__(self, what: str) -> None:
        wait = "A message in line stays there until it is."
        super().__init__(f"The {what} is not here any more. {wait}")


class BadInput(TurnlogError):
    """The request cannot be carried out as it is; the sentence says what to change."""

    code = "bad_input"


class BadParameter(BadInput):
    """One parameter is wrong: it is named."""

    def __init__(self, sentence: str, name: str) -> None:
        super().__init__(sentence)
        self.name = name


class TooLarge(BadInput):
    """The request is understood but exceeds a limit."""

    code = "too_large"


class Unreadable(BadInput):
    """A file is not what it should be, or cannot be read within the limits."""

    code = "unreadable_file"


class QuotaUsedUp(TooLarge):
    """The user's files would take up more than they may."""

    code = "quota_exceeded"

    def __init__(self, used: int, size: int, quota: int) -> None:
        super().__init__(
            f"Your files take up {used} bytes; {size} more would exceed the {quota} that you may"
            " use. Delete some first."
        )


class Unauthorized(TurnlogError):
    """Nobody, or somebody whose token does not hold."""

    code = "unauthorized"


class Forbidden(TurnlogError):
    """The user is known, and may not do this."""

    code = "forbidden"


class Busy(TurnlogError):
    """The session is answering already."""

    code = "busy"
    retryable = True

    def __init__(self, turn_id: str, *, waiting: bool = False, advice: str = "") -> None:
        sentence = "This session is still answering. Wait for it to finish, or stop it."
        super().__init__(sentence + advice)
        self.turn_id = turn_id
        self.waiting = waiting  # for a person's approval


class Closing(TurnlogError):
    """This server is stopping and begins nothing new. Another one does, or it itself later."""

    code = "closing"
    retryable = True

    def __init__(self) -> None:
        super().__init__("This server is being stopped. Send it again: another one will take it.")


class Archived(TurnlogError):
    """An archived session takes no messages."""

    code = "archived"

    def __init__(self) -> None:
        super().__init__("This session is archived. Set `archived` to false to go on with it.")


class BeingDeleted(TurnlogError):
    """The same content is being deleted at this moment."""

    code = "being_deleted"
    retryable = True


class TooMany(TurnlogError):
    """The user asks more than the limits allow."""

    code = "too_many"
    retryable = True

    def __init__(self, sentence: str, retry_after: int) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  # seconds


class BudgetUsedUp(TurnlogError):
    """A model call would exceed what a user, or a session, may spend."""

    code = "budget_exceeded"


class TooManyCalls(TurnlogError):
    """The turn needs more model calls than one turn may."""

    code = "too_many_calls"

    def __init__(self) -> None:
        super().__init__("The agent went on calling tools without end.")


class TimedOut(TurnlogError):
    """The turn took longer than a turn may."""

    code = "timed_out"
    retryable = True


class AlreadyAsked(TurnlogError):
    """The same requestId was sent before: this is the turn it started."""

    code = "already_asked"

    def __init__(self, turn_id: str, *, state: str, first_seq: int) -> None:
        super().__init__(f"requestId was used before, by turn {turn_id!r}.")
        self.turn_id = turn_id
        self.state = state
        self.first_seq = first_seq  # where the turn begins in the log


class Reused(TurnlogError):
    """A requestId came again with another message."""

    code = "request_id_reused"


class AlreadyDecided(TurnlogError):
    """An approval is answered once, and in time."""

    code = "already_decided"


class ContentErased(TurnlogError):
    """A turn is not gone on with where something of it was erased: nobody can tell what it did."""

    code = "content_erased"

    def __init__(self) -> None:
        super().__init__("A part of this turn was erased, so it cannot go on. Please ask again.")


class TurnOver(TurnlogError):
    """Somebody else has ended this turn, or has taken it over."""

    code = "turn_over"


class AlreadyBegun(TurnlogError):
    """A write begins once."""

    code = "already_begun"

    def __init__(self, tool_use_id: str) -> None:
        super().__init__(f"The call {tool_use_id!r} has begun before, and is not run again.")


class MessageIdTaken(TurnlogError):
    """A provider gave an id that another message has. The pipeline mints a fresh one."""

    code = "message_id_taken"


class EngineFailed(TurnlogError):
    """The model could not answer. Code and sentence are safe to show."""

    def __init__(self, code: str, sentence: str, *, retryable: bool = False) -> None:
        super().__init__(sentence)
        self.code = code
        self.retryable = retryable


class ToolError(TurnlogError):
    """Raised by a tool to tell the model, and the user, what went wrong."""

    code = "tool_error"


class UnknownEvent(TurnlogError):
    """The log holds an event that this version cannot read."""

    code = "unknown_event"


class StoreUnusable(TurnlogError):
    """The place where everything is kept cannot be opened."""

    code = "store_unusable"


class NotStored(TurnlogError):
    """The store cannot write at the moment, as on a full disk. Nothing of the request was kept."""

    code = "not_stored"
    retryable = True


class OutcomeUnknown(NotStored):
    """The database went away in the middle of a commit. Whoever reads the log finds out."""

    def __init__(self) -> None:
        super().__init__(
            "The database went away at this moment, and nobody can tell whether this was stored."
            " Look at the session, then try again."
        )


class ArchiveMissing(TurnlogError):
    """A part of a session's log is in an archive that is not there, or is not what was written."""

    code = "archive_missing"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"The archive of the session {session_id!r} is not there, or is damaged. Who runs the"
            " server finds out more with `turnlog verify`."
        )


class ContentLost(ArchiveMissing):
    """The content of an event was emptied without its salt: erased by halves, or damaged."""

    code = "content_lost"

    def __init__(self, session_id: str, seq: int) -> None:
        TurnlogError.__init__(
            self,
            f"The content of number {seq} of the session {session_id!r} was emptied, and its salt"
            " was left: it is in no archive. Who runs the server brings it back from a backup, or"
            " empties its salt too if it was meant to be erased.",
        )


class ConfigError(TurnlogError):
    """The settings cannot work; the sentence says which one and what it should be."""

    code = "config"


class StoreTaken(ConfigError):
    """Another server works in the place that this one was given."""
