"""Server-sent events, read from bytes. No I/O."""

from collections.abc import Iterator
from typing import cast

import msgspec

from turnlog.client.events import Event

MOST_BYTES = 64_000_000  # of one event


class Frames:
    """The events in a stream of bytes, however it is cut into pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[Event]:
        *frames, self._rest = (self._rest + piece).split(b"\n\n")
        if len(self._rest) > MOST_BYTES:
            raise ValueError("An event is larger than a server may send.")
        for frame in frames:
            for line in frame.split(b"\n"):
                if line.startswith(b"data: "):
                    yield cast(Event, msgspec.json.decode(line[6:]))
