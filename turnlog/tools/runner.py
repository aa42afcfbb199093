"""Runs the tools of one turn. Whatever a tool does, the model gets one result for each call.

Calls that the model makes together run together. Between a call and its run stand, in this
order: does it fit the tool, has a person allowed it, is it on disk that it begins. A write that
began in a process that died is never run again: its tool is asked what became of it, or it is
in doubt.
"""

import asyncio
import logging
import time
import traceback
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import msgspec

from turnlog.errors import ToolError
from turnlog.events.base import Event
from turnlog.events.content import hash_of, idempotency_key, writable
from turnlog.events.kinds import ToolResult, ToolUse
from turnlog.ports import ApprovalState, Standing, ToolOutput, ToolStarted
from turnlog.ports.tools import CLIENT_RESULT, NOT_THE_CLIENTS
from turnlog.speaking import guests
from turnlog.telemetry.logs import OfTool
from turnlog.tools import approval, client_tools
from turnlog.tools.call import called
from turnlog.tools.signatures import hints
from turnlog.tools.tool import NotDone, Tool, ToolContext

_log = logging.getLogger(__name__)
TOGETHER = 0.05  # seconds that a result waits for others
ContextFor = Callable[[str], ToolContext]  # a call's id -> for whom it acts

# What the model and the user are told of a call that no person allowed.
NOT_ALLOWED = {
    "rejected": "User rejected",
    "expired": "Nobody answered in time, so this was not done.",
    "withdrawn": "This was not done: the question was withdrawn.",
    "approved": "This was not done: the arguments are not the ones that were allowed.",
}
# What a function may raise that would end more than itself.
_ENDINGS = (asyncio.CancelledError, *guests.ENDINGS)
IN_DOUBT = "In doubt: {why} It may or may not have taken effect. Check before you do it again."


class InDoubt(ToolError):
    """A write began, and nobody knows how it ended."""

    def __init__(self, why: str) -> None:
        super().__init__(IN_DOUBT.format(why=why))


