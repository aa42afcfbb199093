"""A conversation in the terminal: the answer as it is written, approvals, and a stop.

What people, models and tools say is printed without what could steer the terminal.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from turnlog.client import AsyncClient, ServerError

Read = Callable[[str], Awaitable[str | None]]  # a prompt -> the line; None: there are no more
Write = Callable[[str], None]
YES, NO = ("y", "yes"), ("n", "no", "")
LONGEST_ARGS = 200  # characters
COMMAND = re.compile(r"/[A-Za-z]+")
HELP = "Ctrl-C stops an answer; Ctrl-D or /quit ends. /new begins another session."


class Chat:
    """One person at a terminal, and one session at a time."""

    def __init__(
        self,
        client: AsyncClient,
        read: Read,
        write: Write,
        agent: str | None = None,
        command: str = "turnlog chat",  # what goes on with a session of this place
    ) -> None:
        self._client = client
        self._read = read
        self._write = write
        self._agent = agent
        self._command = command
        self._speaker = ""
        self._in_line = False  # text without its newline yet
        self._stopping: asyncio.Task[bool] | None = None
        self._answering = False
        self._deciding: asyncio.Task[str | None] | None = None
        self._input_is_over = False
        self.session_id = ""

    async def run(self, session_id: str | None = None) -> int:
        """Until the person ends it. Returns the exit code."""
        if session_id is not None:
            await self._go_on(session_id)
        self._say(HELP)
        while not self._input_is_over and (line := await self._read("> ")) is not None:
            text = line.strip()
            if text in ("/quit", "/exit"):
                break
            if text == "/new":
                self.session_id = ""
            elif COMMAND.fullmatch(text):  # misspelt, perhaps: no model is paid for it
                self._say(HELP)
            elif text:
                await self._ask(text)
        self.end()
        return 0

    def end(self) -> None:
        """Say how to go on."""
        self._end_line()
        if self.session_id:
            self._say(f"Go on with: {self._command} {self.session_id}")

    def stop(self) -> bool:
        """Stop the turn: what is being written, or what waits for a yes. Says if there is one."""
        if not self._answering:
            return False
        if self._deciding is not None:
            self._deciding.cancel()
        if self._stopping is None or self._stopping.done():
            self._stopping = asyncio.create_task(self._client.stop(self.session_id))
        return True

    async def _ask(self, text: str) -> None:
        if not self.session_id:
            self.session_id = (await self._client.create_session(agent=self._agent))["id"]
        await self._show(self._client.ask(self.session_id, text))

    async def _go_on(self, session_id: str) -> None:
        """What was said, what waits, and what is being answered."""
        page = await self._client.messages(session_id, limit=40)
        self.session_id = session_id
        for event in page["events"]:
            if event["type"] == "user_message_sent":
                self._say(f"> {plain(event['content'])}")
            elif event["type"] == "message" and event["content"]:
                self._say(plain(event["content"]))
        waiting = [a for a in await self._client.approvals() if a.get("sessionId") == session_id]
        for approval in waiting:
            if not self._input_is_over:
                await self._decide(approval["id"], approval["description"])
        if waiting and not self._input_is_over:
            await self._show(self._until_over(page["cursor"]))

    async def _until_over(self, cursor: str) -> AsyncGenerator[Mapping[str, Any], None]:
        async for event in self._client.follow(self.session_id, after=cursor):
            yield event
            if event["type"] in ("complete", "error", "resync_required"):
                return

    async def _show(self, events: AsyncGenerator[Any, None]) -> None:
        self._answering = True
        try:
            async with aclosing(events):
                async for event in events:
                    if shower := SHOWERS.get(event["type"]):
                        await shower(self, event)
                    if self._input_is_over:  # the turn waits; nobody here decides any more
                        break
        except ServerError as error:
            self._say(f"! {plain(str(error))}")
        finally:
            self._answering = False
            self._end_line()
            if self._stopping is not None:
                await asyncio.wait([self._stopping])
                self._stopping = None

    # each event

    async def _chunk(self, event: Mapping[str, Any]) -> None:
        self._name(event)
        self._write(plain(event["content"]))
        self._in_line = True

    async def _tool(self, event: Mapping[str, Any]) -> None:
        args = json.dumps(event["args"], ensure_ascii=False)
        shown = args if len(args) <= LONGEST_ARGS else args[:LONGEST_ARGS] + "…"
        self._say(f"  [{plain(event['toolName'])}] {plain(shown)}")

    async def _result(self, event: Mapping[str, Any]) -> None:
        if not event["success"]:
            self._say(f"  [{plain(event['toolName'])}] failed: {plain(str(event.get('error')))}")

    async def _approval(self, event: Mapping[str, Any]) -> None:
        await self._decide(event["approvalId"], event["description"])

    async def _error(self, event: Mapping[str, Any]) -> None:
        self._say(f"! {plain(event['error'])}")

    async def _complete(self, event: Mapping[str, Any]) -> None:
        cost = "" if event.get("costUsd") is None else f", ${event['costUsd']:.6f}"
        stopped = "stopped, " if event["reason"] == "cancelled" else ""
        self._say(f"  ({stopped}{event['tokenUsage']['totalTokens']} tokens{cost})")

    async def _decide(self, approval_id: str, description: str) -> None:
        """Ask until the answer is clear. Nobody there is no yes: the approval stays open."""
        self._say(f"? {plain(description)}")
        while (line := await self._typed("  Allow? [y/N] ")) is not None:
            answer = line.strip().lower()
            if answer not in (*YES, *NO):
                continue
            try:
                if answer in YES:
                    await self._client.approve(approval_id)
                else:
                    await self._client.reject(approval_id)
            except ServerError as error:  # somebody else was quicker, or it has expired
                self._say(f"! {plain(str(error))}")
            return
        if self._stopping is None:
            self._input_is_over = True
            self._write("\n")
            self._say("  It stays open until somebody decides.")

    async def _typed(self, prompt: str) -> str | None:
        """A line; None: there are no more, or the turn was stopped meanwhile."""
        self._deciding = asyncio.ensure_future(self._read(prompt))
        try:
            return await self._deciding
        except asyncio.CancelledError:
            if self._stopping is None:
                raise
            self._write("\n")
            return None
        finally:
            self._deciding = None

    # words

    def _name(self, event: Mapping[str, Any]) -> None:
        """Who speaks, where that changes."""
        if event["agent"]["name"] != self._speaker:
            self._speaker = event["agent"]["name"]
            self._say(f"{plain(self._speaker)}:")

    def _say(self, line: str) -> None:
        self._end_line()
        self._write(line + "\n")

    def _end_line(self) -> None:
        if self._in_line:
            self._write("\n")
            self._in_line = False


SHOWERS: dict[str, Callable[[Chat, Mapping[str, Any]], Awaitable[None]]] = {
    "message_chunk": Chat._chunk,
    "tool_use": Chat._tool,
    "tool_result": Chat._result,
    "approval_requested": Chat._approval,
    "error": Chat._error,
    "complete": Chat._complete,
}


def plain(text: str) -> str:
    """What a terminal prints and does not obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
