"""What Claude is sent: from a Prompt to the body of a request. Pure.

The prompt is written so that each call re-reads what the one before it has written into the
provider's cache: tools in one order, then the system prompt, then a history that only grows.
"""

from operator import attrgetter
from typing import Any

from turnlog.engines.claude.models import BUDGET, DISABLED, WEB_SEARCH, thinking_parameters
from turnlog.engines.claude.output_schema import strict
from turnlog.events.content import Block, Sampling
from turnlog.ports import Prompt
from turnlog.projections.history.clean import last_turn
from turnlog.projections.history.lint import RULES
from turnlog.projections.history.messages import add
from turnlog.projections.history.models import sampling_taken
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request

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
# What a history must be like because of the model, and of how it is told to think.
_BY_MODEL = {
    "thoughts-open-the-tool-loop",
    "thoughts-need-thinking",
    "prefill-is-taken",
    "prefill-ends-without-space",
}
_FOR_ALL = RULES.keys() - _BY_MODEL
_MATTERS = (BUDGET, DISABLED)  # how a model thinks, where a rule asks for thoughts or for none
NOTHING: dict[str, Any] = {}
_COUNTED = ("model", "messages", "system", "tools", "thinking", "output_config")


def body_of(prompt: Prompt, cache: str = "off") -> dict[str, Any]:
    """The body of the call."""
    mark = CACHES[cache]
    thinking = thinking_parameters(prompt.model, prompt.thinking_budget, prompt.max_tokens)
    asked = {"compaction": _compaction(prompt)} if prompt.compaction is not None else {}
    body = _fitting({"model": prompt.model, "messages": prompt.messages, **thinking, **asked})
    body["messages"] = _marked_history(body["messages"], mark)
    if system := _system(prompt, mark):
        body["system"] = system
    if tools := _tools(prompt, mark):
        body["tools"] = tools
    if prompt.output_schema is not None:
        form = {"type": "json_schema", "schema": strict(prompt.output_schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
    if prompt.sampling is not None:
        body |= _sampling(prompt.sampling, body)
    if prompt.container is not None:
        body["container"] = prompt.container
    return body


def _sampling(wished: Sampling, body: dict[str, Any]) -> dict[str, Any]:
    """A model that does not take a wish is not told of it: it would refuse the whole request."""
    thinks = body.get("thinking", {}).get("type") not in (None, DISABLED)
    stop = {"stop_sequences": wished.stop} if wished.stop else {}
    return stop | sampling_taken(body["model"], wished, thinks=thinks)


def _compaction(prompt: Prompt) -> dict[str, Any]:
    """The API summarizes the messages, and answers with nothing else."""
    return {"type": "summarize", "instructions": prompt.compaction}


def _fitting(body: dict[str, Any]) -> dict[str, Any]:
    """The history in a form that this model takes while it is told to think, or not to.

    Thinking may be switched while the turn waits for a person, and a model may call a tool
    without a thought before it. These rules look at the turn that runs, and at nothing before it.
    """
    messages = body["messages"]
    if not messages:
        return body  # the API says what is wrong with that
    begins = last_turn(messages)
    has_no_answer = begins == len(messages) - 1
    thinking = body.get("thinking", NOTHING).get("type")
    if messages[-1]["role"] == "user" and (has_no_answer or thinking not in _MATTERS):
        return body  # the rules about thinking and about a last word of the assistant's hold
    running = messages[begins:]
    fitting = repair(Request(body | {"messages": running}), without=_FOR_ALL).body
    return fitting | {"messages": [*messages[:begins], *fitting["messages"]]}


def _system(prompt: Prompt, mark: dict[str, str] | None) -> str | list[Block]:
    texts = [prompt.system] if prompt.system else []
    notes = [NO_MORE_SEARCHES] if prompt.searches == 0 else []
    if mark is None:
        return "\n\n".join([*texts, *notes])
    stable = [_marked({"type": "text", "text": text}, mark) for text in texts]
    return [*stable, *({"type": "text", "text": text} for text in notes)]


def _tools(prompt: Prompt, mark: dict[str, str] | None) -> list[dict[str, Any]]:
    """Ours first and in one order: a search used up changes nothing before it."""
    ours: list[dict[str, Any]] = [
        {"name": s.name, "description": s.description, "input_schema": s.input_schema}
        for s in sorted(prompt.tools, key=attrgetter("name"))
    ]
    if ours and mark is not None:
        ours[-1] = _marked(ours[-1], mark)
    left = prompt.searches or 0
    if prompt.searches is not None and prompt.messages[-1]["role"] == "assistant":
        left = max(left, 1)  # a paused answer may hold a search that is still to be made
    search = {"type": WEB_SEARCH, "name": "web_search", "max_uses": left}
    return [*ours, search] if left else ours


def counted(body: dict[str, Any]) -> dict[str, Any]:
    """The part of a request that `count_tokens` takes."""
    return {name: body[name] for name in _COUNTED if name in body}


def without_thoughts(body: dict[str, Any]) -> dict[str, Any]:
    """The same request for a model that does not take its earlier thoughts back."""
    messages: list[ApiMessage] = []
    for message in body["messages"]:
        blocks = [block for block in message["content"] if block["type"] not in _THOUGHTS]
        add(messages, message["role"], blocks)
    kept = body | {"messages": messages}
    if body.get("thinking", {}).get("type") == BUDGET:
        del kept["thinking"]  # with a budget, a turn that uses tools must begin with a thought
    return kept


def _marked_history(messages: list[ApiMessage], mark: dict[str, str] | None) -> list[ApiMessage]:
    """With a mark at the end of the last two messages that are not the model's.

    The last one is where this call writes; the one before it is where the call before has
    written, which the API would not find by itself across more than 20 blocks.
    """
    if mark is None:
        return messages
    marked, left = [*messages], IN_HISTORY
    for place in reversed(range(len(marked))):
        message = marked[place]
        if message["role"] != "user":
            continue
        *before, last = message["content"]
        if last["type"] != "text" or last["text"].strip():
            marked[place] = message | {"content": [*before, _marked(last, mark)]}
        left -= 1
        if not left:
            break
    return marked


def _marked(block: Block, mark: dict[str, str]) -> Block:
    return block | {"cache_control": mark}
