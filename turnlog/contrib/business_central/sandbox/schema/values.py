"""Values on the wire and in the sandbox: what a field accepts, shows, and holds when it is empty.

"option values are XML-name-escaped on the wire": `In Review` is `In_x0020_Review`. Blank text
is "", an empty GUID is all zeros, an empty date is 0001-01-01. Decimals are exact inside.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from turnlog.contrib.business_central.sandbox.refusal import Refused, refuse
from turnlog.contrib.business_central.sandbox.schema.fields import NO_DATE, NO_GUID, NO_TIME, Field

LARGEST = Decimal("999999999999.99")
SMALLEST = Decimal("0.00001")
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_ESCAPED = re.compile(r"_x([0-9A-F]{4})_", re.I)
EMPTY: dict[str, Any] = {
    "text": "",
    "code": "",
    "guid": NO_GUID,
    "decimal": Decimal(0),
    "integer": 0,
    "boolean": False,
    "date": NO_DATE,
    "datetime": NO_TIME,
}


def empty(field: Field) -> Any:
    return field.options[0] if field.kind == "option" else EMPTY[field.kind]


def escape(option: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", lambda letter: f"_x{ord(letter[0]):04X}_", option)


def unescape(option: str) -> str:
    return _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), option)


def is_guid(text: str) -> bool:
    return _GUID.fullmatch(text) is not None


def show(field: Field, value: Any) -> Any:
    """The value as JSON has it."""
    if field.kind == "option":
        return escape(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def show_time(moment: datetime) -> str:
    """ISO with Z, trailing zeros of the fraction cut."""
    text = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{text}Z"


def accept(field: Field, value: Any) -> Any:
    """The value to keep. Raises Refused, in the API's words, for one that does not fit."""
    if value is None:
        return empty(field)
    return _ACCEPTERS[field.kind](field, value)


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise _unconvertible("String", value)
    if len(value) > field.length:
        refuse(
            "Application_StringExceededLength",
            f"The length of the string is {len(value)}, but it must be less than or equal to"
            f" {field.length} characters. Value: {value[:250]}",
        )
    return value


def _code(field: Field, value: Any) -> str:
    return _text(field, value).strip().upper()


def _guid(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not is_guid(value):
        refuse("Application_InvalidGUID", f"Invalid format of GUID string: {str(value)[:50]!r}.")
    return str(UUID(value))


def _decimal(field: Field, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _unconvertible("Decimal", value)
    number = Decimal(str(value))
    if abs(number) > LARGEST:
        refuse(
            "Application_EvaluateException", f"The value {value} is outside of the allowed range."
        )
    return number.quantize(SMALLEST).normalize()


def _integer(field: Field, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**31 - 1:
        raise _unconvertible("Int32", value)
    return value


def _boolean(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _unconvertible("Boolean", value)
    return value


def _date(field: Field, value: Any) -> str:
    try:
        if len(value) == len(NO_DATE):
            return date.fromisoformat(value).isoformat()
    except (ValueError, TypeError):
        pass
    raise Refused("BadRequest", "Unable to convert value to Date")


def _datetime(field: Field, value: Any) -> str:
    try:
        moment = datetime.fromisoformat(value)
        return show_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError):
        refuse("BadRequest", "Unable to convert value to DateTimeOffset")


def _option(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise _unconvertible("String", value)
    option = unescape(value)
    if option not in field.options:
        options = ",".join(field.options)
        refuse("Unknown", f"'{value[:50]}' is not an option. The existing options are: {options}")
    return option


def _unconvertible(kind: str, value: Any) -> Refused:
    literal = str(value)[:50]
    return Refused(
        "BadRequest", f"Cannot convert the literal '{literal}' to the expected type 'Edm.{kind}'."
    )


_ACCEPTERS: dict[str, Callable[[Field, Any], Any]] = {
    "text": _text,
    "code": _code,
    "guid": _guid,
    "decimal": _decimal,
    "integer": _integer,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "option": _option,
}
