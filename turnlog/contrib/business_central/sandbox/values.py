"""Values on the wire and in the sandbox: what a field takes, what it shows, what is empty.

"option values are XML-name-escaped on the wire": `In Review` is `In_x0020_Review`. Blank text
is "", an empty GUID is all zeros, an empty date is 0001-01-01. Decimals are exact inside.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from .fields import NO_DATE, NO_GUID, NO_TIME, Field
from .refusal import Refused, refuse

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
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found[0]):04X}_", option)


def unescape(option: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), option)


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


def take(field: Field, given: Any) -> Any:
    """The value to keep. Raises Refused with what the API says about a value it does not take."""
    if given is None:
        return empty(field)
    return _TAKERS[field.kind](field, given)


def _text(field: Field, given: Any) -> str:
    if not isinstance(given, str):
        raise _unconvertible("String", given)
    if len(given) > field.length:
        refuse(
            "Application_StringExceededLength",
            f"The length of the string is {len(given)}, but it must be less than or equal to"
            f" {field.length} characters. Value: {given[:250]}",
        )
    return given


def _code(field: Field, given: Any) -> str:
    return _text(field, given).strip().upper()


def _guid(field: Field, given: Any) -> str:
    if not isinstance(given, str) or not is_guid(given):
        refuse("Application_InvalidGUID", f"Invalid format of GUID string: {str(given)[:50]!r}.")
    return str(UUID(given))


def _decimal(field: Field, given: Any) -> Decimal:
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
        raise _unconvertible("Decimal", given)
    value = Decimal(str(given))
    if abs(value) > LARGEST:
        refuse(
            "Application_EvaluateException", f"The value {given} is outside of the allowed range."
        )
    return value.quantize(SMALLEST).normalize()


def _integer(field: Field, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or abs(given) > 2**31 - 1:
        raise _unconvertible("Int32", given)
    return given


def _boolean(field: Field, given: Any) -> bool:
    if not isinstance(given, bool):
        raise _unconvertible("Boolean", given)
    return given


def _date(field: Field, given: Any) -> str:
    try:
        if len(given) == len(NO_DATE):
            return date.fromisoformat(given).isoformat()
    except (ValueError, TypeError):
        pass
    raise Refused("BadRequest", "Unable to convert value to Date")


def _datetime(field: Field, given: Any) -> str:
    try:
        moment = datetime.fromisoformat(given)
        return show_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError):
        refuse("BadRequest", "Unable to convert value to DateTimeOffset")


def _option(field: Field, given: Any) -> str:
    if not isinstance(given, str):
        raise _unconvertible("String", given)
    chosen = unescape(given)
    if chosen not in field.options:
        known = ",".join(field.options)
        refuse("Unknown", f"'{given[:50]}' is not an option. The existing options are: {known}")
    return chosen


def _unconvertible(kind: str, given: Any) -> Refused:
    shown = str(given)[:50]
    return Refused(
        "BadRequest", f"Cannot convert the literal '{shown}' to the expected type 'Edm.{kind}'."
    )


_TAKERS: dict[str, Callable[[Field, Any], Any]] = {
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
