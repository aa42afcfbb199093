"""Runs the tools of one turn. Whatever a tool does, the model gets one result for each call.

Calls that the model makes together run together; their results come in the order of the
calls. This is the place where approvals will wait: between a call and its run.
"""

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from turnlog.errors import ToolError
from turnlog.events.base import Event
from turnlog.events.kinds import ToolResult, ToolUse
from turnlog.ports import ToolSpec
from turnlog.tools.registry import Tool, ToolContext

_log = logging.getLogger(__name__)
ContextFor = Callable[[str], ToolContext]  # a call's id -> for whom it acts


class ToolRunner:
    """A ToolBox of Python functions."""

    def __init__(self, tools: Sequence[Tool], context_for: ContextFor) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._context_for = context_for

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    async def run(self, calls: Sequence[ToolUse]) -> AsyncGenerator[list[Event], None]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._result(call)) for call in calls]
        yield [task.result() for task in tasks]

    async def _result(self, call: ToolUse) -> ToolResult:
        started = time.monotonic()
        try:
            value = await self._value(call)
        except ToolError as failure:
            return _closed(call, started, error=str(failure))
        return _closed(call, started, value)

    async def _value(self, call: ToolUse) -> Any:
        """A value that JSON can hold. Raises ToolError with a sentence for the model."""
        tool = self._tools.get(call.tool_name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise ToolError(f"There is no tool {call.tool_name!r}. The tools are: {known}.")
        arguments = _checked(tool, call.args)
        context = {name: self._context_for(call.tool_use_id) for name in tool.context_names}
        limit = asyncio.timeout(tool.timeout)
        try:
            async with limit:
                return _plain(await _called(tool, arguments | context))
        except ToolError:
            raise
        except (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopped():
                raise
            if limit.expired():
                raise ToolError(f"No answer after {tool.timeout:g} s: time limit.") from None
            _log.warning("tool %s failed", tool.name, exc_info=True)
            # Its text may hold paths or secrets: that is for the server's log only.
            raise ToolError(f"The tool failed ({type(error).__name__}).") from error


def _checked(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    try:
        given = msgspec.convert(args, tool.arguments)
    except msgspec.ValidationError as error:
        raise ToolError(f"Wrong arguments for {tool.name!r}: {error}.") from None
    return {name: getattr(given, name) for name in given.__struct_fields__}


async def _called(tool: Tool, arguments: dict[str, Any]) -> Any:
    if tool.is_async:
        return await tool.function(**arguments)
    value = await _in_a_thread(lambda: tool.function(**arguments))
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


def _is_stopped() -> bool:
    """Whether the turn is being stopped, and not the tool's own task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _plain(value: Any) -> Any:
    """What JSON would make of it, so that live and reloaded are the same."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _closed(
    call: ToolUse, started: float, value: Any = None, error: str | None = None
) -> ToolResult:
    return ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=value,
        success=error is None,
        duration=round((time.monotonic() - started) * 1000),
        error=msgspec.UNSET if error is None else error.encode(errors="replace").decode(),
    )
