"""What Claude's model families take and refuse, and since which version: the one table of it.

Read by the rules for histories, by the engine's requests and by the simulator's refusals. From
the migration guides and "what's new" pages of platform.claude.com/docs/en/models (Opus 5.5,
Sonnet 5 and 5.5, Haiku 5.5, Fable 5), and for 4.6 to 4.8 from reported 400s.
"""

import re
from functools import lru_cache

from turnlog.events.content import Sampling

Version = tuple[int, int]
ALWAYS: Version = (0, 0)

# fmt: off
# A family that a row does not name never has it.
SINCE: dict[str, dict[str, Version]] = {
    # takes: these types of `thinking`
    "adaptive":          {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    "between_tools":     {"sonnet": (5, 5)},
    # takes: `output_config.effort`, and these efforts
    "effort":            {"opus": (4, 5), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    "max":               {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    "xhigh":             {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": ALWAYS},
    # takes: web search from 20260209 on; a `system` message after one from the user; 1M tokens
    "filtering":         {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    "system":            {"opus": (4, 8), "sonnet": (5, 5), "haiku": (5, 5), "fable": ALWAYS},
    "long_context":      {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    # reads: images of 2576 pixels; others are made smaller, to 1568 ("high-resolution" models:
    # platform.claude.com/docs/en/build-with-claude/vision)
    "large_images":      {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": ALWAYS},
    # summarizes a conversation on demand: `compaction`, with the beta compact-2026-09-04
    "compaction":        {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    # refuses: a last message from the assistant; temperature, top_p and top_k; a forced tool
    "refuses_prefill":   {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": ALWAYS},
    "refuses_sampling":  {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": ALWAYS},
    "refuses_forced":    {"opus": (5, 5), "sonnet": (5, 5), "fable": (5, 1)},
    # refuses: these types of `thinking`
    "refuses_enabled":   {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": ALWAYS},
    "refuses_disabled":  {"opus": (5, 5), "sonnet": (5, 5), "fable": ALWAYS},
    # thinks unless it is told not to; leaves the text out unless `display` asks for it
    "thinks_unasked":    {"opus": (5, 0), "sonnet": (5, 0), "haiku": (5, 5), "fable": ALWAYS},
    "omits_thinking":    {"opus": (4, 7), "sonnet": (4, 7), "haiku": (4, 7), "fable": ALWAYS},
}
# fmt: on
SAME_AS = {"mythos": "fable"}  # documented as its twin
SHORT_CONTEXT, LONG_CONTEXT = 200_000, 1_000_000  # tokens
FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")

# A trailing date, as in claude-sonnet-4-20250514, is not a minor version.
_NAME = re.compile(rf"({'|'.join(FAMILIES)})-(\d{{1,2}})(?!\d)(?:-(\d{{1,2}})(?!\d))?")


def is_known(model: str) -> bool:
    return _NAME.search(model) is not None


@lru_cache(maxsize=1000)
def has(model: str, fact: str) -> bool | None:
    """Whether a row of the table holds for the model; None for a model that is not known."""
    name = _NAME.search(model)
    if name is None:
        return None
    since = SINCE[fact].get(SAME_AS.get(name[1], name[1]))
    return since is not None and (int(name[2]), int(name[3] or 0)) >= since


def sampling_taken(model: str, sampling: Sampling, *, thinks: bool) -> dict[str, float]:
    """What the model takes of these wishes, by its name in the API. "Temperature: range: 0..1";
    it goes with no thinking, and not together with `top_p`.
    """
    if thinks or has(model, "refuses_sampling") is not False:
        return {}
    if sampling.temperature is not None:
        return {"temperature": sampling.temperature} if sampling.temperature <= 1 else {}
    return {"top_p": sampling.top_p} if sampling.top_p is not None else {}


def context_of(model: str) -> int:
    """How many tokens a call of the model may have. One that is not known has the fewer."""
    return LONG_CONTEXT if has(model, "long_context") else SHORT_CONTEXT
