"""A `$filter` as a function over rows, and the filters that Business Central refuses."""

import operator
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from turnlog.contrib.business_central.sandbox.query.tree import (
    Both,
    Call,
    Compare,
    Either,
    In,
    Literal,
    Not,
    Property,
    Tree,
    properties,
)
from turnlog.contrib.business_central.sandbox.refusal import Refused, refuse
from turnlog.contrib.business_central.sandbox.schema.fields import Entity
from turnlog.contrib.business_central.sandbox.schema.values import unescape

Row = dict[str, Any]
Predicate = Callable[[Row], bool]
Value = Callable[[Row], Any]
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}
_CHANGES: dict[str, Callable[..., str]] = {
    "tolower": str.lower,
    "toupper": str.upper,
    "substring": lambda text, start, length=None: text[
        int(start) : None if length is None else int(start) + int(length)
    ],
}
# The kind of literal that a field can be compared with.
_KIND = {
    "text": "string",
    "code": "string",
    "option": "string",
    "decimal": "number",
    "integer": "number",
}


def predicate(tree: Tree, entity: Entity, *, newest: bool) -> Predicate:
    """A function that says if a row matches. `newest` is schema version 2.1, which allows more."""
    return _Meaning(entity, newest).condition(tree)


class _Meaning:
    """Trees as functions over rows. A tree is checked once, before the first row."""

    def __init__(self, entity: Entity, newest: bool) -> None:
        self._entity, self._newest = entity, newest

    def condition(self, tree: Tree) -> Predicate:
        match tree:
            case Both(left, right):
                first, second = self.condition(left), self.condition(right)
                return lambda row: first(row) and second(row)
            case Either(left, right):
                return self._either(left, right)
            case Not(inner):
                holds = self.condition(inner)
                return lambda row: not holds(row)
            case Compare():
                return self._compared(tree)
            case In(left, values):
                return self._among(left, values)
        kind, value = self._value(tree)
        if kind != "boolean":
            refuse("BadRequest", "The $filter expression must evaluate to a single boolean value.")
        return lambda row: bool(value(row))

    def _either(self, left: Tree, right: Tree) -> Predicate:
        if len(properties(left) | properties(right)) > 1:
            refuse(
                "BadRequest",
                "The 'OR' operator is not supported on distinct fields on an OData filter.",
            )
        first, second = self.condition(left), self.condition(right)
        return lambda row: first(row) or second(row)

    def _compared(self, tree: Compare) -> Predicate:
        if not properties(tree.left) or not isinstance(tree.right, Literal):
            refuse("BadRequest", "A filter compares a field with a value.")
        kind, value = self._value(tree.left)
        if tree.right.kind == "null":
            return lambda row: tree.operator == "ne"
        wanted = self._wanted(kind, tree.right, tree.operator)
        holds = _OPERATORS[tree.operator]
        return lambda row: holds(value(row), wanted)

    def _among(self, left: Tree, values: tuple[Literal, ...]) -> Predicate:
        if not self._newest:
            refuse("BadRequest", "The 'in' operator is supported with $schemaversion=2.1 only.")
        kind, value = self._value(left)
        wanted = [self._wanted(kind, each, "eq") for each in values]
        return lambda row: value(row) in wanted

    def _wanted(self, kind: str, literal: Literal, compared: str) -> Any:
        if literal.kind != kind:
            refuse(
                "BadRequest",
                "A binary operator with incompatible types was detected. Found operand types"
                f" '{kind}' and '{literal.kind}' for operator kind '{compared}'.",
            )
        return _literal(literal)

    def _value(self, tree: Tree) -> tuple[str, Value]:
        match tree:
            case Property(name):
                return self._field(name)
            case Literal():
                constant = _literal(tree)
                return tree.kind, lambda row: constant
            case Call():
                return self._called(tree)
        raise Refused("BadRequest", "A condition cannot be compared.")

    def _field(self, name: str) -> tuple[str, Value]:
        field = self._entity.fields.get(name)
        if field is None:
            raise unknown_property(name, self._entity)
        if field.kind == "datetime":
            return "datetime", lambda row: datetime.fromisoformat(row[name])
        return _KIND.get(field.kind, field.kind), lambda row: row[name]

    def _called(self, call: Call) -> tuple[str, Value]:
        if any(isinstance(inner, Call) for inner in call.arguments) and not self._newest:
            refuse("BadRequest", "Nested function calls need $schemaversion=2.1.")
        operands = [self._value(argument) for argument in call.arguments]
        expected = (
            ["string", "number", "number"] if call.function == "substring" else ["string"] * 2
        )
        if [kind for kind, _ in operands] != expected[: len(operands)]:
            refuse("BadRequest", f"No function signature for '{call.function}' matches.")
        run: Callable[..., Any] = (_TESTS | _CHANGES)[call.function]
        values = [value for _, value in operands]
        kind = "boolean" if call.function in _TESTS else "string"
        return kind, lambda row: run(*(value(row) for value in values))


def _literal(literal: Literal) -> Any:
    match literal.kind:
        case "string":
            return unescape(literal.text)
        case "number":
            return Decimal(literal.text)
        case "boolean":
            return literal.text == "true"
        case "guid":
            return literal.text.lower()
        case "datetime":
            return _moment(literal.text)
    return literal.text


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        refuse("BadRequest", f"'{text}' is not a date and time.")


def unknown_property(name: str, entity: Entity) -> Refused:
    return Refused(
        "BadRequest",
        f"Could not find a property named '{name[:50]}' on type 'Microsoft.NAV.{entity.name}'.",
    )
