"""`$filter` conditions from typed values.

Text from outside becomes one string literal with its quotes doubled, and nothing else. The names
of fields come from this package only.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

Value = str | bool | int | Decimal | date | UUID
# Business Central reads nested functions and `in` correctly from this version on.
SCHEMA = {"$schemaversion": "2.1"}


@dataclass(frozen=True)
class Condition:
    """A condition, made by the functions below."""

    text: str


def equals(field: str, value: Value) -> Condition:
    return Condition(f"{field} eq {literal(value)}")


def one_of(field: str, values: list[str]) -> Condition:
    return Condition(f"{field} in ({','.join(map(literal, values))})")


def contains(field: str, text: str) -> Condition:
    """The field holds the text, in upper or lower case."""
    return Condition(f"contains(tolower({field}),{literal(text.lower())})")


def from_day(field: str, day: date) -> Condition:
    return Condition(f"{field} ge {literal(day)}")


def to_day(field: str, day: date) -> Condition:
    return Condition(f"{field} le {literal(day)}")


def all_of(conditions: list[Condition]) -> Condition | None:
    return Condition(" and ".join(each.text for each in conditions)) if conditions else None


def literal(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return value.isoformat()
    return str(value)
