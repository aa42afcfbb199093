"""Code of others in tasks of this server: none of it ends the server.

`sys.exit()` in a task ends the event loop, whoever waits for the task: argparse, in a tool of
somebody's graph, would end everybody's turns. In tasks of a guest it is an error like any other.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, NoReturn

ENDINGS = (SystemExit, KeyboardInterrupt)  # what asyncio lets out of its loop
_is_guest = ContextVar("_is_guest", default=False)
Factory = Callable[..., Any]


class GuestEnded(Exception):
    """A guest wanted to end the process."""


def welcome() -> None:
    """From here on, no task that this one begins can end the server, nor any of theirs."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    if not isinstance(before, _Tasks):
        loop.set_task_factory(_Tasks(before or _plain))
    _is_guest.set(True)


def is_stopped() -> bool:
    """Whether this task is being stopped, and not just somebody whom it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _plain(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
    return asyncio.Task(work, loop=loop, **more)


class _Tasks:
    """Makes the loop's tasks."""

    def __init__(self, make: Factory) -> None:
        self._make = make

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> Any:
        return self._make(loop, _Guarded(work) if _is_guest.get() else work, **more)


class _Guarded(Coroutine[Any, Any, Any]):
    """The same work, and its wish to end the process is its failure."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def send(self, value: Any) -> Any:
        try:
            return self._work.send(value)
        except ENDINGS as ending:
            _refuse(ending)

    def throw(self, *error: Any) -> Any:
        try:
            return self._work.throw(*error)
        except ENDINGS as ending:
            _refuse(ending)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Any:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:
        """What a coroutine tells of itself: anyio asks whether it runs, debuggers where."""
        return getattr(self._work, name)


def _refuse(ending: BaseException) -> NoReturn:
    raise GuestEnded(type(ending).__name__) from ending
