"""Whether the API would take a request, and what it would say if not.

`check` runs one small function after the other and raises `Refused` at the first broken rule,
with its place. The words are the API's where an error of that kind is on record; they are ours
for roles, the order of results, redacted thinking, forced tools by model, and citations.
Shares nothing with the code that builds turnlog's requests.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from . import block_rules, message_rules
from .models import refuses
from .refusal import Request, refuse
from .script import Json

MAX_BODY = 32 * 1024 * 1024
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
COMPACTION = "compact-2026-09-04"
SAMPLING = ("temperature", "top_p", "top_k")

PARAMETERS = {
    *("model", "messages", "max_tokens", "stream", "system", "tools", "tool_choice", "thinking"),
    *("metadata", "stop_sequences", "service_tier", "output_config", "cache_control"),
    *("container", "diagnostics", "inference_geo", "speed", "user_profile_id", "workspace_id"),
    *SAMPLING,
}
# Only with an `anthropic-beta` header.
BETA_PARAMETERS = {
    *("betas", "compaction", "context_management", "fallback_credit_token", "fallbacks"),
    *("mcp_servers", "output_format", "thread"),
}


def check(
    headers: Mapping[str, str],
    raw: bytes,
    checks: "tuple[Check, ...] | None" = None,
    resolve: Callable[[Json], Json] = lambda body: body,
) -> Json:
    """The body of a request that the API would take. Raises Refused for any other.

    `resolve` puts bytes where the request names files.
    """
    authenticated(headers)
    request = Request(headers, resolve(_decoded(raw)))
    for rule in CHECKS if checks is None else checks:
        try:
            rule(request)
        except (AttributeError, KeyError, TypeError):  # a shape that no rule has foreseen
            refuse(f"{rule.__name__}: Input does not match the expected shape.")
    return request.body


def authenticated(headers: Mapping[str, str]) -> None:
    bearer = headers.get("authorization", "").partition(" ")[2]
    if not (bearer.strip() or headers.get("x-api-key")):
        refuse("x-api-key header is required", "authentication_error")
    if not headers.get("anthropic-version"):
        refuse("anthropic-version: header is required")


def _decoded(raw: bytes) -> Json:
    if len(raw) > MAX_BODY:
        refuse("Request exceeds the maximum size", "request_too_large")
    try:
        body = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        refuse(f"The request body is not valid JSON: {error}")
    if not isinstance(body, dict):
        refuse("Input should be a valid dictionary or object to extract fields from")
    return body


# --- parameters ---


def parameters_are_known(request: Request) -> None:
    known = PARAMETERS | (BETA_PARAMETERS if request.headers.get("anthropic-beta") else set())
    for name in request.body:
        if name not in known:
            refuse(f"{name}: Extra inputs are not permitted")


def model_is_named(request: Request) -> None:
    model = _required(request, "model")
    if not isinstance(model, str):
        refuse("model: Input should be a valid string")
    if not model:
        refuse("model: String should have at least 1 character")


def max_tokens_is_positive(request: Request) -> None:
    max_tokens = _required(request, "max_tokens")
    if not _is_integer(max_tokens):
        refuse("max_tokens: Input should be a valid integer")
    if max_tokens < 1:
        refuse("max_tokens: Input should be greater than or equal to 1")


def sampling_is_supported(request: Request) -> None:
    for name in SAMPLING:
        if name in request.body and refuses(request.body["model"], "sampling"):
            refuse(f"`{name}` is deprecated for this model.")
    temperature = request.body.get("temperature")
    if temperature is not None and not 0 <= temperature <= 1:
        refuse("temperature: range: 0..1")


def compaction_is_supported(request: Request) -> None:
    """A summary on demand: docs/en/build-with-claude/compaction-on-demand."""
    asked = request.body.get("compaction")
    if asked is None:
        return
    if COMPACTION not in request.headers.get("anthropic-beta", ""):
        refuse("compaction: Extra inputs are not permitted")
    if not isinstance(asked, dict) or asked.get("type") != "summarize":
        refuse("compaction.type: Input should be 'summarize'")
    if "context_management" in request.body:
        refuse("compaction: cannot be combined with `context_management`")
    if refuses(request.body["model"], "compaction"):
        refuse("compaction: not supported on this model")


def _required(request: Request, name: str) -> Any:
    if request.body.get(name) is None:
        refuse(f"{name}: Field required")
    return request.body[name]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# --- thinking ---

EFFORTS = ("low", "medium", "high", "xhigh", "max")
MOST_EFFORTS = ("xhigh", "max")
THINKING_TYPES = ("enabled", "adaptive", "disabled", "between_tools")
INSTEAD = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'


def thinking_is_supported(request: Request) -> None:
    kind = _thinking(request)
    if kind is None:
        return
    if kind not in THINKING_TYPES:
        expected = ", ".join(f"'{name}'" for name in THINKING_TYPES)
        refuse(f"thinking: Input tag '{kind}' does not match any of the expected tags: {expected}")
    if refuses(request.body["model"], kind):
        if kind in ("adaptive", "between_tools"):
            refuse(f"{kind} thinking is not supported on this model")
        refuse(f'"thinking.type.{kind}" is not supported for this model. {INSTEAD}')


def effort_is_supported(request: Request) -> None:
    effort = (request.body.get("output_config") or {}).get("effort")
    if effort is None:
        return
    if effort not in EFFORTS:
        refuse(f"output_config.effort: Input should be one of {', '.join(EFFORTS)}")
    if refuses(request.body["model"], "effort"):
        refuse("This model does not support the effort parameter.")
    if effort in MOST_EFFORTS:
        if refuses(request.body["model"], effort):
            refuse(f"output_config.effort: '{effort}' is not supported for this model.")
        if _thinking(request) in ("disabled", "between_tools"):
            refuse(f"output_config.effort: '{effort}' needs thinking, which is turned off.")


def thinking_budget_fits(request: Request) -> None:
    if _thinking(request) != "enabled":
        return
    budget = request.body["thinking"].get("budget_tokens")
    if budget is None:
        refuse("thinking.enabled.budget_tokens: Field required")
    if not _is_integer(budget) or budget < 1024:
        refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget >= request.body["max_tokens"]:
        refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")


def thinking_and_tool_choice_agree(request: Request) -> None:
    choice = (request.body.get("tool_choice") or {}).get("type")
    if choice not in ("any", "tool"):
        return
    if _thinking(request) in ("enabled", "adaptive"):
        refuse("Thinking may not be enabled when tool_choice forces tool use.")
    if refuses(request.body["model"], "forced"):
        refuse(f'tool_choice: "{choice}" is not supported for this model.')


def thinking_opens_the_tool_loop(request: Request) -> None:
    """With `enabled`, a turn that is still using tools begins with its thinking."""
    if _thinking(request) != "enabled":
        return
    placed = message_rules.first_block_of_open_tool_loop(request)
    if placed and placed.block["type"] not in ("thinking", "redacted_thinking"):
        refuse(
            f"{placed.at}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{placed.block['type']}`. When `thinking` is enabled, a final `assistant` message "
            "must start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks)."
        )


def _thinking(request: Request) -> str | None:
    thinking = request.body.get("thinking")
    if thinking is None:
        return None
    if not isinstance(thinking, dict) or "type" not in thinking:
        refuse("thinking.type: Field required")
    return str(thinking["type"])


# --- tools ---

WEB_SEARCHES = ("web_search_20250305", "web_search_20260209", "web_search_20260318")


def tools_are_well_formed(request: Request) -> None:
    for index, tool in enumerate(request.body.get("tools") or ()):
        at = f"tools.{index}.custom"
        if tool.get("type", "custom") == "custom":
            _check_tool_name(f"{at}.name", tool.get("name"))
            _check_schema(f"{at}.input_schema", tool.get("input_schema"))


def web_search_is_well_formed(request: Request) -> None:
    for index, tool in enumerate(request.body.get("tools") or ()):
        at = f"tools.{index}.{tool.get('type')}"
        if not str(tool.get("type")).startswith("web_search_"):
            continue
        if tool["type"] not in WEB_SEARCHES:
            refuse(f"tools.{index}: Input tag '{tool['type']}' does not match any expected tag")
        if tool["type"] != WEB_SEARCHES[0] and refuses(request.body["model"], "filtering"):
            refuse(f"{at}: this version is not supported for this model.")
        if tool.get("name") != "web_search":
            refuse(f"{at}.name: Input should be 'web_search'")
        uses = tool.get("max_uses")
        if uses is not None and (not _is_integer(uses) or uses < 1):
            refuse(f"{at}.max_uses: Input should be greater than 0")


def tool_names_are_unique(request: Request) -> None:
    names = [tool.get("name") for tool in request.body.get("tools") or ()]
    if len(set(names)) != len(names):
        refuse("tools: Tool names must be unique.")


def tool_choice_can_be_met(request: Request) -> None:
    choice = request.body.get("tool_choice")
    if choice is None:
        return
    tools = request.body.get("tools")
    if not tools:
        refuse("tool_choice: tool_choice may only be specified while providing `tools`.")
    if choice.get("type") == "tool" and choice.get("name") not in [t.get("name") for t in tools]:
        refuse(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _check_tool_name(at: str, name: Any) -> None:
    if name is None:
        refuse(f"{at}: Field required")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        refuse(f"{at}: String should match pattern '^{TOOL_NAME.pattern}$'")


def _check_schema(at: str, schema: Any) -> None:
    if schema is None:
        refuse(f"{at}: Field required")
    if not isinstance(schema, dict):
        refuse(f"{at}: Input should be a valid dictionary")
    if "type" not in schema:
        refuse(f"{at}.type: Field required")
    if schema["type"] != "object":
        refuse(f"{at}.type: Input should be 'object'")


# --- caching ---


def cache_breakpoints_are_few(request: Request) -> None:
    """At most four, and none of an hour after one of five minutes."""
    ttls = [marked["cache_control"].get("ttl", "5m") for marked in _marked(request)]
    if len(ttls) > 4:
        refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {len(ttls)}.")
    if ttls != sorted(ttls):  # "1h" sorts before "5m"
        refuse("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


def _marked(request: Request) -> list[Json]:
    system = request.body.get("system")
    everything = [
        *(request.body.get("tools") or ()),
        *(system if isinstance(system, list) else ()),
        *(placed.block for placed in request.nested),
        request.body,
    ]
    return [marked for marked in everything if marked.get("cache_control")]


Check = Callable[[Request], None]

COUNT_CHECKS: tuple[Check, ...] = (
    model_is_named,
    *message_rules.SHAPE,
    tools_are_well_formed,
    tool_names_are_unique,
    *message_rules.CONTENT,
    *block_rules.CHECKS,
)

CHECKS: tuple[Check, ...] = (
    parameters_are_known,
    model_is_named,
    max_tokens_is_positive,
    *message_rules.SHAPE,
    tools_are_well_formed,
    web_search_is_well_formed,
    tool_names_are_unique,
    sampling_is_supported,
    thinking_is_supported,
    thinking_budget_fits,
    effort_is_supported,
    thinking_and_tool_choice_agree,
    tool_choice_can_be_met,
    *message_rules.CONTENT,
    *block_rules.CHECKS,
    compaction_is_supported,
    message_rules.prefill_is_supported,
    thinking_opens_the_tool_loop,
    cache_breakpoints_are_few,
)
