"""The Files API: what was uploaded, by id, and the requests that name it.

A file belongs to the key that sent it. What is named in a request stands there as if its bytes had
been sent, so that all other rules hold for it too.
"""

import base64
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, UploadFile
from starlette.requests import Request

from .refusal import Refused, refuse
from .script import Json, fresh_id

MOST_NAMED = 200  # that are remembered
MAX_FILE = 500 * 1024 * 1024
LEAST_SECONDS, MOST_SECONDS = 3_600, 7_776_000
EXPECTED = {"image": "image/", "document": "application/pdf"}


class KeptFiles:
    """The files of all keys. The clock is `now`."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._files: dict[tuple[str, str], tuple[Json, bytes, float]] = {}
        self.uploads = 0
        self.named: list[str] = []  # ids of files, as requests named them

    def __len__(self) -> int:
        return len(self._files)

    async def add(self, request: Request) -> Json:
        async with request.form() as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                refuse("file: Field required")
            seconds = _seconds(form.get("expires_in_seconds"))
            content = await file.read()
        if not content or len(content) > MAX_FILE:
            refuse("file: File size must be between 1 byte and 500 MB")
        kept: Json = {
            "id": fresh_id("file"),
            "type": "file",
            "filename": (file.filename or "unnamed").rpartition("/")[2],
            "mime_type": file.content_type or "application/octet-stream",
            "size_bytes": len(content),
            "created_at": "2026-11-17T00:00:00Z",
            "downloadable": False,
            "expires_at": None,
        }
        self._files[_key(request.headers), kept["id"]] = (kept, content, self._now() + seconds)
        self.uploads += 1
        return kept

    def get(self, headers: Headers, file_id: str) -> Json:
        return self._find(headers, file_id)[0]

    def list(self, headers: Headers) -> Json:
        mine = [kept for (key, _), (kept, _, _) in self._files.items() if key == _key(headers)]
        return {"data": mine, "next_page": None}

    def delete(self, headers: Headers, file_id: str) -> Json:
        self._find(headers, file_id)
        del self._files[_key(headers), file_id]
        return {"id": file_id, "type": "file_deleted"}

    def clear(self) -> None:
        """As if somebody had removed all of them in the provider's console."""
        self._files.clear()

    def resolve(self, headers: Headers, body: Json) -> Json:
        """The request with bytes where it names files. Raises Refused for an unknown one."""
        messages = body.get("messages")
        if not isinstance(messages, list):
            return body
        return body | {"messages": [self._resolved(headers, each) for each in messages]}

    def _resolved(self, headers: Headers, message: Any) -> Any:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            return message
        return message | {"content": [self._block(headers, block) for block in content]}

    def _block(self, headers: Headers, block: Any) -> Any:
        source = block.get("source") if isinstance(block, dict) else None
        if not isinstance(source, dict) or source.get("type") != "file":
            return block
        kept, content, _ = self._find(headers, source.get("file_id"))
        self.named = [*self.named, kept["id"]][-MOST_NAMED:]
        if not kept["mime_type"].startswith(EXPECTED.get(str(block.get("type")), "-")):
            refuse(f"{block.get('type')}.source.file: a file of {kept['mime_type']} is not taken")
        data = base64.b64encode(content).decode()
        return block | {"source": {"type": "base64", "media_type": kept["mime_type"], "data": data}}

    def _find(self, headers: Headers, file_id: Any) -> tuple[Json, bytes, float]:
        found = self._files.get((_key(headers), str(file_id)))
        if found is None or found[2] <= self._now():
            raise Refused(404, "not_found_error", f"File not found: {file_id}")
        return found


def _key(headers: Headers) -> str:
    return headers.get("x-api-key") or headers.get("authorization", "")


def _seconds(given: Any) -> float:
    if given is None:
        return float("inf")
    try:
        seconds = int(given)
    except (TypeError, ValueError):
        refuse("expires_in_seconds: Input should be a valid integer")
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        refuse(f"expires_in_seconds: Input should be from {LEAST_SECONDS} to {MOST_SECONDS}")
    return float(seconds)