class ToolRunner:
    """A ToolBox of Python functions."""

    def __init__(
        self,
        tools: Sequence[Tool],
        context_for: ContextFor,
        *,
        standing: Standing | None = None,
        policy: approval.Policy | None = None,
        development: bool = False,
        unlisted: Sequence[Tool] = (),
    ) -> None:
        """`standing`: how the turn's calls stand; it changes as the turn goes on.

        `development`: what a tool raises is told in full, because nobody else is here.
        `unlisted`: tools that can be called, and that others offer where they are of use.
        """
        self._development = development
        self.specs = [tool.spec for tool in tools]
        self._tools = {tool.spec.name: tool for tool in (*unlisted, *tools)}
        self._context_for = context_for
        self._standing = standing or Standing()
        self._policy = policy or approval.Policy()

    def check(self, call: ToolUse) -> str:
        tool = self._tool(call)
        if CLIENT_RESULT in call.args and not client_tools.is_one(tool):
            raise ToolError(NOT_THE_CLIENTS)
        tool.given(call.args, self._context_for(call.tool_use_id))
        tool.refuse_identity(call.args)
        return approval.description(tool, call.args)

    async def run(self, calls: Sequence[ToolUse]) -> AsyncGenerator[Sequence[ToolOutput], None]:
        asked = [call for call in calls if self._must_ask(call)]
        if asked:
            yield [self._question(call) for call in asked]
        undecided = {call.tool_use_id for call in asked} | set(
            self._standing.pending([call.tool_use_id for call in calls])
        )
        ready = [call for call in calls if call.tool_use_id not in undecided]
        begun_before = self._standing.started & {call.tool_use_id for call in ready}
        checked = [self._checked(call) for call in ready]
        if starting := [
            self._started(call)
            for call, args in zip(ready, checked, strict=True)
            if args is not None
        ]:
            yield starting
        results = [
            self._result(call, args, call.tool_use_id in begun_before)
            for call, args in zip(ready, checked, strict=True)
        ]
        async with aclosing(_as_they_come(results)) as batches:
            async for batch in batches:
                yield batch

    # before it runs

    def _must_ask(self, call: ToolUse) -> bool:
        """A call that cannot run is not worth a person's time."""
        standing = self._standing
        if call.tool_use_id in standing.approvals or call.tool_use_id in standing.started:
            return False
        tool = self._tools.get(call.tool_name)
        return tool is not None and self._policy.asks_for(tool) and self._fits(call)

    def _question(self, call: ToolUse) -> Event:
        tool = self._tools[call.tool_name]
        return approval.request(call, tool, f"appr_{uuid.uuid4().hex}", self._policy)

    def _checked(self, call: ToolUse) -> dict[str, Any] | None:
        """What a write is called with: it must be on disk that it begins, before it does.

        None: a read, or a write that does not begin now.
        """
        if call.tool_use_id in self._standing.started or not self._allowed(call):
            return None
        tool = self._tools.get(call.tool_name)
        if tool is None or tool.writes is False:
            return None
        try:
            return self._arguments(tool, self._given(call))
        except ToolError:
            return None

    def _started(self, call: ToolUse) -> ToolStarted:
        given = self._given(call)
        return ToolStarted(
            tool_use_id=call.tool_use_id,
            tool_name=call.tool_name,
            args=given.args,
            args_hash=hash_of(given.args),
            idempotency_key=self._context(given).idempotency_key,
        )

    def _fits(self, call: ToolUse) -> bool:
        """Whether the model's call can run. What says who acts is dropped, not refused."""
        try:
            self._arguments(self._tools[call.tool_name], call)
        except ToolError:
            return False
        return True

    def _arguments(self, tool: Tool, call: ToolUse) -> dict[str, Any]:
        """What the function is called with. Raises ToolError for what does not fit."""
        return tool.given(call.args, self._context(call))

    def _permission(self, call: ToolUse) -> ApprovalState | None:
        return self._standing.approvals.get(call.tool_use_id)

    def _allowed(self, call: ToolUse) -> bool:
        permission = self._permission(call)
        if permission is None:
            return True
        is_the_same = hash_of(permission.args) == permission.args_hash
        return permission.outcome == "approved" and is_the_same

    def _given(self, call: ToolUse) -> ToolUse:
        """The call as the person allowed it."""
        permission = self._permission(call)
        return msgspec.structs.replace(call, args=permission.args) if permission else call

    def _context(self, call: ToolUse) -> ToolContext:
        context = self._context_for(call.tool_use_id)
        key = idempotency_key(context.session_id, call.tool_use_id, hash_of(call.args))
        return replace(context, idempotency_key=key)

    # its one result

    async def _result(
        self, call: ToolUse, checked: dict[str, Any] | None, begun_before: bool
    ) -> ToolResult:
        started = time.monotonic()
        permission, given = self._permission(call), self._given(call)
        try:
            if permission and not self._allowed(call):
                raise ToolError(NOT_ALLOWED[permission.outcome])
            running = self._reconciled(given) if begun_before else self._value(given, checked)
            value = await running
        except ToolError as failure:
            closed = _closed(call, started, error=failure)
        else:
            closed = _closed(call, started, value)
        self._note(closed, permission)
        return msgspec.structs.replace(closed, note=_note(permission))

    def _note(self, result: ToolResult, permission: ApprovalState | None) -> None:
        """One line. A name that no tool has is the model's own words."""
        name = result.tool_name if result.tool_name in self._tools else "unknown"
        outcome = "in_doubt" if result.in_doubt else "ok" if result.success else "failed"
        if permission and permission.outcome != "approved":
            outcome = permission.outcome  # it did not run
        facts = {"tool": name, "ms": result.duration, "outcome": outcome}
        _log.info("tool call", extra={"facts": facts})

    async def _value(self, call: ToolUse, checked: dict[str, Any] | None) -> Any:
        """A value that JSON can hold. Raises ToolError with a sentence for the model."""
        tool = self._tool(call)
        tool.identity.report(tool.name, call.args)
        given = self._arguments(tool, call) if checked is None else checked
        limit = asyncio.timeout(tool.timeout)
        try:
            async with limit:
                with OfTool():
                    value = await called(tool.function, **given)
        except ToolError:
            raise
        except (Exception, *_ENDINGS) as error:
            if isinstance(error, asyncio.CancelledError) and guests.is_stopped():
                raise
            if not limit.expired():
                _log.warning("tool %s failed", tool.name, exc_info=True, extra={"own": True})
            raise self._explained(tool, error, timed_out=limit.expired()) from None
        return _shown(tool, value)

    async def _reconciled(self, call: ToolUse) -> Any:
        """What became of a write whose process died. Raises InDoubt where nobody knows."""
        stopped = "the server stopped while this ran."
        tool = self._tool(call)
        if tool.reconcile is None:
            raise InDoubt(stopped)
        try:
            async with asyncio.timeout(tool.timeout):
                context = self._context(call)
                whole = tool.filled(call.args, context)
                value = hints.plain(await called(tool.reconcile, whole, context))
        except NotDone:
            raise ToolError("The server stopped before this was done. It took no effect.") from None
        except (Exception, *_ENDINGS) as error:
            if isinstance(error, asyncio.CancelledError) and guests.is_stopped():
                raise
            _log.warning("tool %s cannot tell what became of a call", tool.name, exc_info=True)
            raise InDoubt(stopped) from None
        if value is None:
            raise InDoubt(stopped)
        return value

    def _explained(self, tool: Tool, error: BaseException, *, timed_out: bool) -> ToolError:
        """In words for the model. The error's own may hold paths or secrets: they stay in the log,
        but for development.
        """
        if timed_out:
            why = f"No answer after {tool.timeout:g} s: time limit."
        elif self._development:
            why = f"The tool failed ({type(error).__name__}: {_said(error)}{_place(tool, error)})."
        else:
            why = f"The tool failed ({type(error).__name__}). The server's log says where."
        return ToolError(why) if tool.writes is False else InDoubt(why)

    def _tool(self, call: ToolUse) -> Tool:
        tool = self._tools.get(call.tool_name)
        if tool is None:
            known = ", ".join(spec.name for spec in self.specs) or "none"
            raise ToolError(f"There is no tool {call.tool_name!r}. The tools are: {known}.")
        return tool


