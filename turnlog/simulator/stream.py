"""From a Reply to the wire: the finished message, and the same message as SSE events.

In:  a Reply and the body of the request that it answers.
Out: `message` (what `stream: false` gets); `events` (the message cut into the API's events).
"""

from collections.abc import Iterable, Iterator

import msgspec

from . import tokens
from .script import (
    Block,
    Json,
    RawBlock,
    RedactedThinking,
    Reply,
    Text,
    Thinking,
    ToolCall,
    fresh_id,
    sign,
)

# Their arguments are streamed as JSON, so that they start empty.
STREAMS_INPUT = {"tool_use", "server_tool_use", "mcp_tool_use"}
PING: Json = {"type": "ping"}


def message(reply: Reply, body: Json) -> Json:
    """The whole answer with every id, signature and number filled in."""
    return {
        "model": reply.model or body["model"],
        "id": reply.id or fresh_id("msg"),
        "type": "message",
        "role": "assistant",
        "content": [_content(block) for block in reply.blocks],
        "stop_reason": reply.final_stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": reply.stop_details,
        **({"container": reply.container} if reply.container else {}),
        "usage": _usage(reply, body),
    }


def events(reply: Reply, body: Json) -> Iterator[Json]:
    """Every event in the API's order, with one ping after the first block has begun."""
    whole = message(reply, body)
    yield {"type": "message_start", "message": _opening(whole, reply, body)}
    for index, (block, content) in enumerate(zip(reply.blocks, whole["content"], strict=True)):
        started, deltas = _start(content), _deltas(block, content, reply.chunk)
        yield {"type": "content_block_start", "index": index, "content_block": started}
        if index == 0:
            yield PING
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield _closing(whole)
    yield {"type": "message_stop"}


def error(type: str, message: str, request_id: str) -> Json:
    """The body of an HTTP error."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": request_id}


def error_event(type: str, message: str) -> Json:
    """The event that ends a stream which broke on the way."""
    return {"type": "error", "error": {"details": None, "type": type, "message": message}}


def frame(event: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))


# --- one block ---


def _content(block: Block) -> Json:
    match block:
        case Text(text=text, citations=citations):
            cited = {"citations": list(citations)} if citations else {}
            return {**cited, "type": "text", "text": text}
        case Thinking(text=text, signature=signature):
            signed = sign(text) if signature is None else signature
            return {"type": "thinking", "thinking": text, "signature": signed}
        case RedactedThinking(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ToolCall():
            return _tool_use(block)
        case RawBlock(block=raw):
            return raw


def _tool_use(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": call.id or fresh_id("toolu"),
        "name": call.name,
        "input": call.input,
        "caller": {"type": "direct"},
    }


def _start(content: Json) -> Json:
    """The block as it begins: what comes in deltas is still empty."""
    if content["type"] in STREAMS_INPUT:
        return {**content, "input": {}}
    if content["type"] == "compaction":
        return {**content, "content": None}
    empty: Json = {"text": "", "thinking": "", "signature": "", "citations": []}
    if content["type"] in ("text", "thinking"):
        return {key: empty.get(key, value) for key, value in content.items()}
    return content


def _deltas(block: Block, content: Json, chunk: int) -> Iterator[Json]:
    match content:
        case {"type": "text", "text": text}:
            for citation in content.get("citations") or ():
                yield {"type": "citations_delta", "citation": citation}
            for piece in _pieces(text, chunk):
                yield {"type": "text_delta", "text": piece}
        case {"type": "thinking", "thinking": text, "signature": signature}:
            for piece in _pieces(text, chunk):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": signature}
        case {"type": "compaction", "content": str(text)}:
            yield {"type": "compaction_delta", "content": text, "encrypted_content": None}
        case {"type": kind, "input": _} if kind in STREAMS_INPUT:
            for piece in ("", *_pieces(_input_json(block, content), chunk)):
                yield {"type": "input_json_delta", "partial_json": piece}


def _input_json(block: Block, content: Json) -> str:
    if isinstance(block, ToolCall) and block.raw_json is not None:
        return block.raw_json
    # Recorded: a call without arguments streams one empty piece and no "{}".
    return msgspec.json.encode(content["input"]).decode() if content["input"] else ""


def _pieces(text: str, size: int) -> Iterable[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


# --- the numbers ---


def _usage(reply: Reply, body: Json) -> Json:
    """The usage of the finished message: message_start's, overlaid with message_delta's."""
    usage = reply.usage
    numbers = {
        "input_tokens": _first(usage.final_input_tokens, _input_tokens(reply, body)),
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": _first(usage.output_tokens, sum(map(tokens.output_tokens, reply.blocks))),
        "service_tier": "standard",
        "inference_geo": "global",
    }
    return numbers | _details(reply)


def _details(reply: Reply) -> Json:
    """The parts that are only there when there was thinking, or a search."""
    details: Json = {}
    thoughts = [b for b in reply.blocks if isinstance(b, Thinking | RedactedThinking)]
    thinking_tokens = reply.usage.thinking_tokens
    if thoughts or thinking_tokens is not None:
        counted = _first(thinking_tokens, sum(map(tokens.output_tokens, thoughts)))
        details["output_tokens_details"] = {"thinking_tokens": counted}
    if searches := reply.usage.web_searches:
        details["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return details


def _input_tokens(reply: Reply, body: Json) -> int:
    usage = reply.usage
    cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
    return _first(usage.input_tokens, max(1, tokens.input_tokens(body) - cached))


def _first(given: int | None, estimated: int) -> int:
    return estimated if given is None else given


# What message_delta repeats; the rest of the numbers is in message_start only.
CUMULATIVE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)
LATE = ("output_tokens_details", "server_tool_use")
STOP = ("stop_reason", "stop_sequence", "stop_details")
ENDING = (
    *STOP,
    "container",
)  # what message_delta says of the message; the last one if there is one


def _opening(whole: Json, reply: Reply, body: Json) -> Json:
    usage = {name: value for name, value in whole["usage"].items() if name not in LATE}
    usage["output_tokens"] = 1
    if reply.usage.final_input_tokens is not None:
        usage["input_tokens"] = _input_tokens(reply, body)
    empty = dict.fromkeys(name for name in ENDING if name in whole)
    return {**whole, "content": [], **empty, "usage": usage}


def _closing(whole: Json) -> Json:
    usage = {name: whole["usage"][name] for name in CUMULATIVE if name in whole["usage"]}
    ending = {name: whole[name] for name in ENDING if name in whole}
    return {"type": "message_delta", "delta": ending, "usage": usage}
