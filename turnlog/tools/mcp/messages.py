"""What a server says, as the official client can read it.

The client refuses a whole listing for one tool that is none, and a whole result for one part that
it does not know: what it cannot read is taken out, alone. And it looks at each part for long, so
that it is given as many as anybody reads.
"""

import logging
from typing import Any

import mcp_types as types
from pydantic import TypeAdapter, ValidationError

from turnlog.tools.mcp.catalog import MOST_NAME, clean

_log = logging.getLogger(__name__)
MOST_PARTS = 1_000  # of a tool's result
MOST_LISTED = 2_000  # tools in one page
WANTS_INPUT = "The server wants an answer of the user first, which it does not get here."
_block: TypeAdapter[Any] = TypeAdapter(types.ContentBlock)
Json = dict[str, Any]


def readable(message: Any) -> Any:
    """The message, which is changed where it has to be."""
    result: Any = getattr(getattr(message, "message", None), "result", None)
    match result:
        case {"tools": [*tools]}:
            result["tools"] = [tool for tool in tools[:MOST_LISTED] if _is_tool(tool)]
        case {"resultType": "input_required"}:  # nothing is done until it has its answer
            result.clear()
            result.update(content=[_text(WANTS_INPUT)], isError=True)
        case {"content": [*parts]}:
            result["content"] = [_part(part) for part in parts[:MOST_PARTS]]
            if len(parts) > MOST_PARTS:
                cut = f"Cut: these are the first {MOST_PARTS} of {len(parts)} parts."
                result["content"].append(_text(cut))
    return message


def _is_tool(tool: Any) -> bool:
    try:
        types.Tool.model_validate(tool, by_name=False)
        if tool["inputSchema"].get("type") == "object":
            return True
    except ValidationError:
        pass
    name = tool.get("name") if isinstance(tool, dict) else None
    _log.warning("MCP tool %s is left out: it is not as MCP wants it", clean(str(name), MOST_NAME))
    return False


def _part(part: Any) -> Any:
    """It, or what can be told of it."""
    try:
        _block.validate_python(part, by_name=False)
    except ValidationError:
        match part:
            case {"type": "text", "text": str(text)}:
                return _text(text)
            case {"type": str(kind)}:
                return _text(f"(a part of kind {clean(kind, MOST_NAME)!r}, which cannot be read)")
        return _text("(a part that cannot be read)")
    return part


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
