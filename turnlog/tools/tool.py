"""`@tool`: a function that an agent can call. The schema comes from its type hints.

A parameter annotated `ToolContext`, or named as in `identity.IDENTITY`, is filled in by the
server and never shown to the model: who acts is decided by the authenticated session, not by
what the model writes.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, overload

import msgspec

from turnlog.errors import ToolError
from turnlog.ports import ToolSpec, Turn
from turnlog.projections import tool_words as verbs
from turnlog.tools.identity import WITHHELD, Identity, known

_IDENTITY = Identity()
Approval = Literal["always", "never", "writes"]
Describe = str | Callable[[dict[str, Any]], str]  # "Create customer {name}", or a function


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """For whom a tool acts."""

    user_id: str
    session_id: str
    turn_id: str
    tool_use_id: str
    idempotency_key: str = ""  # the same for the same call, whoever runs it and how often

    @classmethod
    def of(cls, turn: Turn, tool_use_id: str) -> "ToolContext":
        """Decided by the server, from the session, never by the model."""
        return cls(
            user_id=turn.user_id,
            session_id=turn.session_id,
            turn_id=turn.id,
            tool_use_id=tool_use_id,
        )


class NotDone(Exception):
    """Raised by a tool's `reconcile`: the call took no effect."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function, the schema that the model sees, and the rules for running it."""

    function: Callable[..., Any]
    spec: ToolSpec
    arguments: type[msgspec.Struct] | None  # what the model may set; None: the function checks
    context_names: tuple[str, ...] = ()  # what the server sets
    identity: Mapping[str, str] = field(default_factory=dict)  # and with what, one by one
    title: str = ""  # for people; "": made from the name
    returns: Any = Any
    writes: bool | None = None  # whether it changes anything; unless surely not, never run twice
    approval: Approval | None = None  # None: as the agent or the server has it
    describe: Describe | None = None  # what a person is asked to allow
    reconcile: Callable[..., Any] | None = None  # after a crash: what became of the call
    timeout: float = 60.0

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def label(self) -> str:
        """What people see of it: `list_all_items` is List all items."""
        words = " ".join(verbs.words_of(self.name))
        return self.title or words[:1].upper() + words[1:]

    def checked(self, args: dict[str, Any]) -> dict[str, Any]:
        """What the model set, as the function wants it. Raises ToolError for what does not fit."""
        if self.arguments is None:
            return {"arguments": args}
        try:
            given = msgspec.convert(_IDENTITY.stripped(args), self.arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"Wrong arguments for {self.name!r}: {error}.") from None
        return {name: getattr(given, name) for name in given.__struct_fields__}

    def refuse_identity(self, args: dict[str, Any]) -> None:
        """Raises ToolError where a person sets what only the server may: no edit changes who acts.

        The model's attempts are dropped and reported; a person is told.
        """
        shown = self.spec.input_schema.get("properties", {})
        foreign = sorted(args.keys() - _IDENTITY.stripped(args).keys() - shown.keys())
        if foreign:
            raise ToolError(f"{foreign[0]!r} is not an argument of {self.name!r}.")

    def filled(self, args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """What the server sets, whatever the model wrote."""
        if self.arguments is not None:
            _IDENTITY.report(self.name, args)
        whole: dict[str, Any] = dict.fromkeys(self.context_names, context)
        return whole | {name: known(source, context) for name, source in self.identity.items()}


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str = "",
    writes: bool | None = None,
    approval: Approval | None = None,
    describe: Describe | None = None,
    reconcile: Callable[..., Any] | None = None,
    timeout: float = 60.0,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    timeout: float = 60.0,
    writes: bool | None = None,
    **rules: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of an async or plain function.

    A tool that writes asks a person first and is never run twice; whether it writes is read
    from the first word of its name (see `verbs`) unless `writes` says so. `timeout` is in
    seconds. A plain function runs in a thread, so that it holds nobody up.
    """

    def make(function: Callable[..., Any]) -> Tool:
        called = name or function.__name__
        judged = verbs.writes(called) if writes is None else writes
        return _make(function, called, timeout, rules | {"writes": judged})

    return make if function is None else make(function)


def _make(function: Callable[..., Any], name: str, timeout: float, rules: dict[str, Any]) -> Tool:
    hints = get_type_hints(function, include_extras=True)
    returns = hints.pop("return", Any)
    context_names = tuple(name for name, hint in hints.items() if _is_context(hint))
    identity = _identity(name, hints)
    arguments = _arguments(function, name, hints, (*context_names, *identity))
    description = inspect.cleandoc(function.__doc__ or "")
    return Tool(
        function=function,
        spec=ToolSpec(name=name, description=description, input_schema=schema_of(arguments)),
        arguments=arguments,
        context_names=context_names,
        identity=identity,
        returns=returns,
        timeout=timeout,
        **rules,
    )


def _is_context(hint: Any) -> bool:
    """Also `ToolContext | None` and Annotated[ToolContext, ...]: never the model's to set."""
    return hint is ToolContext or ToolContext in get_args(hint)


def _identity(tool_name: str, hints: dict[str, Any]) -> dict[str, str]:
    """The parameters that say who acts. Raises TypeError for one that cannot be filled."""
    sources = {name: _IDENTITY.source(name) for name in hints}
    ours = {name: source for name, source in sources.items() if source}
    for name, source in ours.items():
        if source == WITHHELD:
            raise TypeError(f"tool {tool_name!r}: the server knows nothing to fill {name!r} with")
        if not _is_text(hints[name]):
            raise TypeError(f"tool {tool_name!r}: {name!r} is filled by the server: make it str")
    return ours


def _is_text(hint: Any) -> bool:
    """str, `str | None` or Annotated[str, ...]."""
    wraps = get_origin(hint) in (Annotated, Union, UnionType)
    return hint is str or (wraps and str in get_args(hint))


def _arguments(
    function: Callable[..., Any], name: str, hints: dict[str, Any], hidden: tuple[str, ...]
) -> type[msgspec.Struct]:
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: {str(parameter)!r} cannot be given by name")
        if parameter.name in hidden:
            continue
        if parameter.name not in hints:
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} needs a type hint")
        default = () if parameter.default is parameter.empty else (parameter.default,)
        fields.append((parameter.name, hints[parameter.name], *_fresh(default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _fresh(default: tuple[Any, ...]) -> tuple[Any, ...]:
    """A mutable default is copied for each call."""
    if default and isinstance(default[0], list | dict | set) and default[0]:
        value = default[0]
        return (msgspec.field(default_factory=lambda: type(value)(value)),)
    return default


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of type object at the top, as the API wants it."""
    (top,), parts = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema = dict(parts.pop(struct.__name__)) if "$ref" in top else dict(top)
    schema.pop("title", None)
    return schema | ({"$defs": parts} if parts else {})
