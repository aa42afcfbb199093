"""The capabilities that can be recorded: a question for Claude, and a script for the simulation.

The question makes the real Claude show the capability. Without a key, the simulation plays the
script in the API's own wire form.
"""

import base64
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnlog.engines.claude.models import WEB_SEARCH
from turnlog.simulator import RawBlock, Reply, Text, Thinking, ToolCall, Usage

Json = dict[str, Any]
SALES = """Business Central keeps sales in documents. A quote becomes an order; an order is \
shipped and invoiced. A posted invoice cannot be changed: a credit memo corrects it."""


def stripes() -> str:
    """A small PNG, red over white over blue, as base64."""
    colors = (b"\xd0\x20\x20", b"\xff\xff\xff", b"\x20\x40\xc0")
    rows = b"".join((b"\x00" + color * 96) * 32 for color in colors)
    head = struct.pack(">IIBBBBB", 96, 96, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


DOCUMENT: Json = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": SALES},
    "title": "Sales in Business Central",
    "citations": {"enabled": True},
}
IMAGE: Json = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": stripes()},
}
NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
TOOLS: tuple[Json, ...] = (
    {
        "name": "get_time",
        "description": "The current time in UTC.",
        "input_schema": {"type": "object", "properties": {}},
    },
    {
        "name": "multiply",
        "description": "The product of two whole numbers.",
        "input_schema": {"type": "object", "properties": NUMBERS, "required": ["a", "b"]},
    },
)
RUN: dict[str, Callable[..., str]] = {
    "get_time": lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    "multiply": lambda a, b: str(int(a) * int(b)),
}
SEARCH: Json = {"type": WEB_SEARCH, "name": "web_search", "max_uses": 3}
BOTH = "Calculate 15*7 with the tool, then tell me the time. Use the tools one after the other."


@dataclass(frozen=True, kw_only=True)
class Capability:
    """One thing that Claude can do, and how to make it do so."""

    name: str
    question: str
    script: tuple[Reply, ...]  # the simulation's answers, call by call
    blocks: tuple[Json, ...] = ()  # before the question
    tools: tuple[Json, ...] = ()
    thinks: bool = False
    interleaved: bool = False  # thinks between tools, by a beta header where a model needs one


def _citation(text: str) -> Json:
    start = SALES.index(text)
    return {
        "type": "char_location",
        "cited_text": text,
        "document_index": 0,
        "document_title": DOCUMENT["title"],
        "start_char_index": start,
        "end_char_index": start + len(text),
        "file_id": None,
    }


_HIT: Json = {
    "type": "web_search_result",
    "title": "Python Release Schedule",
    "url": "https://peps.python.org/",
    "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5",
    "page_age": "3 days ago",
}
_SEARCH_CALL: Json = {
    "type": "server_tool_use",
    "id": "srvtoolu_01simulated",
    "name": "web_search",
    "input": {"query": "current stable Python release"},
    "caller": {"type": "direct"},
}
_SEARCH_RESULT: Json = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_01simulated",
    "content": [_HIT],
    "caller": {"type": "direct"},
}
_WEB_CITATION: Json = {
    "type": "web_search_result_location",
    "cited_text": "Each release is supported for five years.",
    "url": _HIT["url"],
    "title": _HIT["title"],
    "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm",
}

CAPABILITIES: tuple[Capability, ...] = (
    Capability(
        name="thinking",
        question="What is 2+2? Think about it carefully first.",
        script=(Reply(Thinking("Two and two are four."), "2 + 2 = 4."),),
        thinks=True,
    ),
    Capability(
        name="tools",
        question="What time is it? Use the tool.",
        script=(Reply("I look it up.", ToolCall("get_time")), Reply("That is the time.")),
        tools=TOOLS,
    ),
    Capability(
        name="thinking-tools",
        question="Calculate 15*7 and tell me the time. Use the tools.",
        script=(
            Reply(
                Thinking("Both tools are needed."),
                ToolCall("multiply", {"a": 15, "b": 7}),
                ToolCall("get_time"),
            ),
            Reply("15 * 7 is 105, and that is the time."),
        ),
        tools=TOOLS,
        thinks=True,
    ),
    Capability(
        name="citations",
        question="What becomes of a quote, and how is a posted invoice corrected? Cite.",
        script=(
            Reply(
                Text("A quote becomes an order. ", (_citation("A quote becomes an order;"),)),
                "Mistakes happen: ",
                Text("a credit memo corrects the invoice.", (
                    _citation("A posted invoice cannot be changed:"),
                    _citation("a credit memo corrects it."),
                )),
            ),
        ),
        blocks=(DOCUMENT,),
    ),
    Capability(
        name="interleaved",
        question=BOTH,
        script=(
            Reply(Thinking("First the product."), ToolCall("multiply", {"a": 15, "b": 7})),
            Reply(Thinking("105. Now the time."), ToolCall("get_time")),
            Reply(Thinking("I have both."), "15 * 7 is 105, and that is the time."),
        ),
        tools=TOOLS,
        thinks=True,
        interleaved=True,
    ),
    Capability(
        name="vision",
        question="Describe this image in one sentence.",
        script=(Reply("Three stripes: red over white over blue."),),
        blocks=(IMAGE,),
    ),
    Capability(
        name="web-search",
        question="Search the web: which Python release is the current stable one?",
        script=(
            Reply(
                "I search for it.",
                RawBlock(_SEARCH_CALL),
                RawBlock(_SEARCH_RESULT),
                Text("Each release lives for five years.", (_WEB_CITATION,)),
                usage=Usage(web_searches=1, final_input_tokens=4_321),
            ),
        ),
        tools=(SEARCH,),
    ),
)  # fmt: skip
