"""One question and its answer over connections that may break. No I/O: it says what to send next.

The question has a `requestId`, so sending it again runs nothing twice. A connection that breaks
is taken up again at the cursor; where the server has lost that, the turn is told again from its
start, and what was seen before is left out.
"""

import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlog.client.events import Event

ENDS = ("complete", "error")
MOST_FAILURES = 8  # in a row, without one event between them
LONGEST_WAIT = 5.0  # seconds


class Request(NamedTuple):
    """What to send, and after how many seconds."""

    method: str
    path: str
    json: dict[str, Any] | None = None
    params: dict[str, str] | None = None
    after: float = 0.0


class Asking:
    """How far the answer to one question has come."""

    def __init__(self, session_id: str, message: str, **options: Any) -> None:
        self._path = f"/api/sessions/{session_id}"
        body = {"message": message, **options}
        body.setdefault("requestId", str(uuid.uuid4()))
        self._body = body
        self._turn_id = ""
        self._cursor: str | None = None
        self._seen: set[str] = set()
        self._failures = 0
        self.over = False

    def request(self) -> Request:
        """The next request, first or again."""
        wait = min(0.1 * 2**self._failures, LONGEST_WAIT) if self._failures else 0.0
        if self._cursor is None:
            return Request("POST", f"{self._path}/messages", json=self._body, after=wait)
        params = {"after": self._cursor}
        return Request("GET", f"{self._path}/stream", params=params, after=wait)

    def lost(self, error: Exception | None) -> None:
        """The connection broke, or ended too early. Raises after too many in a row."""
        self._failures += 1
        if self._failures > MOST_FAILURES:
            raise error or ConnectionError("The server ends every stream before the answer ends.")

    def take(self, event: Event) -> Iterator[Event]:
        """The event, if it is of this turn and new."""
        if event["type"] == "resync_required":
            self._cursor = None
            return
        if not self._turn_id:
            self._turn_id = event["turnId"]
        self._failures = 0
        if event["turnId"] != self._turn_id:
            return
        self._cursor = event["cursor"]
        if event["eventId"] not in self._seen:
            self._seen.add(event["eventId"])
            self.over = event["type"] in ENDS
            yield event
