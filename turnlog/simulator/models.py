"""What each model family takes, or takes no longer, and since which version.

From the migration guides and "what's new" pages of platform.claude.com/docs/en/models (Opus 5.5,
Sonnet 5 and 5.5, Haiku 5.5, Fable 5) and, for 4.6 to 4.8, from reported 400s. Mythos is
documented as Fable's twin. A model that is not known takes everything.
"""

import re

Version = tuple[int, int]

# fmt: off
#   enabled, disabled: that type of `thinking`      sampling: temperature, top_p, top_k
#   prefill: a last message from the assistant      forced:   tool_choice any or tool
REFUSED_SINCE: dict[str, dict[str, Version]] = {
    "prefill":  {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
    "sampling": {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": (5, 0)},
    "enabled":  {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": (5, 0)},
    "disabled": {"opus": (5, 5), "sonnet": (5, 5), "fable": (5, 0)},
    "forced":   {"opus": (5, 5), "sonnet": (5, 5), "fable": (5, 1)},
}
SAME_AS = {"mythos": "fable"}
# What came with a version, so that the ones before refuse it; a family without one never had it.
#   effort: `output_config.effort`      max, xhigh: these efforts
#   filtering: web search from 20260209 on
TAKEN_SINCE: dict[str, dict[str, Version]] = {
    "adaptive":      {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
    "between_tools": {"sonnet": (5, 5)},
    "effort":        {"opus": (4, 5), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
    "max":           {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
    "xhigh":         {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": (5, 0)},
    "filtering":     {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
}
# fmt: on
# `display` is "omitted" from here on, unless the request says otherwise.
OMITS_SINCE: Version = (4, 7)

# A trailing date, as in claude-sonnet-4-20250514, is not a minor version.
NAME = re.compile(r"(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?")


CURRENT = ("claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")


def described(model: str) -> dict[str, object]:
    """A model as the list of models tells it. Its date is not a real one."""
    return {
        "type": "model",
        "id": model,
        "display_name": f"{model.replace('-', ' ').title()} (simulated)",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }


def family_and_version(model: str) -> tuple[str, Version] | None:
    found = NAME.search(model)
    if found is None:
        return None
    return SAME_AS.get(found[1], found[1]), (int(found[2]), int(found[3] or 0))


def refuses(model: str, what: str) -> bool:
    known = family_and_version(model)
    if known is None:
        return False
    family, version = known
    if what in TAKEN_SINCE:
        since = TAKEN_SINCE[what].get(family)
        return since is None or version < since
    since = REFUSED_SINCE.get(what, {}).get(family)
    return since is not None and version >= since


def omits_thinking(model: str) -> bool:
    """Whether thinking comes without its text unless `display` asks for it."""
    known = family_and_version(model)
    return known is not None and known[1] >= OMITS_SINCE