async def _as_they_come(
    results: Sequence[Coroutine[Any, Any, ToolResult]],
) -> AsyncGenerator[list[ToolResult], None]:
    """Those that come together are one batch, in the order of the calls: they share a commit. One
    that takes long keeps back no other, which would be in doubt if the process died meanwhile."""
    running = [asyncio.create_task(result) for result in results]
    try:
        while running:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if not all(task.done() for task in running):
                await asyncio.wait(running, timeout=TOGETHER)
            done = [task for task in running if task.done()]
            yield [task.result() for task in done]
            running = [task for task in running if task not in done]
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _note(permission: ApprovalState | None) -> str | None:
    """What the model should know of the person's decision."""
    if permission is None:
        return None
    if CLIENT_RESULT in permission.args:
        return None  # the client ran it
    if permission.edited and permission.outcome == "approved":
        args = msgspec.json.encode(permission.args).decode()
        return f"The user changed the arguments before allowing this: {args}"
    return f"The user's reason: {permission.reason}" if permission.reason else None


def _said(error: BaseException) -> str:
    """The error's own words, if it has any: `__str__` may be anybody's."""
    try:
        return str(error)
    except Exception:
        return "its text cannot be read"


def _place(tool: Tool, error: BaseException) -> str:
    """Where in the tool's own file it was raised."""
    own = getattr(getattr(tool.function, "__code__", None), "co_filename", None)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    return f", {PurePath(own).name} line {lines[-1]}" if own and lines else ""


def _shown(tool: Tool, value: Any) -> Any:
    """The result for the model. A write that has happened is not made undone by what it returns."""
    try:
        return hints.plain(value)
    except Exception as error:  # the value's own methods may raise anything
        kind = type(value).__name__
        _log.warning("tool %s returned what cannot become JSON", tool.name, exc_info=True)
        if tool.writes is False:
            raise ToolError(f"The tool returned {kind}, which cannot become JSON.") from error
        return f"Done. The result cannot be shown: {kind} cannot become JSON."


def _closed(
    call: ToolUse, started: float, value: Any = None, error: ToolError | None = None
) -> ToolResult:
    return ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=value,
        success=error is None,
        duration=round((time.monotonic() - started) * 1000),
        error=msgspec.UNSET if error is None else writable(str(error)),
        in_doubt=isinstance(error, InDoubt),
    )
