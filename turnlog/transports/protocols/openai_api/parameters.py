"""Parameters of OpenAI's API: what an agent can honour, and why not the others.

Nothing is left out silently: what is not honoured is refused, unless its value changes nothing.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from turnlog.errors import BadInput, BadParameter
from turnlog.transports.http.request import UserRequest

T = TypeVar("T", bound=msgspec.Struct)
MOST_BYTES = 16_000_000
_OWN = "The agent has its own settings for the model. Leave it out"
_TOKEN = "Who asks is said by the token. Leave it out"
_KEPT = "Everything is kept in the log. Leave it out"
_TEXT = "Answers are text. Leave it out"
_CACHE = "The server caches prompts by itself. Leave it out"

# What is refused: why, and the values that change nothing.
# fmt: off
REFUSED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "temperature":            (_OWN, (1,)),
    "top_p":                  (_OWN, (1,)),
    "presence_penalty":       (_OWN, (0,)),
    "frequency_penalty":      (_OWN, (0,)),
    "logit_bias":             (_OWN, ({},)),
    "seed":                   (_OWN, ()),
    "stop":                   (_OWN, ([],)),
    "verbosity":              (_OWN, ("medium",)),
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
    "user":                   (_TOKEN, ()),
    "safety_identifier":      (_TOKEN, ()),
    "access_programs":        (_TOKEN, ()),
    "prompt_cache_key":       (_CACHE, ()),
    "prompt_cache_options":   (_CACHE, ()),
    "prompt_cache_retention": (_CACHE, ()),
    "context_management":     ("The server keeps the history within bounds. Leave it out", ()),
    "truncation":             ("The server keeps the history within bounds", ("auto", "disabled")),
    "store":                  (_KEPT, (True,)),
    "service_tier":           (_OWN, ("auto", "default")),
    "moderation":             (_OWN, ()),
    "prompt":                 ("The agent has its own prompt. Leave it out", ()),
}
# fmt: on
# An agent's answers have a limit of their own; one that is not lower changes nothing.
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# A response always has these, where the model gives them.
INCLUDED = ("reasoning.encrypted_content",)
# How much a model may think, in tokens. None: not at all.
EFFORTS = {"none": None, "minimal": None, "low": 2_000, "medium": 10_000, "high": 30_000,
           "xhigh": 60_000, "max": 100_000}  # fmt: skip


async def read(request: UserRequest, kind: type[T]) -> T:
    """The request's JSON. Raises BadInput for a parameter that is not honoured, or not known."""
    given = await request.object(MOST_BYTES)
    known = set(kind.__struct_fields__)
    for name, value in given.items():
        if name in LIMITS and value is not None:
            _check_limit(name, value, request)
        elif name not in known and value is not None:
            _refuse(name, value)
    try:
        return msgspec.convert({name: given[name] for name in known & given.keys()}, kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"The body does not fit: {error}.") from None


def _check_limit(name: str, value: Any, request: UserRequest) -> None:
    most: int = request.backend.config(request.user.id)["limits"]["maxTokens"]
    if not isinstance(value, int) or value < most:
        sentence = f"{name!r} is not honoured below {most}, which is the server's own limit."
        raise BadParameter(f"{sentence} Leave it out.", name)


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
