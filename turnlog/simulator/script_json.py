"""The JSON form of a script, for `POST /sim/script`.

Every value is an object with its `kind`; the other keys are the fields of its class:
    {"kind": "reply", "blocks": [{"kind": "text", "text": "Hi"}], "ending": {"kind": "whole"}}
    {"kind": "failure", "status": 529, "type": "overloaded_error", "message": "Overloaded"}
"""

from typing import Any, TypeVar

import msgspec

from . import script
from .script import Failure, Json, Reply, Usage

T = TypeVar("T")

# fmt: off
BLOCKS: dict[str, type] = {
    "text":              script.Text,
    "thinking":          script.Thinking,
    "redacted_thinking": script.RedactedThinking,
    "tool_call":         script.ToolCall,
    "raw":               script.RawBlock,
}
ENDINGS: dict[str, type] = {
    "whole": script.Whole,
    "cut":   script.Cut,
    "stall": script.Stall,
    "break": script.Break,
}
# fmt: on
KINDS = {made: kind for kind, made in (BLOCKS | ENDINGS).items()}


def from_json(entry: Json) -> Reply | Failure:
    """Raises ValueError, with the reason, for an entry that is not of the form above."""
    try:
        return _entry(dict(entry))
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"not an entry of a script: {error}") from error


def to_json(entry: Reply | Failure) -> Json:
    if isinstance(entry, Failure):
        return {"kind": "failure", **vars(entry)}
    fields = {
        "usage": vars(entry.usage),
        "ending": _tagged(entry.ending),
        "blocks": [_tagged(block) for block in entry.blocks],
    }
    return {"kind": "reply", **vars(entry), **fields}


def _entry(fields: Json) -> Reply | Failure:
    kind = fields.pop("kind")
    if kind == "failure":
        return _made(Failure, fields)
    if kind != "reply":
        raise KeyError(kind)
    blocks = [_of_kind(BLOCKS, block) for block in fields.pop("blocks", [])]
    if "usage" in fields:
        fields["usage"] = _made(Usage, fields["usage"])
    if "ending" in fields:
        fields["ending"] = _of_kind(ENDINGS, fields["ending"])
    return Reply(*blocks, **fields)


def _of_kind(kinds: dict[str, type], fields: Json) -> Any:
    rest = {name: value for name, value in fields.items() if name != "kind"}
    return _made(kinds[fields["kind"]], rest)


def _made(made: type[T], fields: Json) -> T:
    made(**fields)  # refuses an unknown field, which msgspec lets pass
    return msgspec.convert(fields, made)


def _tagged(value: Any) -> Json:
    return {"kind": KINDS[type(value)], **vars(value)}
