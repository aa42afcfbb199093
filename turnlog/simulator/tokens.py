"""A rough count of tokens: four characters each, and a flat price for an image or a file."""

from typing import Any

from .script import Block, Json, RawBlock, RedactedThinking, Text, Thinking, ToolCall

CHARACTERS_PER_TOKEN = 4
BASE64_AS_CHARACTERS = 6_000  # about 1,500 tokens: a photo, or a page of a PDF
PROMPT = ("system", "tools", "messages")


def input_tokens(body: Json) -> int:
    return 8 + characters([body.get(part) for part in PROMPT]) // CHARACTERS_PER_TOKEN


def output_tokens(block: Block) -> int:
    match block:
        case Text(text=text) | Thinking(text=text) | RedactedThinking(data=text):
            said: Any = text
        case ToolCall(name=name, input=arguments):
            said = [name, arguments]
        case RawBlock(block=raw):
            # What a server tool returned was not written by Claude.
            said = raw.get("content" if raw.get("type") == "compaction" else "input")
    return 1 + characters(said) // CHARACTERS_PER_TOKEN


def characters(value: Any) -> int:
    """How long a part of a prompt is. A cache mark is no part of it."""
    match value:
        case str():
            return len(value)
        case list():
            return sum(map(characters, value))
        case {"type": "base64"}:
            return BASE64_AS_CHARACTERS
        case dict():
            said = ((key, child) for key, child in value.items() if key != "cache_control")
            return sum(len(key) + characters(child) for key, child in said)
        case None:
            return 0
    return CHARACTERS_PER_TOKEN
