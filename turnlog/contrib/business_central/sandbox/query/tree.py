"""A `$filter` as a tree, and how a tree is written. `parse(write(tree)) == tree`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Property:
    """A field, by its name."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A value as it was written; a string without its quotes."""

    kind: str  # string, number, boolean, null, guid, date, datetime
    text: str


@dataclass(frozen=True)
class Call:
    """contains(displayName,'x')"""

    function: str
    arguments: tuple["Tree", ...]


@dataclass(frozen=True)
class Compare:
    """quantity gt 5"""

    operator: str
    left: "Tree"
    right: "Tree"


@dataclass(frozen=True)
class In:
    """number in ('1','2')"""

    left: "Tree"
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Not:
    inner: "Tree"


@dataclass(frozen=True)
class Both:
    """left and right"""

    left: "Tree"
    right: "Tree"


@dataclass(frozen=True)
class Either:
    """left or right"""

    left: "Tree"
    right: "Tree"


Tree = Property | Literal | Call | Compare | In | Not | Both | Either


def write(tree: Tree) -> str:
    match tree:
        case Property(name):
            return name
        case Literal(kind, text):
            return "'" + text.replace("'", "''") + "'" if kind == "string" else text
        case Call(function, arguments):
            return f"{function}({','.join(map(write, arguments))})"
        case Compare(operator, left, right):
            return f"{write(left)} {operator} {write(right)}"
        case In(left, values):
            return f"{write(left)} in ({','.join(map(write, values))})"
        case Not(inner):
            return f"not ({write(inner)})"
        case Both(left, right):
            return f"({write(left)}) and ({write(right)})"
        case Either(left, right):
            return f"({write(left)}) or ({write(right)})"


def properties(tree: Tree) -> set[str]:
    """The fields that a tree speaks of."""
    match tree:
        case Property(name):
            return {name}
        case Literal():
            return set()
        case Call(_, arguments):
            return set().union(*map(properties, arguments))
        case In(left, _):
            return properties(left)
        case Not(inner):
            return properties(inner)
        case Compare(_, left, right) | Both(left, right) | Either(left, right):
            return properties(left) | properties(right)
