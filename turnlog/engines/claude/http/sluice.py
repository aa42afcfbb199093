"""Decides whether what comes over a connection wakes the server at once.

A piece of text that wakes it only to be laid aside costs as much as one that is shown. So where
text comes fast, the sluice holds it: the system keeps what is smaller than the end of an answer,
and the tick reads it. An end wakes the server at once, and so does a connection that closes. What
may come with the tick is small and comes alone: a piece of text, an error, an end that is shorter
than Claude writes them, and under TLS an end whose record TCP has cut. Where the system knows no
such mark, everything wakes the server.
"""

import asyncio
import fcntl
import os
import socket
import termios

_FRAMES = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn",'
    b'"stop_sequence":null},"usage":{"output_tokens":10}}\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
)
# As the shortest end of an answer of ten tokens or more, in chunks; from Claude 4.5 on it has more.
END = len(b"".join([b"%x\r\n%b\r\n" % (len(frame), frame) for frame in _FRAMES]) + b"0\r\n\r\n")
RECORD = 22  # bytes that TLS puts around them, at least
_AT_ONCE = 4_096  # bytes that are read at a tick; where there are more, the loop reads the rest
_NONE = bytes(4)  # an int: so many bytes are there


class Sluice:
    """Of one connection, while an answer comes over it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_shut = False  # text piles up
        self.holds = False  # it does so in the system
        self._transport = transport
        self._socket: socket.socket | None = None
        self._number = -1  # the socket's
        self._is_plain = True  # the system has what the other side wrote

    def shut(self, *, holds: bool) -> None:
        """Text piles up. `holds`: in the system, if it can do that."""
        self.is_shut = True
        if holds != self.holds:
            self.holds = self._mark(holds=holds) and holds

    def open(self) -> None:
        """What the system has comes in now, and so does what comes next."""
        self.is_shut = False
        if self.holds:
            self.holds = False
            self._mark(holds=False)

    def take(self) -> bytes:
        """What the system has. Of TLS only the transport can read it, and the sluice opens."""
        if not self.holds or self._transport.is_closing():
            return b""
        try:
            if fcntl.ioctl(self._number, termios.FIONREAD, _NONE) == _NONE:
                return b""  # nothing; a read would take an error from the transport
            if self._is_plain:
                return os.read(self._number, _AT_ONCE)
        except OSError:  # the transport hears of it, too
            return b""
        self.open()
        return b""

    def _mark(self, *, holds: bool) -> bool:
        """From how many bytes on the server is woken. False: the system cannot do that."""
        if self._transport.is_closing():
            return False
        try:
            if self._socket is None:
                self._socket = self._transport.get_extra_info("socket")
                self._number = self._socket.fileno()
                self._is_plain = self._transport.get_extra_info("ssl_object") is None
            end = END if self._is_plain else END + RECORD
            size = end if holds else 1
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
        except (AttributeError, OSError, ValueError):  # there is no socket, or it is gone
            return False
        return True
