"""What clients see of sessions, turns, files, approvals and the rest."""

from typing import Any

import msgspec

from turnlog.events.base import Value
from turnlog.ports import SessionState, ToolRun
from turnlog.ports.library import Document
from turnlog.transports.http.resources.approvals import ForDecider
from turnlog.transports.http.resources.webhooks import NoticeView


class Status(Value, frozen=True, kw_only=True):
    status: str


class Readiness(Value, frozen=True, kw_only=True, rename="camel"):
    status: str
    live_events: str  # at once | by the log
    away: str | msgspec.UnsetType = msgspec.UNSET  # what is not reached


class SignInOffer(Value, frozen=True, kw_only=True):
    kind: str  # none | token | code
    authorization_endpoint: str | msgspec.UnsetType = msgspec.UNSET
    client_id: str | msgspec.UnsetType = msgspec.UNSET
    scope: str | msgspec.UnsetType = msgspec.UNSET


class SignedIn(Value, frozen=True, kw_only=True):
    token: str


class IssuedTicket(Value, frozen=True, kw_only=True):
    ticket: str
    expires_at: str


class SessionThinking(Value, frozen=True, kw_only=True):
    enabled: bool
    budget_tokens: int


class SessionView(Value, frozen=True, kw_only=True):
    """A session as a client sees it."""

    id: str
    title: str
    agent: str
    engine: str
    created_at: str
    last_activity_at: str
    state: SessionState
    turn_id: str | None
    archived: bool
    thinking: SessionThinking
    web_search: bool


class SessionPage(Value, frozen=True, kw_only=True):
    sessions: list[SessionView]
    cursor: str | None
    searched_all: bool | msgspec.UnsetType = msgspec.UNSET  # false: of older texts, titles alone


class ThinkingSet(Value, frozen=True, kw_only=True):
    success: bool
    enabled: bool
    budget_tokens: int


class AskedTurn(Value, frozen=True, kw_only=True):
    turn_id: str


class Stopped(Value, frozen=True, kw_only=True):
    stopped: bool


class EventPage(Value, frozen=True, kw_only=True):
    """The reload."""

    events: list[Any]  # each an Event, as the document says
    before: int | None
    cursor: str


class LogPage(Value, frozen=True, kw_only=True):
    """A part of the log."""

    events: list[Any]
    after: int | None


class Proof(Value, frozen=True, kw_only=True):
    first: int | None
    last: int | None
    count: int
    gaps: list[Any]
    duplicates: list[Any]
    unpaired_tools: list[Any]
    problems: list[str]
    ok: bool


class FileView(Value, frozen=True, kw_only=True):
    """A file as its user sees it; what does not apply to its kind is left out."""

    id: str
    name: str
    kind: str
    media_type: str
    size: int
    sha256: str
    created_at: str
    session_id: str | msgspec.UnsetType = msgspec.UNSET
    dimensions: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    pages: int | msgspec.UnsetType = msgspec.UNSET
    text_length: int | msgspec.UnsetType = msgspec.UNSET
    metadata: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class FilePage(Value, frozen=True, kw_only=True):
    files: list[FileView]
    cursor: str | None


class UploadedImage(Value, frozen=True, kw_only=True):
    file_id: str
    media_type: str
    size: int
    dimensions: dict[str, int] | None


class UploadedPdf(Value, frozen=True, kw_only=True):
    file_id: str
    pages: int | None
    text_length: int | None
    metadata: dict[str, Any] | None
    size: int


class UploadedDocument(Value, frozen=True, kw_only=True):
    file_id: str
    media_type: str
    pages: int | None
    text_length: int | None
    metadata: dict[str, Any] | None
    size: int


class PageOfText(Value, frozen=True, kw_only=True):
    page: int
    text: str


class PagesOfFile(Value, frozen=True, kw_only=True):
    file_id: str
    pages: list[PageOfText]


class ApprovalView(ForDecider, frozen=True, kw_only=True):
    """Where it stands is for its asker: who decides for another user is not told that."""

    session_id: str | msgspec.UnsetType = msgspec.UNSET
    turn_id: str | msgspec.UnsetType = msgspec.UNSET
    tool_use_id: str | msgspec.UnsetType = msgspec.UNSET
    args_hash: str | msgspec.UnsetType = msgspec.UNSET


class ApprovalPage(Value, frozen=True, kw_only=True):
    approvals: list[ApprovalView]


class DoubtPage(Value, frozen=True, kw_only=True):
    doubts: list[ToolRun]


class Success(Value, frozen=True, kw_only=True):
    success: bool


class NoticePage(Value, frozen=True, kw_only=True):
    notices: list[NoticeView]


class Replayed(Value, frozen=True, kw_only=True):
    replayed: int


class DocumentPage(Value, frozen=True, kw_only=True):
    documents: list[Document]


class Citations(Value, frozen=True, kw_only=True):
    """Each as its kind has it: see the page about citations."""

    citations: list[dict[str, Any]]


class ToolView(Value, frozen=True, kw_only=True):
    name: str
    title: str
    writes: bool | None


class AgentView(Value, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    model: str | None  # null: the server's own
    web_search: bool
    tools: list[ToolView]


class UserView(Value, frozen=True, kw_only=True):
    id: str
    roles: list[str]


class Config(Value, frozen=True, kw_only=True):
    """For whoever is not signed in, `user` is null and there is only `simulated`."""

    user: UserView | None
    simulated: bool
    model: str | msgspec.UnsetType = msgspec.UNSET
    store: str | msgspec.UnsetType = msgspec.UNSET
    bus: str | msgspec.UnsetType = msgspec.UNSET
    sequencer: str | msgspec.UnsetType = msgspec.UNSET
    connections: str | msgspec.UnsetType = msgspec.UNSET
    address: str | msgspec.UnsetType = msgspec.UNSET
    mcp: str | msgspec.UnsetType = msgspec.UNSET
    agents: list[AgentView] | msgspec.UnsetType = msgspec.UNSET
    limits: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    internal_prefixes: list[str] | msgspec.UnsetType = msgspec.UNSET
