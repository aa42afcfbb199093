"""What a history may hold depends on the model: since which version, by family."""

import re

Version = tuple[int, int]
_NAME = re.compile(r"(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?")

# fmt: off
# prefill: refuses a last message from the assistant       (migration guides for 4.6 and later)
# system:  takes a `system` message after one from the user        (what's new in Opus 4.8)
SINCE: dict[str, dict[str, Version]] = {
    "prefill": {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5), "fable": (5, 0)},
    "system":  {"opus": (4, 8), "sonnet": (5, 5), "haiku": (5, 5), "fable": (5, 0)},
}
# fmt: on
SAME_AS = {"mythos": "fable"}
LONG_CONTEXT: Version = (4, 6)  # before it, 200,000 tokens


def version(model: str) -> Version | None:
    found = _NAME.search(model)
    return (int(found[2]), int(found[3] or 0)) if found else None


def has(model: str, what: str) -> bool:
    """Whether this holds for the model. A model that is not known has nothing of it."""
    found, number = _NAME.search(model), version(model)
    since = SINCE[what].get(SAME_AS.get(found[1], found[1])) if found else None
    return since is not None and number is not None and number >= since


def has_short_context(model: str) -> bool:
    number = version(model)
    return number is not None and number < LONG_CONTEXT
