"""What begins in a graph waits until everything before it is in the log.

LangGraph holds a graph's next step back until its stream is read. It does not hold back the nodes
of a subgraph, nor tools that a node calls by itself: they could be done before anybody had read of
their calls, and a stop in between left an effect without a row. So every node and every tool puts
a mark into the stream when it begins, and goes on when the reader has come to the mark.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langgraph.config import get_stream_writer

LOOP_TURNS_WITHIN = 2.0  # seconds; a server that is only busy takes less
_NODE = "graph:step:"  # how LangGraph tags the run of a node
_PLACE = "langgraph_checkpoint_ns"  # in metadata: the nodes that something runs in, outermost first


class Mark:
    """A place in the stream."""

    def __init__(self, tool_use_id: str | None) -> None:
        self.tool_use_id = tool_use_id  # of the tool that begins, where it has one
        self.reached: Future[None] = Future()


class Beginnings:
    """What begins in one run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._write: Callable[[Any], None] | None = None  # into the stream of the outermost graph
        self._marks: set[Mark] = set()
        self._is_over = False
        self._is_blocked = False
        self.callbacks: list[BaseCallbackHandler] = [_Awaited(self), _InThread(self)]

    def note(self, about: dict[str, Any]) -> None:
        """Something begins. The first that does so inside a node knows the outermost stream: the
        streams of subgraphs may have other readers."""
        place = (about.get("metadata") or {}).get(_PLACE)
        if self._write is None and place and "|" not in place:
            with suppress(RuntimeError, KeyError):  # the node itself begins outside of it
                self._write = get_stream_writer()

    def mark(self, tool_use_id: str | None = None) -> Mark | None:
        """None: nobody needs to be waited for, because the outermost graph waits by itself.

        Raises CancelledError after the run: a thread runs on when its turn is stopped.
        """
        if self._is_over:
            raise CancelledError
        if self._write is None:
            return None
        mark = Mark(tool_use_id)
        try:
            self._write(mark)
        except (RuntimeError, KeyError):  # it begins outside of any node
            return None
        self._marks.add(mark)
        if self._is_over:  # since it was asked, which a thread may do at any time
            mark.reached.cancel()
        return mark

    def reach(self, mark: Mark) -> None:
        """The reader has come to it: all that was before it is stored."""
        self._marks.discard(mark)
        if mark.reached.set_running_or_notify_cancel():  # False: whoever waited has been stopped
            mark.reached.set_result(None)

    def end(self) -> None:
        """The run is over, also for threads that still work on it."""
        self._is_over = True
        for mark in [*self._marks]:
            mark.reached.cancel()

    def wait(self, mark: Mark) -> None:
        """In a thread. Code that blocks the server's loop may itself wait for this thread: then
        nobody reads, and it goes on."""
        while self._turns():
            try:
                mark.reached.result(LOOP_TURNS_WITHIN)
            except TimeoutError:
                continue
            return

    def _turns(self) -> bool:
        """Whether the loop does."""
        if not self._is_blocked:
            turned = threading.Event()
            self._loop.call_soon_threadsafe(turned.set)
            self._is_blocked = not turned.wait(LOOP_TURNS_WITHIN)
        return not self._is_blocked

    @property
    def is_here(self) -> bool | None:
        """Whether the caller runs in the run's own loop; None: in a thread without a loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return None


class _Awaited(AsyncCallbackHandler):
    """For what is awaited."""

    raise_error = True

    def __init__(self, beginnings: Beginnings) -> None:
        self._beginnings = beginnings

    async def on_chain_start(self, *args: Any, **about: Any) -> None:
        self._beginnings.note(about)
        if any(tag.startswith(_NODE) for tag in about.get("tags") or ()):
            await self._wait(None)

    async def on_tool_start(self, *args: Any, **about: Any) -> None:
        self._beginnings.note(about)
        await self._wait(about.get("tool_call_id"))

    async def _wait(self, tool_use_id: str | None) -> None:
        if self._beginnings.is_here and (mark := self._beginnings.mark(tool_use_id)):
            await asyncio.wrap_future(mark.reached)


class _InThread(BaseCallbackHandler):
    """For tools that a plain function calls: LangGraph runs it in a thread."""

    raise_error = True
    run_inline = True

    def __init__(self, beginnings: Beginnings) -> None:
        self._beginnings = beginnings

    def on_tool_start(self, *args: Any, **about: Any) -> None:
        if self._beginnings.is_here is None:
            self._beginnings.note(about)
            if mark := self._beginnings.mark(about.get("tool_call_id")):
                self._beginnings.wait(mark)
