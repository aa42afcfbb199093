"""How a tool's function is called: on the loop if it is async, else in a thread of its own."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

from turnlog.speaking import guests


async def called(function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    guests.welcome()
    if inspect.iscoroutinefunction(function):
        return await function(*args, **named)
    value = await _in_a_thread(lambda: function(*args, **named))
    return await value if inspect.isawaitable(value) else value


async def _in_a_thread(work: Callable[[], Any]) -> Any:
    """A thread of its own: one that hangs takes no place in a pool, and keeps nobody alive."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def run() -> None:
        value, error = _outcome(work)
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=contextvars.copy_context().run, args=[run], daemon=True).start()
    return await answer


def _outcome(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except StopIteration as error:  # a future cannot hold one: nobody would ever be told
        return None, RuntimeError(f"the function raised {error!r}")
    except BaseException as error:
        return None, error
