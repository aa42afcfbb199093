"""What each route answers, as a type. The OpenAPI document is made of these; tests compare them
with real answers.
"""

from typing import Any, Literal

from turnlog.ports.backend import Estimate
from turnlog.ports.library import Document
from turnlog.transports.http.answers import audits, bills, views

MediaType = Literal[
    "text/html",
    "text/plain",
    "text/event-stream",
    "application/json",
    "application/octet-stream",
    "",
]
PAGE: MediaType = "text/html"
TEXT: MediaType = "text/plain"
STREAM: MediaType = "text/event-stream"
FOREIGN: MediaType = "application/json"  # as another protocol has it
BYTES: MediaType = "application/octet-stream"
NOTHING: MediaType = ""

_SESSION = "/api/sessions/{session_id}"
_FILE = "/api/files/{file_id}"
# fmt: off
ANSWERS: dict[tuple[str, str], Any] = {
    ("GET",    "/"):                            PAGE,
    ("GET",    "/docs"):                        PAGE,
    ("GET",    "/openapi.json"):                FOREIGN,
    ("GET",    "/healthz"):                     views.Status,
    ("GET",    "/readyz"):                      views.Readiness,
    ("GET",    "/.well-known/jwks.json"):       FOREIGN,
    ("GET",    "/metrics"):                     TEXT,
    ("GET",    "/api/config"):                  views.Config,
    ("GET",    "/api/signin"):                  views.SignInOffer,
    ("POST",   "/api/signin"):                  views.SignedIn,
    ("POST",   "/api/tickets"):                 views.IssuedTicket,
    ("GET",    "/api/sessions"):                views.SessionPage,
    ("POST",   "/api/sessions"):                views.SessionView,
    ("GET",    _SESSION):                       views.SessionView,
    ("PATCH",  _SESSION):                       views.SessionView,
    ("PATCH",  f"{_SESSION}/thinking"):         views.ThinkingSet,
    ("GET",    f"{_SESSION}/messages"):         views.EventPage,
    ("POST",   f"{_SESSION}/messages"):         views.AskedTurn,
    ("POST",   f"{_SESSION}/estimate"):         Estimate,
    ("POST",   f"{_SESSION}/stop"):             views.Stopped,
    ("GET",    f"{_SESSION}/stream"):           STREAM,
    ("GET",    f"{_SESSION}/events"):           views.LogPage,
    ("GET",    f"{_SESSION}/verify"):           views.Proof,
    ("GET",    f"{_SESSION}/raw/{{number}}"):   audits.RawAnswer,
    ("POST",   f"{_SESSION}/files"):            views.UploadedImage,
    ("POST",   f"{_SESSION}/files/pdf"):        views.UploadedPdf,
    ("POST",   f"{_SESSION}/files/document"):   views.UploadedDocument,
    ("GET",    "/api/files"):                   views.FilePage,
    ("GET",    _FILE):                          views.FileView,
    ("DELETE", _FILE):                          NOTHING,
    ("GET",    f"{_FILE}/content"):             BYTES,
    ("GET",    f"{_FILE}/thumbnail"):           BYTES,
    ("GET",    f"{_FILE}/pages"):               views.PagesOfFile,
    ("GET",    "/api/approvals"):               views.ApprovalPage,
    ("POST",   "/api/approvals/{approval_id}"): views.ApprovalView,
    ("GET",    "/api/doubts"):                  views.DoubtPage,
    ("POST",   f"{_SESSION}/doubts/{{tool_use_id}}"): views.Success,
    ("GET",    "/api/webhooks/notices"):        views.NoticePage,
    ("POST",   "/api/webhooks/replay"):         views.Replayed,
    ("GET",    "/api/audit/sessions"):          audits.AuditedPage,
    ("GET",    "/api/audit/reads"):             audits.ReadPage,
    ("GET",    "/api/billing/sessions/{session_id}"): bills.SessionBill,
    ("GET",    "/api/billing/users"):           bills.EverybodysBill,
    ("GET",    "/api/billing/user/{user_id}"):  bills.UserBill,
    ("GET",    f"{_SESSION}/citations"):        views.Citations,
    ("GET",    "/api/messages/{message_id}/citations"): views.Citations,
    ("GET",    "/api/library"):                 views.DocumentPage,
    ("POST",   "/api/library"):                 Document,
    ("GET",    "/api/library/{document_id}"):   Document,
    ("DELETE", "/api/library/{document_id}"):   Document,
}
# fmt: on
# Routes of other protocols answer as those say.
FOREIGN_PATHS = ("/agui", "/chatkit", "/mcp", "/v1/", "/api/sessions/{session_id}/ui-")


def answer_of(method: str, path: str) -> Any:
    """The type of a route's answer, or its media type. Raises LookupError for one without."""
    if (method, path) in ANSWERS:
        return ANSWERS[method, path]
    if path.startswith(FOREIGN_PATHS):
        return FOREIGN
    raise LookupError(f"{method} {path} needs a row with its answer in transports/http/answers")
