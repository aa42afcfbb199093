"""What Claude is sent: from an Ask and the messages so far to the body of a request. Pure.

The prompt is written so that each call re-reads what the one before it has written into the
provider's cache: tools in one order, then the system prompt, then a history that only grows.
"""

from collections.abc import Sequence
from typing import Any

from turnlog.engines.claude.models import BUDGET, WEB_SEARCH, thinking_parameters
from turnlog.events.content import Block
from turnlog.events.kinds import Message
from turnlog.events.usage import searches_of
from turnlog.ports import Ask, Said, ToolSpec
from turnlog.projections.history.messages import add, container_of

ApiMessage = dict[str, Any]
# "You can define up to 4 cache breakpoints": tools, system, and two in the history.
IN_HISTORY = 2
CACHES: dict[str, dict[str, str] | None] = {
    "off": None,
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
}
NO_MORE_SEARCHES = (
    "The web searches of this conversation are used up. Answer from what you know and what was"
    " found before, and say so where that is not enough."
)
_THOUGHTS = ("thinking", "redacted_thinking")
_COUNTED = ("model", "messages", "system", "tools", "thinking", "output_config")


class Requests:
    """The requests of one turn: each knows what the ones before it have used up."""

    def __init__(self, ask: Ask, specs: Sequence[ToolSpec], cache: str = "off") -> None:
        self._ask = ask
        self._specs = specs
        self._mark = CACHES[cache]
        self._searches = ask.searches
        self._container = ask.container

    def next(self, messages: list[ApiMessage]) -> dict[str, Any]:
        """The body of the next call."""
        ask = self._ask
        request: dict[str, Any] = {
            "model": ask.model,
            "messages": _marked_history(messages, self._mark),
            **thinking_parameters(ask.model, ask.thinking_budget, ask.max_tokens),
        }
        if system := self._system():
            request["system"] = system
        if tools := self._tools(paused=messages[-1]["role"] == "assistant"):
            request["tools"] = tools
        if self._container is not None:
            request["container"] = self._container
        return request

    def heard(self, said: Said) -> None:
        """Note what an answer has used: searches are counted, a container is gone back to."""
        for message in said.outputs:
            if isinstance(message, Message):
                if self._searches is not None:
                    self._searches = max(0, self._searches - searches_of(message.reported))
                self._container = container_of(message) or self._container

    def _system(self) -> str | list[Block]:
        said = [self._ask.system] if self._ask.system else []
        notes = [NO_MORE_SEARCHES] if self._searches == 0 else []
        if self._mark is None:
            return "\n\n".join([*said, *notes])
        stable = [_marked({"type": "text", "text": text}, self._mark) for text in said]
        return [*stable, *({"type": "text", "text": text} for text in notes)]

    def _tools(self, paused: bool) -> list[dict[str, Any]]:
        """Ours first and in one order: a search used up changes nothing before it."""
        ours: list[dict[str, Any]] = [
            {"name": s.name, "description": s.description, "input_schema": s.input_schema}
            for s in sorted(self._specs, key=lambda spec: spec.name)
        ]
        if ours and self._mark is not None:
            ours[-1] = _marked(ours[-1], self._mark)
        left = self._searches or 0
        if paused and self._searches is not None:
            left = max(left, 1)  # a paused answer may hold a search that is still to be made
        search = {"type": WEB_SEARCH, "name": "web_search", "max_uses": left}
        return [*ours, search] if left else ours


def counted(request: dict[str, Any]) -> dict[str, Any]:
    """The part of a request that `count_tokens` takes."""
    return {name: request[name] for name in _COUNTED if name in request}


def without_thoughts(request: dict[str, Any]) -> dict[str, Any]:
    """The same request for a model that does not take its earlier thoughts back."""
    told: list[ApiMessage] = []
    for message in request["messages"]:
        said = [block for block in message["content"] if block["type"] not in _THOUGHTS]
        add(told, message["role"], said)
    kept = request | {"messages": told}
    if request.get("thinking", {}).get("type") == BUDGET:
        del kept["thinking"]  # with a budget, a turn that uses tools must begin with a thought
    return kept


def _marked_history(messages: list[ApiMessage], mark: dict[str, str] | None) -> list[ApiMessage]:
    """With a mark at the end of the last two messages that are not the model's.

    The last one is where this call writes; the one before it is where the call before has
    written, which the API would not find by itself across more than 20 blocks.
    """
    if mark is None:
        return messages
    marked = list(messages)
    places = [i for i, message in enumerate(messages) if message["role"] == "user"]
    for place in places[-IN_HISTORY:]:
        *before, last = marked[place]["content"]
        if last["type"] != "text" or last["text"].strip():
            marked[place] = marked[place] | {"content": [*before, _marked(last, mark)]}
    return marked


def _marked(block: Block, mark: dict[str, str]) -> Block:
    return block | {"cache_control": mark}
