"""What differs between Claude's model families, as a small table."""

import re
from typing import Any

_NAME = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d+)(?:-(?P<minor>\d{1,2})(?!\d))?")

# From this version on a family decides by itself how long to think ("adaptive") and refuses
# a token budget; before it, it needs one. A family that is not listed is newer than this.
ADAPTIVE_FROM = {
    "opus": (4, 7),
    "sonnet": (5, 0),
    "haiku": (5, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
}
# The session's budget as an effort, for models that take no budget: the first that fits.
EFFORTS = ((4_000, "low"), (16_000, "medium"), (50_000, "high"), (100_000, "max"))
LEAST_BUDGET = 1024  # "budget_tokens ≥ 1024 and < max_tokens"
MOST_OUTPUT = 64_000  # of the families that take a budget, thinking included
ROOM_FOR_THE_ANSWER = 4096


def is_adaptive(model: str) -> bool:
    """Whether the model decides by itself how long to think."""
    name = _NAME.search(model)
    if name is None:
        return True
    version = (int(name["major"]), int(name["minor"] or 0))
    return version >= ADAPTIVE_FROM.get(name["family"], (0, 0))


def thinking_parameters(model: str, budget: int | None, max_tokens: int) -> dict[str, Any]:
    """The parameters of a request that let the model think, or not (budget None)."""
    if budget is None:
        return {"max_tokens": max_tokens}
    if is_adaptive(model):
        effort = next((name for most, name in EFFORTS if budget <= most), "max")
        return {
            "max_tokens": max_tokens,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": effort},
        }
    tokens = min(max(budget, LEAST_BUDGET), MOST_OUTPUT - ROOM_FOR_THE_ANSWER)
    return {
        "max_tokens": max(max_tokens, tokens + ROOM_FOR_THE_ANSWER),
        "thinking": {"type": "enabled", "budget_tokens": tokens},
    }
