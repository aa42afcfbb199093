"""A simulated Claude: the Messages API on loopback, for tests, demos and benchmarks.

`SimulatedClaude` is the server; the other names are what a script is made of.
"""

from .refusal import Refused
from .script import (
    Block,
    Break,
    Cut,
    Ending,
    Entry,
    Failure,
    RawBlock,
    RedactedThinking,
    Reply,
    Stall,
    Text,
    Thinking,
    ToolCall,
    Usage,
    Whole,
    api_error,
    authentication_failed,
    failure,
    invalid_request,
    overloaded,
    rate_limited,
    sign,
)
from .script_json import from_json, to_json
from .server import SimulatedClaude

__all__ = [
    "Block",
    "Break",
    "Cut",
    "Ending",
    "Entry",
    "Failure",
    "RawBlock",
    "RedactedThinking",
    "Refused",
    "Reply",
    "SimulatedClaude",
    "Stall",
    "Text",
    "Thinking",
    "ToolCall",
    "Usage",
    "Whole",
    "api_error",
    "authentication_failed",
    "failure",
    "from_json",
    "invalid_request",
    "overloaded",
    "rate_limited",
    "sign",
    "to_json",
]
