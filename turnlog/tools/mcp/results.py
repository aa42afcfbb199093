"""Their results as ours: JSON that a model can be told, of a size that it can read.

A picture or a sound is described, not passed on: a ToolResult holds JSON, and the log is no
place for megabytes of base64.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from turnlog.errors import ToolError
from turnlog.tools.mcp.catalog import clean

MOST_RESULT = 100_000  # characters
MOST_ERROR = 2_000


def value(result: Any) -> Any:
    """What the tool returned. Raises ToolError with what it says went wrong."""
    parts = [_part(block) for block in result.content]
    if result.is_error:
        texts = [part for part in parts if isinstance(part, str)]
        told = "\n".join(texts) or "The tool failed, and did not say why."
        raise ToolError(clean(told, MOST_ERROR))
    if result.structured_content is not None:
        return _bounded(result.structured_content)
    if all(isinstance(part, str) for part in parts):
        return _bounded("\n".join(parts))
    return _bounded(parts[0] if len(parts) == 1 else parts)


def _bounded(found: Any) -> Any:
    text = found if isinstance(found, str) else msgspec.json.encode(found).decode()
    if len(text) <= MOST_RESULT:
        return found
    note = f"Cut: these are the first {MOST_RESULT} of {len(text)} characters."
    return {"note": note, "text": text[:MOST_RESULT]}


def _part(block: Any) -> Any:
    shown = _SHOWN.get(block.type)
    return shown(block) if shown else {"type": block.type, "note": "This cannot be shown here."}


def _binary(kind: str, mime_type: str | None, base64: str) -> dict[str, Any]:
    size = len(base64) * 3 // 4
    note = "Only its kind and size are known here."
    return {"type": kind, "mimeType": mime_type, "bytes": size, "note": note}


def _resource(block: Any) -> Any:
    held = block.resource
    if hasattr(held, "text"):
        return {"type": "resource", "uri": str(held.uri), "text": held.text}
    return _binary("resource", held.mime_type, held.blob) | {"uri": str(held.uri)}


def _link(block: Any) -> dict[str, Any]:
    return {"type": "resource_link", "uri": str(block.uri), "name": block.name}


_SHOWN: dict[str, Callable[[Any], Any]] = {
    "text": lambda block: block.text,
    "image": lambda block: _binary("image", block.mime_type, block.data),
    "audio": lambda block: _binary("audio", block.mime_type, block.data),
    "resource": _resource,
    "resource_link": _link,
}
