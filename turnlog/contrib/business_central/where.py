"""`$filter` from typed values. No text from outside is ever pasted: quotes in it are doubled,
and it cannot become anything but one string. Names of fields come from this package only.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

Value = str | bool | int | Decimal | date | UUID
# Nested functions and `in` are understood from this version on, and misread before it.
SCHEMA = {"$schemaversion": "2.1"}


@dataclass(frozen=True)
class Where:
    """A condition, made by the functions below."""

    text: str


def equals(field: str, value: Value) -> Where:
    return Where(f"{field} eq {literal(value)}")


def one_of(field: str, values: list[str]) -> Where:
    return Where(f"{field} in ({','.join(map(literal, values))})")


def holds(field: str, text: str) -> Where:
    """Whether the text is in the field, in capitals or not."""
    return Where(f"contains(tolower({field}),{literal(text.lower())})")


def from_day(field: str, day: date) -> Where:
    return Where(f"{field} ge {literal(day)}")


def to_day(field: str, day: date) -> Where:
    return Where(f"{field} le {literal(day)}")


def all_of(conditions: list[Where]) -> Where | None:
    return Where(" and ".join(one.text for one in conditions)) if conditions else None


def literal(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return value.isoformat()
    return str(value)
