"""Guardrails of the SDK that fail closed: one that cannot answer stops the turn as one that trips.

The SDK takes a guardrail that was cancelled for one that had nothing to say.
"""

import asyncio
import inspect
import logging
from dataclasses import replace
from typing import Any

from agents.exceptions import AgentsException

from turnlog.errors import EngineFailed
from turnlog.speaking import guests

_log = logging.getLogger(__name__)
TRIPPED = "A guardrail stopped this: {name}."
FAILED = "A guardrail could not tell whether this is allowed: {name}."


def closed(guardrail: Any) -> Any:
    """The guardrail, for input or for output, that raises EngineFailed where it fails."""
    name = guardrail.get_name()

    async def checked(*given: Any) -> Any:
        guests.welcome()
        try:
            found = guardrail.guardrail_function(*given)
            return await found if inspect.isawaitable(found) else found
        except (Exception, asyncio.CancelledError, *guests.ENDINGS) as error:
            if isinstance(error, asyncio.CancelledError) and guests.is_stopped():
                raise
            _log.warning("guardrail %s failed", name, exc_info=True)
            raise _stopped(FAILED, name, again=True) from None

    return replace(guardrail, guardrail_function=checked, name=name)


def explained(error: AgentsException) -> Exception:
    """A guardrail that tripped, in our words. Anything else is a bug of this adapter."""
    result = getattr(error, "guardrail_result", None)
    if result is None:
        return error
    return _stopped(TRIPPED, result.guardrail.get_name(), again=False)


def _stopped(sentence: str, name: str, *, again: bool) -> EngineFailed:
    return EngineFailed("guardrail", sentence.format(name=name), retryable=again)
