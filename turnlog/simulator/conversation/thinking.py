"""Thoughts: whether the request wants one now, and what of it is shown."""

from turnlog.projections.history.models import has

from ..script import Block, Json, Reply, Thinking, Usage
from ..tokens import output_tokens

INTERLEAVED = "interleaved-thinking-2025-05-14"


def is_on(body: Json, between_tools: bool, betas: str) -> bool:
    """Before the first tool with any kind; between tools only where the API would think there."""
    kind = (body.get("thinking") or {}).get("type")
    if kind == "enabled":
        return not between_tools or INTERLEAVED in betas
    return kind == "adaptive" or (kind == "between_tools" and between_tools)


def is_shown(body: Json) -> bool:
    default = "omitted" if has(body["model"], "omits_thinking") else "summarized"
    return ((body.get("thinking") or {}).get("display") or default) != "omitted"


def with_thought(blocks: list[Block], thought: str, body: Json, usage: Usage) -> Reply:
    """The thought in front. One that is not shown has been paid for all the same."""
    shown = Thinking(thought if is_shown(body) else "")
    paid = output_tokens(Thinking(thought))
    written = paid + sum(map(output_tokens, blocks))
    numbers = {**vars(usage), "thinking_tokens": paid, "output_tokens": written}
    return Reply(shown, *blocks, usage=Usage(**numbers))
