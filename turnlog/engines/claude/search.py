"""A record of each web search that the model made: what it asked for and what it was given."""

from collections.abc import Iterator, Sequence
from typing import Any

from turnlog.events.content import Block
from turnlog.events.kinds import Message, WebSearched
from turnlog.ports import CallOutput as Output

_RESULT = "web_search_tool_result"


def with_searches(outputs: Sequence[Output], before: Sequence[Block]) -> Sequence[Output]:
    """The last outputs of a call: the message comes after the records of its searches.

    `before`: the blocks of a paused answer that this one goes on with. A search asked for
    there has its result here.
    """
    message = outputs[-1]
    assert isinstance(message, Message), "a call ends with its message"
    if not [block for block in message.blocks if block["type"] == _RESULT]:
        return outputs
    return [*outputs[:-1], *_searches(message, before), message]


def paused(messages: Sequence[dict[str, Any]]) -> list[Block]:
    """What the model had said when it paused, if that is where the request goes on."""
    blocks: list[Block] = messages[-1]["content"] if messages[-1]["role"] == "assistant" else []
    return blocks


def _searches(message: Message, before: Sequence[Block]) -> Iterator[WebSearched]:
    blocks = [*before, *message.blocks]
    queries = {b["id"]: b.get("input") or {} for b in blocks if b["type"] == "server_tool_use"}
    for block in message.blocks:
        if block["type"] == _RESULT:
            query = queries.get(block["tool_use_id"], {}).get("query")
            yield _record(message.message_id, block, str(query or ""))


def _record(message_id: str, block: Block, query: str) -> WebSearched:
    found = block.get("content")
    if isinstance(found, dict):  # it failed, or was one too many
        code = str(found.get("error_code"))
        return WebSearched(message_id=message_id, query=query, results=[], error=code)
    pages = [page for page in found if isinstance(page, dict)] if isinstance(found, list) else []
    results = [{"title": page.get("title"), "url": page.get("url")} for page in pages]
    return WebSearched(message_id=message_id, query=query, results=results)
