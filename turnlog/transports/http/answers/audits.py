"""What auditors are answered."""

from turnlog.events.base import Value
from turnlog.ports import AuditRead
from turnlog.transports.http.answers.views import SessionView


class AuditedSession(SessionView, frozen=True, kw_only=True):
    """A session, and whose it is."""

    user_id: str


class AuditedPage(Value, frozen=True, kw_only=True):
    """GET /api/audit/sessions"""

    sessions: list[AuditedSession]
    cursor: str | None


class ReadPage(Value, frozen=True, kw_only=True):
    """GET /api/audit/reads"""

    reads: list[AuditRead]


class RawAnswer(Value, frozen=True, kw_only=True):
    """GET /api/sessions/{id}/raw/{number}"""

    message_id: str
    bytes: int
    body: str  # server-sent events, as they came
