"""The history as LangChain messages, which any chat model of LangChain takes.

Text, pictures, calls and results. Thoughts stay behind: they belong to the provider that signed
them, and a graph may ask another one.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

Json = dict[str, Any]


def conversation(messages: list[Json]) -> list[BaseMessage]:
    """From the form of the Messages API. A graph may change them: nothing in them is shared."""
    names = {b["id"]: b["name"] for m in messages for b in _blocks(m) if b["type"] == "tool_use"}
    said: list[BaseMessage] = []
    for message in messages:
        blocks = _blocks(message)
        if message["role"] == "assistant":
            said += _answer(blocks)
        else:
            said += [_result(b, names) for b in blocks if b["type"] == "tool_result"]
            said += _question([b for b in blocks if b["type"] != "tool_result"])
    for index, each in enumerate(said):
        each.id = f"turnlog-{index}"  # known, so that the graph does not say it again
    return said


def _answer(blocks: list[Json]) -> Iterator[AIMessage]:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    if text or calls:
        yield AIMessage(text, tool_calls=calls)


def _call(block: Json) -> Json:
    args = deepcopy(block["input"])
    return {"type": "tool_call", "id": block["id"], "name": block["name"], "args": args}


def _question(blocks: list[Json]) -> Iterator[HumanMessage]:
    parts: list[Any] = [part for block in blocks if (part := _part(block))]
    if all(part["type"] == "text" for part in parts):
        texts = [part["text"] for part in parts]
        yield from [HumanMessage("\n\n".join(texts))] if texts else []
    else:
        yield HumanMessage(parts)


def _part(block: Json) -> Json | None:
    source = block.get("source") or {}
    match block["type"], source.get("type"):
        case "text", _:
            return {"type": "text", "text": block["text"]}
        case "image", "base64":
            return {"type": "image", "base64": source["data"], "mime_type": source["media_type"]}
        case "document", "base64":
            name = block.get("title") or "document"
            file = {"base64": source["data"], "mime_type": source["media_type"]}
            return {"type": "file", "filename": name, **file}
        case "document", "text":
            return {
                "type": "text",
                "text": f"{block.get('title') or 'Document'}:\n{source['data']}",
            }
    return None


def _result(block: Json, names: dict[str, str]) -> ToolMessage:
    content = block.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text") or _encoded(part) for part in content)
    status = "error" if block.get("is_error") else "success"
    call = block["tool_use_id"]
    return ToolMessage(content, tool_call_id=call, name=names.get(call), status=status)


def _encoded(part: Json) -> str:
    return msgspec.json.encode({"type": part.get("type")}).decode()


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
