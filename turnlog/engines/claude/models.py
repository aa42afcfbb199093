"""How each model is let think, or kept from it, in the parameters of a request.

What a model takes is in `projections/history/models.py`. `docs/claude.md` shows the ways to think
by family; a test compares them.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from turnlog.projections.history.models import has

# How a model is told to think.
BUDGET = "enabled"  # with so many tokens, 1024 or more
ADAPTIVE = "adaptive"  # it decides by itself, by the effort
# How it is kept from thinking.
UNASKED = "nothing is sent"  # it thinks only when told to
DISABLED = "disabled"
BETWEEN_TOOLS = "between_tools"  # only what it notes between two tools comes as thinking
ALWAYS = "effort low"  # it always thinks: as little as can be


class Thinking(NamedTuple):
    """How a model is told to think and not to think."""

    on: str
    off: str


# The session's budget as an effort, for models that take no budget: the first that fits.
EFFORTS = ((4_000, "low"), (16_000, "medium"), (50_000, "high"), (100_000, "max"))
LEAST_BUDGET = 1024  # "Must be ≥1024 and less than `max_tokens`." (the SDK's types)
MOST_OUTPUT = 64_000  # that every model since 4.5 gives, thinking included
LEAST_ANSWER = 4096  # room that thinking leaves
# "Interleaved": between two tools too. Adaptive thinking does that by itself.
INTERLEAVED = "interleaved-thinking-2025-05-14"
COMPACTION = "compact-2026-09-04"  # a summary on demand
# Every model searches with this version. From 20260209 on (4.6 and later) the model may filter
# results in code before they are results, so that the log would not hold what it read.
WEB_SEARCH = "web_search_20250305"


@lru_cache(maxsize=100)
def thinking_of(model: str) -> Thinking:
    """A model that is newer than the table, or not Claude, is taken for an adaptive one."""
    on = BUDGET if has(model, "adaptive") is False else ADAPTIVE
    if not has(model, "thinks_unasked"):
        return Thinking(on, UNASKED)
    if not has(model, "refuses_disabled"):
        return Thinking(on, DISABLED)
    return Thinking(on, BETWEEN_TOOLS if has(model, "between_tools") else ALWAYS)


def thinking_parameters(model: str, budget: int | None, max_tokens: int) -> dict[str, Any]:
    """The parameters of a request that let the model think, or not (budget None)."""
    how = thinking_of(model)
    if budget is None:
        return {"max_tokens": max_tokens} | _OFF[how.off]
    tokens = min(max(budget, LEAST_BUDGET), MOST_OUTPUT - LEAST_ANSWER)
    # Thoughts count as output: what the answer may have is not to be thought away.
    room = {"max_tokens": max(max_tokens, min(max_tokens + tokens, MOST_OUTPUT))}
    if how.on == BUDGET:
        return room | {"thinking": {"type": BUDGET, "budget_tokens": tokens, **_SHOWN}}
    effort = next((name for most, name in EFFORTS if budget <= most), "max")
    return room | _adaptive(effort)


def betas(request: dict[str, Any]) -> list[str]:
    """The features of this request that the API gives only when asked by name."""
    interleaved = [INTERLEAVED] if request.get("thinking", {}).get("type") == BUDGET else []
    return [*interleaved, *([COMPACTION] if "compaction" in request else [])]


_SHOWN = {"display": "summarized"}  # newer models leave the text out unless asked


def _adaptive(effort: str) -> dict[str, Any]:
    return {"thinking": {"type": ADAPTIVE, **_SHOWN}, "output_config": {"effort": effort}}


_OFF: dict[str, dict[str, Any]] = {
    UNASKED: {},
    DISABLED: {"thinking": {"type": DISABLED}},
    BETWEEN_TOOLS: {"thinking": {"type": BETWEEN_TOOLS}},
    ALWAYS: _adaptive("low"),
}
