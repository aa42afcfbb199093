"""A port that nobody else can take any more: it is taken before anything else is begun."""

import errno
import socket
from typing import Any

from turnlog.errors import ConfigError

BACKLOG = 2048


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets that nobody else can take any more. Raises ConfigError with what to do."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(f"{host!r} is no address of this machine: {error.strerror}.") from None
    if port == 0:
        places = places[:1]  # each would get another number
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, place in places:
            sockets.append(socket.socket(family, kind, protocol))
            _listen(sockets[-1], place)
    except OSError as error:
        for each in sockets:
            each.close()
        raise ConfigError(_cannot_listen(host, port, error)) from None
    return sockets


def _listen(listener: socket.socket, place: Any) -> None:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind(place)
    listener.listen(BACKLOG)
    listener.setblocking(False)


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is taken by another program."
            f" Stop that one, or choose another port: --port {port + 1}."
        )
    if error.errno == errno.EACCES:
        return f"This user may not listen on port {port}. Choose one above 1023 with --port."
    return (
        f"turnlog cannot listen on {host!r}, port {port}: {error.strerror}. Choose another --host."
    )
