"""What a `@tool` declares is checked when it is made: not when a model first calls it."""

import inspect
import math
from collections.abc import Collection
from string import Formatter
from typing import Any

import msgspec

from turnlog.errors import ConfigError, did_you_mean
from turnlog.tools.signatures import hints


def check_function(function: Any) -> None:
    """Raises TypeError for what is no function."""
    if inspect.isclass(function):
        raise TypeError(
            f"@tool is for functions, and {function.__name__!r} is a class. Decorate a function"
            " that uses it."
        )
    if not callable(function):
        raise TypeError(f"@tool is for functions, not {function!r}. Options have names: name=...")


def check_timeout(timeout: Any, tool_name: str) -> None:
    """Raises ConfigError for what is no time limit."""
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < math.inf:
        raise ConfigError(
            f"tool {tool_name!r}: 'timeout' must be a positive number of seconds, such as 20, not"
            f" {timeout!r}."
        )


def check_default(hint: Any, value: Any, where: str) -> None:
    """Raises TypeError for a default that its own type would refuse.

    The hint is as msgspec takes it. A value that cannot become JSON is left alone.
    """
    try:
        plain = msgspec.to_builtins(value, enc_hook=hints.encode)
    except (TypeError, ValueError, NotImplementedError):
        return
    try:
        hints.read(plain, hint)
    except msgspec.ValidationError as error:
        advice = " Write `| None` in the hint, too." if value is None else ""
        raise TypeError(
            f"{where} has a default that does not fit its type, {value!r}: {error}.{advice}"
        ) from None


def check_describe(describe: Any, parameters: Collection[str], tool_name: str) -> None:
    """Raises ConfigError for a text that names what the tool does not have."""
    if describe is None or callable(describe):
        return
    whose = f"tool {tool_name!r}: 'describe'"
    if not isinstance(describe, str):
        raise ConfigError(f"{whose} must be a text or a function, not {describe!r}.")
    for name in _names(describe, whose):
        if name not in parameters:
            there = ", ".join(parameters) or "none"
            hint = did_you_mean(name, parameters)
            raise ConfigError(f"{whose} names no parameter: {name!r}.{hint} There are: {there}.")


def _names(template: str, whose: str) -> list[str]:
    """`{lines[0].item}` names `lines`."""
    try:
        fields = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ConfigError(f"{whose} cannot be read: {error}. Write {{{{ for a brace.") from None
    return [name.partition(".")[0].partition("[")[0] for name in fields]
