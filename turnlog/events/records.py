"""The vocabulary of the audit: events that are kept, and never on a user's wire."""

from decimal import Decimal
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from turnlog.events.base import Event
from turnlog.events.content import TokenUsage


class Internal(Event, frozen=True, kw_only=True):
    """For the audit only: kept, and never on a user's wire."""

    kept: ClassVar[bool] = True
    internal: ClassVar[bool] = True


class DecisionRefused(Internal, frozen=True, kw_only=True, tag="decision_refused"):
    """Somebody tried to decide on an approval who may not, or too late, or twice."""

    approval_id: str
    tried_by: str
    why: str


class ToolSettled(Internal, frozen=True, kw_only=True, tag="tool_settled"):
    """A person found out what became of a call that was in doubt."""

    tool_use_id: str
    tool_name: str
    happened: bool
    decided_by: str
    note: str | None = None


class TurnResumed(Internal, frozen=True, kw_only=True, tag="turn_resumed"):
    """The turn's process had died; another one goes on with it."""


class EnginePaused(Internal, frozen=True, kw_only=True, tag="engine_paused"):
    """An engine that owns its loop waits for people. With this state any process goes on, once."""

    engine: str
    state: str  # as that engine writes it; empty: it has gone on, and runs


class HistoryAnchored(Internal, frozen=True, kw_only=True, tag="history_anchored"):
    """From here on the model is told `summary`, and then what came at or after `anchor`."""

    anchor: int
    summary: str = ""  # of everything before, as far as there is one
    files: list[dict[str, Any]] = []  # attached before: id, name and mediaType of the newest


class HistorySummarized(Internal, frozen=True, kw_only=True, tag="history_summarized"):
    """A model was called to summarize what leaves the window. Billed as any other call.

    The summary itself is in the `history_anchored` that follows.
    """

    message_id: str
    model: str
    how: str  # compaction: the API's own; call: a model was asked in words
    partial: bool = False  # cut off, and counted by what it began with
    token_usage: TokenUsage
    cost_usd: Decimal | None = None  # None: unknown, which is not zero
    costs: list[Decimal | None] = []  # of each part of `reported`
    reported: dict[str, Any] = {}  # the usage object, as the API sent it


class SummaryFailed(Internal, frozen=True, kw_only=True, tag="summary_failed"):
    """What leaves the window could not be summarized. The turn goes on without.

    Either the window stays as it is, and the next try comes when it has grown; or there was no
    room for that, and what left it is lost to the model. The log has it, as ever.
    """

    code: str
    error: str
    lost: bool
    tokens: int  # of the window, at that time
    messages: int


class WebSearched(Internal, frozen=True, kw_only=True, tag="web_searched"):
    """The model searched the web: what it asked for and what it was given. For the audit."""

    message_id: str
    query: str
    results: list[dict[str, Any]]  # title and url
    error: str | UnsetType = UNSET


class HistoryRepaired(Internal, frozen=True, kw_only=True, tag="history_repaired"):
    """What the log holds breaks rules of the API: the model is told it without that, from here on.

    Recorded once, and again when something else is repaired.
    """

    repairs: list[dict[str, str]]  # the rule, and its place in the messages


class BudgetWarned(Internal, frozen=True, kw_only=True, tag="budget_warned"):
    """Most of a budget is used up. Nothing was refused."""

    who: str
    per: str  # session | day | month
    spent_usd: Decimal
    spent_tokens: int
    limit_usd: Decimal | None = None
    limit_tokens: int | None = None


class BudgetExceeded(Internal, frozen=True, kw_only=True, tag="budget_exceeded"):
    """A call was refused, because a budget is used up or the call would not fit into it."""

    who: str
    per: str
    spent_usd: Decimal
    spent_tokens: int
    limit_usd: Decimal | None = None
    limit_tokens: int | None = None
    next_call_usd: Decimal | None = None  # what the refused call would have cost at least
    next_call_tokens: int = 0  # an estimate, or the model's own count


class FeedbackGiven(Internal, frozen=True, kw_only=True, tag="feedback_given"):
    """A user said whether an answer was good."""

    message_ids: list[str]
    positive: bool
    given_by: str


class ClaimUnfounded(Internal, frozen=True, kw_only=True, tag="claim_unfounded"):
    """The answer claims what no tool result of its turn bears out. For the audit."""

    message_id: str
    claim: str  # the sentence
    why: str
