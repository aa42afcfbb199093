"""A connection that never finishes the head of its request is closed, and one that is too long.

Nor does one become a websocket while something else is under way on it. Whoever is answered is
told when the client goes, also where other requests wait behind. One that idles between two
requests is small: what uvicorn keeps ready for it is made when it is needed, and the server looks
at all of them now and then, instead of a timer for each.
"""

import asyncio
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

from httptools import HttpRequestParser
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from turnlog.transports.http.serving.held_head import HeldHead
from turnlog.transports.sse import WHEN_GONE

WITHIN = 30.0  # seconds from the first byte, or from the connection, to the end of the head
MOST = 65_536  # bytes of a head after those that came with its first one, and of trailers
MOST_WAITING = 100  # requests that came before the one ahead of them was answered
TOO_LONG = "The head of this request is too long."


class HeadDeadline(HttpToolsProtocol):
    """uvicorn's protocol; it waits for ever for the rest of a head, and keeps all of it."""

    cycle: Any  # the newest request and its answer
    flow: "_Flow"
    scope: Any
    headers: Any
    pipeline: Any
    parser: Any  # None: nothing of a request has come
    until: float  # when it is closed, by the loop's clock
    _answering: Any  # the request that is being answered: others may wait behind it
    _is_kept: bool  # after an answer, in case that another request comes
    _piled: int  # bytes that the parser may have kept: of a head in parts, or of trailers
    _tell_gone: Callable[[], None] | None
    # With those more than uvicorn's, its attributes would not fit into 30, which instances share.
    __slots__ = ("_answering", "_is_kept", "_piled", "_tell_gone", "until")

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow, self.pipeline = _Flow(transport), _Pipeline()
        self._is_kept, self.until = False, self.loop.time() + WITHIN
        self._answering = self._tell_gone = None
        self._piled = 0

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn tells only the newest request that its client has gone."""
        super().connection_lost(exc)
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        # They have us: nothing is left to be collected.
        self.cycle = self.scope = self._answering = None
        if self._tell_gone is not None:
            self._tell_gone()

    def data_received(self, data: bytes) -> None:
        if self.scope is not None:  # a request goes on
            self._piled += len(data)
        if self._is_kept:  # a head begins
            self._is_kept, self.until = False, self.loop.time() + WITHIN
        if self.parser is None:
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        super().data_received(data)
        if self._piled > MOST:
            self._refuse()
        if not self._is_idle():
            self.until = inf
        elif self.transport.get_protocol() is not self:  # it has become a websocket
            self.until = inf
            self.parser = None  # which has us: nothing is left to be collected
            if not data.endswith(b"\n") and not self.transport.is_closing():
                self.transport.abort()  # frames before the answer: uvicorn has dropped them

    def _refuse(self) -> None:
        if self._is_idle():
            self.send_400_response(TOO_LONG)
        else:
            self.transport.abort()  # an answer is being written, or the body awaited

    def on_body(self, body: bytes) -> None:
        self._piled = 0  # who reads a body bounds it
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._piled = 0
        if len(self.pipeline) >= MOST_WAITING:  # uvicorn reads on while others wait
            self.transport.abort()
            return
        before = self.cycle
        super().on_headers_complete()
        self.headers = self.headers.copy()  # a trailer is no header: RFC 9110, 6.5.1
        if self.cycle is not before:
            if not self.pipeline:
                self._answering = self.cycle
            self.scope["extensions"] = {WHEN_GONE: self._when_gone}
            if self.scope["method"] != "HEAD":  # whose answer has no body
                HeldHead(self.cycle)

    def on_response_complete(self) -> None:
        """What was asked is not kept while the client thinks about the next request. Of that one
        a part of the head may be there."""
        self._answering = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        self._unset_keepalive_if_required()  # its timer; see `close_overdue`
        if self._is_idle():
            self._is_kept, self.until = True, self.loop.time() + self.timeout_keep_alive
        cycle = self.cycle
        if cycle is not None and cycle.response_complete and not cycle.more_body:
            self.cycle = None
            if self.scope is cycle.scope:
                self.scope, self.headers, self.parser = None, [], None

    def handle_websocket_upgrade(self, *head: Any) -> None:
        """The answer would come into the middle of another one, or behind one that nobody reads."""
        if not self._is_idle() or self.flow.write_paused:
            self.transport.abort()
        elif self.scope["http_version"] != "1.1":
            self.send_400_response("A websocket needs HTTP/1.1.")
        else:
            super().handle_websocket_upgrade(*head)

    def _when_gone(self, tell: Callable[[], None] | None) -> bool:
        """See `sse.WhenGone`. It cannot while more of the request comes, or when it is too late."""
        self._tell_gone = None
        request = self._answering
        if tell is None or request is None or request.more_body or request.disconnected:
            return False
        self.flow.resume_reading()  # as uvicorn's `receive` does: else nobody sees that it goes
        self._tell_gone = tell
        return True

    def _is_idle(self) -> bool:
        """Whether no request is being answered, so that what comes is the head of one."""
        return self.cycle is None or self.cycle.response_complete


def close_overdue(connections: Iterable[Any]) -> None:
    """Of these, whose head is late, or whose next request."""
    now = asyncio.get_running_loop().time()
    for each in [*connections]:
        if isinstance(each, HeadDeadline) and each.until <= now:
            each.transport.close()


class _Flow(FlowControl):
    """uvicorn's, without an event of 900 bytes for a client that reads what it gets."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = self.write_paused = False
        self.pause: object = None  # the newest one

    def pause_writing(self) -> None:
        if not self.write_paused:
            self.pause = self._is_writable_event = asyncio.Event()  # that `drain` waits for
        super().pause_writing()


class _Pipeline(list[Any]):
    """Requests that came before the last one was answered. A deque has room for 64 of them."""

    __slots__ = ()

    def appendleft(self, request: Any) -> None:
        self.insert(0, request)
