"""What a refusal says about asking again. The headers, and which of them counts, are the SDK's."""

from collections.abc import Callable
from typing import NamedTuple

from turnlog.net import seconds_asked

_AGAIN = {"true": True, "false": False}
Header = Callable[[str], str | None]  # the value of the header of this name


class Advice(NamedTuple):
    """From the API, which knows more than the status says."""

    again: bool | None = None  # whether to ask again; None: it does not say
    wait: float | None = None  # seconds


def advice(header: Header) -> Advice:
    again = _AGAIN.get((header("x-should-retry") or "").lower())
    milliseconds = seconds_asked(header("retry-after-ms"))
    if milliseconds is not None:
        return Advice(again, milliseconds / 1000)
    return Advice(again, seconds_asked(header("retry-after")))
