"""Parameters of OpenAI's API: what is honoured, and what becomes of the others.

Nothing is left out silently. What a program relies on is refused, unless its value changes
nothing. What is only a hint is left out, and a header of the answer names it: many programs send
a temperature with every request, and no answer is wrong without it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from turnlog.errors import BadInput, BadParameter
from turnlog.events.content import Sampling
from turnlog.projections.history.models import is_known, sampling_taken
from turnlog.transports.http.request import UserRequest

T = TypeVar("T", bound=msgspec.Struct)
MOST_BYTES = 16_000_000
Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Tokens = Annotated[int, msgspec.Meta(ge=1)]
_OWN = "The agent has its own settings for the model. Leave it out"
_KEPT = "Everything is kept in the log. Leave it out"
_TEXT = "Answers are text. Leave it out"
LEFT_OUT = "turnlog-left-out"  # the header that names the hints that nobody followed
# Hints that no agent follows. `temperature` and `top_p` go to the models that take them.
HINTS = (
    "presence_penalty", "frequency_penalty", "seed", "verbosity", "user", "safety_identifier",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
)  # fmt: skip

# What is refused: why, and the values that change nothing.
# fmt: off
REFUSED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "logit_bias":             (_OWN, ({},)),
    "stop":                   ("This protocol has no 'stop'. Leave it out", ([],)),
    "n":                      ("There is one answer", (1,)),
    "logprobs":               ("Claude does not tell probabilities", (False,)),
    "top_logprobs":           ("Claude does not tell probabilities", (0,)),
    "max_tool_calls":         ("The server limits a turn by `max_calls`. Leave it out", ()),
    "tool_choice":            ("The agent chooses its tools", ("auto",)),
    "parallel_tool_calls":    ("The agent chooses its tools", (True,)),
    "functions":              ("Send functions as 'tools'", ([],)),
    "function_call":          ("Send functions as 'tools'", ("auto",)),
    "response_format":        (_TEXT, ({"type": "text"},)),
    "text":                   (_TEXT, ({}, {"format": {"type": "text"}})),
    "modalities":             (_TEXT, (["text"],)),
    "audio":                  (_TEXT, ()),
    "image":                  (_TEXT, ()),
    "prediction":             (_TEXT, ()),
    "web_search_options":     ("Whether an agent searches the web is its own setting", ()),
    "access_programs":        ("Who asks is said by the token. Leave it out", ()),
    "context_management":     ("The server keeps the history within bounds. Leave it out", ()),
    "truncation":             ("The server keeps the history within bounds", ("auto", "disabled")),
    "store":                  (_KEPT, (True,)),
    "service_tier":           (_OWN, ("auto", "default")),
    "moderation":             (_OWN, ()),
    "prompt":                 ("The agent has its own prompt. Leave it out", ()),
}
# fmt: on
# A response always has these, where the model gives them.
INCLUDED = ("reasoning.encrypted_content",)
# How much a model may think, in tokens. None: not at all.
EFFORTS = {"none": None, "minimal": None, "low": 2_000, "medium": 10_000, "high": 30_000,
           "xhigh": 60_000, "max": 100_000}  # fmt: skip


class Hints(NamedTuple):
    """What a request wishes for, beside what it asks."""

    sampling: Sampling | None
    unheeded: tuple[str, ...]  # that no agent follows

    def left_out(self, model: str, *, thinks: bool) -> list[str]:
        """Those that this model does not follow either."""
        wished = self.sampling or Sampling()
        names = [name for name in ("temperature", "top_p") if getattr(wished, name) is not None]
        if not (is_known(model) or "claude" in model):
            names = []  # it is told all of them
        taken = sampling_taken(model, wished, thinks=thinks)
        return [*(name for name in names if name not in taken), *self.unheeded]


async def read(request: UserRequest, kind: type[T]) -> tuple[T, Hints]:
    """The request's JSON. Raises BadInput for a parameter that is not honoured, or not known."""
    given = await request.object(MOST_BYTES)
    known = set(kind.__struct_fields__)
    said = {name for name, value in given.items() if value is not None}
    for name in said - known - set(HINTS):
        _refuse(name, given[name])
    try:
        wish = msgspec.convert({name: given[name] for name in known & said}, kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"The body does not fit: {error}.") from None
    return wish, Hints(_sampling(wish), tuple(name for name in HINTS if name in said))


def _sampling(wish: Any) -> Sampling | None:
    """What the wish says of it, under the names of both APIs. 1 is what a model does anyway."""
    stop = getattr(wish, "stop", None) or []
    limits = ("max_output_tokens", "max_completion_tokens", "max_tokens")
    limit = next((most for name in limits if (most := getattr(wish, name, None))), None)
    sampling = Sampling(
        temperature=None if wish.temperature == 1 else wish.temperature,
        top_p=None if wish.top_p == 1 else wish.top_p,
        stop=[stop] if isinstance(stop, str) else stop,
        max_tokens=limit,
    )
    return None if sampling == Sampling() else sampling


def _refuse(name: str, value: Any) -> None:
    if name not in REFUSED:
        raise BadParameter(f"There is no parameter {name[:100]!r} here.", name[:100])
    why, harmless = REFUSED[name]
    if value not in harmless:
        only = f", or send {harmless[0]!r}" if harmless else ""
        raise BadParameter(f"{name!r} is not honoured here. {why}{only}.", name)


def thinking(effort: Any) -> dict[str, Any]:
    """What a question says of thinking."""
    if effort is None:
        return {}
    if effort not in EFFORTS:
        names = ", ".join(EFFORTS)
        raise BadInput(f"The effort {str(effort)[:50]!r} is none of: {names}.")
    budget = EFFORTS[effort]
    if budget is None:
        return {"enable_thinking": False}
    return {"enable_thinking": True, "thinking_budget": budget}


def effort_of(reasoning: Mapping[str, Any] | None) -> Any:
    """The effort of a Responses request. Summaries always come, as the model gives them."""
    unknown = set(reasoning or {}) - {"effort", "summary", "generate_summary"}
    if unknown:
        raise BadInput(f"'reasoning.{min(unknown)}' is not honoured here. Leave it out.")
    return (reasoning or {}).get("effort")


def check_included(include: list[str] | None) -> None:
    for name in include or ():
        if name not in INCLUDED:
            raise BadInput(f"'include' can name {INCLUDED[0]!r} here, and not {name[:100]!r}.")
