"""What a server can be asked, each as a value, and what is made of its answer. No I/O."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx2

Json = dict[str, Any]
STREAM = {"accept": "text/event-stream"}


class ServerError(Exception):
    """The server refused, and says why. `code` is for programs."""

    def __init__(self, status: int, detail: str, code: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


class Call(NamedTuple):
    """One request with a JSON answer."""

    method: str
    path: str
    json: Json | None = None
    params: Mapping[str, Any] | None = None
    files: Mapping[str, Any] | None = None

    def sent(self) -> Json:
        """As httpx takes it; what is None is not sent."""
        given = self._asdict()
        for name in ("json", "params"):
            if given[name] is not None:
                given[name] = {n: v for n, v in given[name].items() if v is not None}
        return {("url" if n == "path" else n): v for n, v in given.items() if v is not None}


def create_session(title: str | None, agent: str | None, engine: str | None) -> Call:
    return Call("POST", "/api/sessions", json={"title": title, "agent": agent, "engine": engine})


def sessions(limit: int, cursor: str | None) -> Call:
    return Call("GET", "/api/sessions", params={"limit": limit, "cursor": cursor})


def messages(session_id: str, limit: int, before: int | None) -> Call:
    params = {"limit": limit, "before": before}
    return Call("GET", f"/api/sessions/{session_id}/messages", params=params)


def stop(session_id: str, turn_id: str | None) -> Call:
    return Call("POST", f"/api/sessions/{session_id}/stop", params={"turnId": turn_id})


def approvals(status: str | None) -> Call:
    return Call("GET", "/api/approvals", params={"status": status})


def decide(approval_id: str, approved: bool, reason: str | None, args: Json | None) -> Call:
    body = {"approved": approved, "reason": reason, "args": args}
    return Call("POST", f"/api/approvals/{approval_id}", json=body)


def upload(session_id: str, name: str, content: bytes, media_type: str) -> Call:
    """Pictures, PDFs and documents have a route each."""
    path = f"/api/sessions/{session_id}/files{_route(content)}"
    return Call("POST", path, files={"file": (name, content, media_type)})


def _route(content: bytes) -> str:
    if content.startswith((b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF")):
        return ""
    return "/pdf" if b"%PDF-" in content[:1024] else "/document"


def checked(response: httpx2.Response) -> httpx2.Response:
    """The response of a request that worked. Raises ServerError with the server's words."""
    if response.is_success:
        return response
    try:
        problem = response.json()
        detail, code = problem["detail"], problem["type"].rpartition(":")[2]
    except (ValueError, KeyError, AttributeError, TypeError):
        detail, code = f"The server answered {response.status_code}.", "unknown"
    raise ServerError(response.status_code, detail, code)


def headers(token: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}
