"""A history in the form of the Messages API as items of the Responses API, and answers back."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events import numbers
from turnlog.events.content import writable
from turnlog.ports import UnreadableCall

Json = dict[str, Any]


def items(messages: Sequence[Json]) -> list[Json]:
    """What every model of the SDK takes. Thoughts stay with the provider that signed them."""
    return [item for message in messages for item in _items(message)]


def _items(message: Json) -> Iterator[Json]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts: list[Json] = []
    for block in blocks:
        match block["type"]:
            case "tool_use":
                yield from _said(message["role"], parts)
                parts = []
                args = msgspec.json.encode(block["input"]).decode()
                yield {"type": "function_call", "call_id": block["id"], "name": block["name"],
                       "arguments": args}  # fmt: skip
            case "tool_result":
                yield {"type": "function_call_output", "call_id": block["tool_use_id"],
                       "output": _text(block.get("content") or "")}  # fmt: skip
            case "text" | "image" | "document":
                parts += _part(block)
    yield from _said(message["role"], parts)


def _said(role: str, parts: list[Json]) -> Iterator[Json]:
    """Text alone is a plain message: the SDK's chat models refuse an assistant's parts."""
    if not parts:
        return
    if all(part["type"] == "input_text" for part in parts):
        yield {"role": role, "content": "\n\n".join(part["text"] for part in parts)}
    else:
        yield {"role": role, "content": parts}


def _part(block: Json) -> list[Json]:
    source = block.get("source") or {}
    match block["type"], source.get("type"):
        case "text", _:
            return [{"type": "input_text", "text": block["text"]}]
        case "image", "base64":
            url = f"data:{source['media_type']};base64,{source['data']}"
            return [{"type": "input_image", "image_url": url, "detail": "auto"}]
        case "document", "base64":
            url = f"data:{source['media_type']};base64,{source['data']}"
            name = block.get("title") or "document.pdf"
            return [{"type": "input_file", "file_data": url, "filename": name}]
        case "document", "text":
            text = f"{block.get('title') or 'Document'}:\n{source['data']}"
            return [{"type": "input_text", "text": text}]
    return []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or part.get("type")) for part in content)


def blocks(
    output: Sequence[Any],
) -> tuple[list[k.Thinking], list[Json], list[int], list[UnreadableCall]]:
    """Thoughts, the blocks of the message, where each stands, and which calls cannot be read."""
    thoughts: list[k.Thinking] = []
    made: list[Json] = []
    indexes: list[int] = []
    unreadable: list[UnreadableCall] = []
    at = 0
    for item in output:
        if item.type == "reasoning":
            parts = [*(item.summary or ()), *(getattr(item, "content", None) or ())]
            text = writable("".join(part.text for part in parts))
            signature = getattr(item, "encrypted_content", None) or ""
            if text or signature:
                thoughts.append(
                    k.Thinking(message_id="", content=text, block_index=at, signature=signature)
                )
                at += 1
        elif item.type == "message":
            texts = (getattr(p, "text", "") or getattr(p, "refusal", "") for p in item.content)
            text = writable("".join(texts))
            if text:
                made.append({"type": "text", "text": text})
                indexes.append(at)
                at += 1
        elif item.type == "function_call":
            args, why = numbers.arguments(item.arguments or "{}")
            if why is not None:
                unreadable.append(UnreadableCall(block=len(made), why=why))
            about = {"id": writable(item.call_id), "name": writable(item.name), "input": args}
            made.append({"type": "tool_use", **about})
            indexes.append(at)
            at += 1
    return thoughts, made, indexes, unreadable
