"""`@tool`: a function that an agent can call. The schema comes from its type hints.

A parameter annotated `ToolContext`, or named as in `identity.IDENTITY` at any depth, is filled
in by the server and never shown to the model: who acts is decided by the authenticated session,
not by what the model writes.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args, overload

import msgspec

from turnlog.assertions import Assertions
from turnlog.errors import ConfigError, ToolError
from turnlog.ports import ApprovalRule, ToolSpec, Turn, check_approver, check_rule
from turnlog.projections.tool_words import Judgement, judge, words_of
from turnlog.tools.identity import Identity
from turnlog.tools.signatures import declaration, docstrings, hints
from turnlog.tools.signatures.argument_types import positional, renamed, types_of
from turnlog.tools.signatures.parameters import hints_of, struct_of
from turnlog.tools.signatures.schemas import described, schema_of

Describe = str | Callable[[dict[str, Any]], str]  # "Create customer {name}", or a function

NO_ASSERTIONS = Assertions(None, "")


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """For whom a tool acts."""

    user_id: str
    session_id: str
    turn_id: str
    tool_use_id: str
    idempotency_key: str = ""  # the same for the same call, whoever runs it and how often
    deps: Any = None  # of the agent, as it was made: a connection, a client, settings
    agent_id: str = ""
    assertions: Assertions = field(default=NO_ASSERTIONS, repr=False)

    def assertion(self, audience: str) -> str:
        """A token of a minute that says to this receiver who acts, and in which call.

        Raises ConfigError where the settings have no `assertion_key`.
        """
        about = {"session": self.session_id, "turn": self.turn_id, "call": self.tool_use_id}
        return self.assertions.assertion(audience, self.user_id, agent=self.agent_id, **about)

    @classmethod
    def of(cls, turn: Turn, tool_use_id: str, deps: Any = None, **of_agent: Any) -> "ToolContext":
        """Decided by the server, from the session, never by the model."""
        return cls(
            **of_agent,
            deps=deps,
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
    title: str = ""  # for people; "": made from the name
    schema: dict[str, Any] | None = None  # with what the server fills; None: as the model sees it
    identity: Identity = field(default_factory=Identity)  # which parameters that are
    returns: Any = Any
    writes: bool | None = None  # whether it changes anything; unless surely not, never run twice
    why: str = ""  # by what it is known whether it writes
    approval: ApprovalRule | None = None  # None: as the agent or the server has it
    approver: str | None = None  # who may decide; None: as the agent or the server has it
    describe: Describe | None = None  # what a person is asked to allow
    reconcile: Callable[..., Any] | None = None  # after a crash: what became of the call
    timeout: float = 60.0
    mcp: bool = False  # whether programs may use it at /mcp

    def __post_init__(self) -> None:
        """Raises ConfigError for a rule that nobody knows."""
        check_rule(self.approval, f"tool {self.name!r}")
        check_approver(self.approver, f"tool {self.name!r}")
        declaration.check_timeout(self.timeout, self.name)
        if not isinstance(self.writes, bool | None):
            wrong = f"'writes' must be True or False, not {self.writes!r}."
            raise ConfigError(f"tool {self.name!r}: {wrong}")

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def label(self) -> str:
        """What people see of it: `list_all_items` is List all items."""
        words = " ".join(words_of(self.name))
        return self.title or words[:1].upper() + words[1:]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """So that `inspect.signature` and `help` see the function."""
        return self.function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The function itself, as in a unit test: nothing is checked, filled in or asked."""
        return self.function(*args, **named)

    def under(self, names: Mapping[str, str]) -> "Tool":
        """The same tool on a server that has these names of identity; the tool's own win.

        Raises TypeError for a parameter that the server cannot fill.
        """
        if self.arguments is None or self.schema is None:
            return self
        return _identified(replace(self, identity=self.identity.over(names)))

    def given(self, args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """What the function is called with: what the model set, and what only the server may.

        Raises ToolError for what does not fit.
        """
        mine = dict.fromkeys(self.context_names, context)
        whole = self.filled(args, context)
        if self.arguments is None:
            return {"arguments": whole, **mine}
        try:
            fitting = hints.read(whole, self.arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"Wrong arguments for {self.name!r}: {error}.") from None
        names = fitting.__struct_fields__
        return {name: hints.bare(getattr(fitting, name)) for name in names} | mine

    def filled(self, args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """The arguments with who acts, whatever the model wrote."""
        if not self._says_who_acts:
            cleaned: dict[str, Any] = self.identity.cleaned(args)
            return cleaned
        return self.identity.filled(self._whole_schema, args, context)

    @property
    def _whole_schema(self) -> dict[str, Any]:
        return self.spec.input_schema if self.schema is None else self.schema

    @cached_property
    def _says_who_acts(self) -> bool:
        """Whether there may be a place for the server to fill. Few tools have one."""
        return self.identity.has_place_in(self._whole_schema)

    def refuse_identity(self, args: dict[str, Any]) -> None:
        """Raises ToolError where a person sets what only the server may: no edit changes who acts.

        The model's attempts are dropped and reported; a person is told.
        """
        if foreign := sorted(self.identity.foreign(args)):
            raise ToolError(f"{foreign[0]!r} is not an argument of {self.name!r}.")


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str = "",
    writes: bool | None = None,
    approval: ApprovalRule | None = None,
    approver: str | None = None,
    describe: Describe | None = None,
    reconcile: Callable[..., Any] | None = None,
    identity: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    mcp: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    timeout: float = 60.0,
    writes: bool | None = None,
    identity: Mapping[str, str] | None = None,
    **rules: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of an async or plain function.

    A tool that may write asks a person first and is never run twice: any tool, unless `writes`
    says False or its name is clearly that of a read (see `tool_words`). `approval` says
    otherwise when to ask, `approver` whom. `timeout` is in seconds. A plain function runs in a
    thread, so that it holds nobody up. `identity` names further parameters that say who acts,
    such as {"owner_id": "user"}, or gives one to the model. `mcp` offers it to programs at /mcp.
    """

    def make(function: Callable[..., Any]) -> Tool:
        declaration.check_function(function)
        called = name or function.__name__
        verdict = judge(called) if writes is None else Judgement(writes, f"it says writes={writes}")
        rights = Identity(identity or {})
        return _make(function, called, rights, rules | verdict._asdict() | {"timeout": timeout})

    return make if function is None else make(function)


def _make(
    function: Callable[..., Any], name: str, identity: Identity, rules: dict[str, Any]
) -> Tool:
    typed = hints_of(function, name)
    returns = typed.pop("return", Any)
    hints.check_result(returns, name)
    context_names = tuple(name for name, hint in typed.items() if _is_context(hint))
    arguments = struct_of(function, name, typed, context_names)
    declaration.check_describe(rules.get("describe"), arguments.__struct_fields__, name)
    documented = docstrings.read(function.__doc__, inspect.signature(function).parameters)
    schema = described(schema_of(arguments), documented.parameters)
    made = Tool(
        function=function,
        spec=ToolSpec(name=name, description=documented.text, input_schema=schema),
        arguments=arguments,
        context_names=context_names,
        schema=schema,
        identity=identity,
        returns=returns,
        **rules,
    )
    return _identified(made)


def _identified(made: Tool) -> Tool:
    """The tool as the model sees it. Raises TypeError for what the server cannot fill."""
    for _, why in made.identity.unfillable(made.schema):
        raise TypeError(f"tool {made.name!r}: {why}")
    types = types_of(made.arguments)
    for where, name in positional(types):
        if made.identity.source(name):
            raise TypeError(
                f"tool {made.name!r}: {where} has {name!r} by its place in a list, where the server"
                " cannot fill it. Make it a value with names."
            )
    for where, name, alias in renamed(types):
        if made.identity.source(name) and not made.identity.source(alias):
            raise TypeError(
                f"tool {made.name!r}: {where} calls {name!r} {alias!r} outside. Say what that is:"
                f" @tool(identity={{{alias!r}: 'user'}})."
            )
    return replace(made, spec=replace(made.spec, input_schema=made.identity.hidden(made.schema)))


def _is_context(hint: Any) -> bool:
    """Also `ToolContext | None` and Annotated[ToolContext, ...]: never the model's to set."""
    return hint is ToolContext or ToolContext in get_args(hint)
