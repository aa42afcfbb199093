"""Parses a `$filter`: not, comparisons, `in`, functions; `and` binds closer than `or`.

For any text it returns a tree, or raises Refused with the position of the mistake.
"""

import re
from dataclasses import dataclass

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
)
from turnlog.contrib.business_central.sandbox.refusal import Refused, refuse

DEEPEST = 100  # brackets and `not`s inside of each other
COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")
ARGUMENTS = {  # how many arguments a function takes
    "startswith": (2,),
    "endswith": (2,),
    "contains": (2,),
    "substring": (2, 3),
    "tolower": (1,),
    "toupper": (1,),
}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<string>'(?:[^']|'')*')
      | (?P<guid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-]))
      | (?P<datetime>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))
      | (?P<date>\d{4}-\d\d-\d\d(?![\d-]))
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?!\w))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark>[(),])""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


def parse(text: str) -> Tree:
    reader = _Reader(text, _tokens(text))
    tree = reader.either(0)
    if (left := reader.peek()).kind != "end":
        raise reader.wrong("Syntax error", left)
    return tree


def _tokens(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            why = "unterminated string literal" if text[at] == "'" else "character is not valid"
            refuse("BadRequest", f"There is an {why} at position {at} in '{text[:200]}'.")
        if (kind := match.lastgroup or "") != "space":
            tokens.append(Token(kind, match[0], at))
        at = match.end()
    return [*tokens, Token("end", "", len(text))]


class _Reader:
    """Reads the tokens once, from left to right."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text, self._tokens, self._at = text, tokens, 0

    def peek(self) -> Token:
        return self._tokens[self._at]

    def wrong(self, why: str, token: Token) -> Refused:
        return Refused("BadRequest", f"{why} at position {token.at} in '{self._text[:200]}'.")

    def either(self, depth: int) -> Tree:
        tree = self._both(depth)
        while self._takes("name", "or"):
            tree = Either(tree, self._both(depth))
        return tree

    def _both(self, depth: int) -> Tree:
        tree = self._one(depth)
        while self._takes("name", "and"):
            tree = Both(tree, self._one(depth))
        return tree

    def _one(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise self.wrong("The recursion limit has been exceeded", self.peek())
        if self._takes("name", "not"):
            return Not(self._one(depth + 1))
        if self._takes("mark", "("):
            tree = self.either(depth + 1)
            self._expect(")")
            return tree
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Tree:
        left = self._operand(depth)
        if self._takes("name", "in"):
            return In(left, self._values())
        if self.peek().kind == "name" and self.peek().text in COMPARISONS:
            operator = self._next().text
            return Compare(operator, left, self._operand(depth))
        return left

    def _values(self) -> tuple[Literal, ...]:
        self._expect("(")
        values = [self._literal(self._next())]
        while self._takes("mark", ","):
            values.append(self._literal(self._next()))
        self._expect(")")
        return tuple(values)

    def _operand(self, depth: int) -> Tree:
        token = self._next()
        if token.kind != "name" or token.text in ("true", "false", "null"):
            return self._literal(token)
        if self._takes("mark", "("):
            return self._call(token, depth + 1)
        return Property(token.text)

    def _call(self, name: Token, depth: int) -> Call:
        if name.text not in ARGUMENTS:
            refuse("BadRequest", f"An unknown function with name '{name.text[:50]}' was found.")
        if depth > DEEPEST:
            raise self.wrong("The recursion limit has been exceeded", name)
        arguments = [self._operand(depth)]
        while self._takes("mark", ","):
            arguments.append(self._operand(depth))
        self._expect(")")
        if len(arguments) not in ARGUMENTS[name.text]:
            raise self.wrong(f"No function signature for '{name.text}' matches the arguments", name)
        return Call(name.text, tuple(arguments))

    def _literal(self, token: Token) -> Literal:
        match token.kind:
            case "string":
                return Literal("string", token.text[1:-1].replace("''", "'"))
            case "name" if token.text in ("true", "false"):
                return Literal("boolean", token.text)
            case "name" if token.text == "null":
                return Literal("null", "null")
            case "guid" | "date" | "datetime" | "number":
                return Literal(token.kind, token.text)
        raise self.wrong("Expression expected", token)

    def _next(self) -> Token:
        token = self.peek()
        if token.kind != "end":
            self._at += 1
        return token

    def _takes(self, kind: str, text: str) -> bool:
        token = self.peek()
        if (token.kind, token.text) != (kind, text):
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._takes("mark", mark):
            raise self.wrong(f"'{mark}' expected", self.peek())
