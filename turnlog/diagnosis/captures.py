"""Files with recorded answers of the API.

`turnlog diagnose capture` writes `.jsonl`: a line about the capture, then for every model call a
line with its request and a line for each event with its time. `.sse` is the raw body of one
answer, and `.sse.gz` the same body compressed, as `keep_raw` stores it.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from turnlog.errors import BadInput, NotFound

Json = dict[str, Any]
SUFFIXES = (".jsonl", ".sse", ".sse.gz")


@dataclass
class RecordedCall:
    """One model call: its request, where it is known, and the bytes of its answer."""

    body: bytes
    request: Json | None = None
    timed: list[tuple[float, Json]] = field(default_factory=list)  # milliseconds since the request

    @cached_property
    def events(self) -> list[Json]:
        return list(read_events(self.body))

    @cached_property
    def whole(self) -> bool:
        """Whether the model has ended the answer, and every piece belongs to an open block."""
        open_blocks: set[object] = set()
        for event in self.events:
            match event["type"]:
                case "content_block_start":
                    open_blocks.add(event.get("index"))
                case "content_block_delta" | "content_block_stop" if (
                    event.get("index") not in open_blocks
                ):
                    return False
                case "message_stop":
                    return True
        return False


@dataclass
class Capture:
    """The model calls of one capability, in order."""

    name: str
    calls: list[RecordedCall]
    about: Json = field(default_factory=dict)


def read_events(body: bytes) -> Iterator[Json]:
    """The events of a body. It does not use the engine's reader, because it checks that one."""
    lines: list[bytes] = []
    for line in [*body.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].strip())
        elif not line and lines:
            yield from _decoded(b"\n".join(lines))
            lines = []


def _decoded(data: bytes) -> Iterator[Json]:
    """The event, or nothing for `[DONE]` and for a line that was cut."""
    try:
        event = json.loads(data)
    except ValueError:
        return
    if isinstance(event, dict) and "type" in event:
        yield event


def frame(event: Json) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event.get('type')}\ndata: {data}\n\n".encode()


def find(paths: Iterable[Path]) -> list[Path]:
    """The captures among these files and in these folders."""
    captures: list[Path] = []
    for path in paths:
        if not path.exists():
            raise NotFound(f"There is no {str(path)!r}.")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        captures += [file for file in files if file.name.endswith(SUFFIXES)]
    if not captures:
        raise NotFound(f"There is no capture here. They end in {', '.join(SUFFIXES)}.")
    return captures


def read(path: Path) -> Capture:
    """The capture in a file. Raises BadInput if the file is not a capture."""
    try:
        if path.suffix == ".jsonl":
            return _from_lines(path)
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        return Capture(path.name, [RecordedCall(body)])
    except (EOFError, KeyError, TypeError, ValueError, OSError) as error:
        raise BadInput(f"{str(path)!r} is not a capture: {error}.") from error


def write(capture: Capture, path: Path) -> None:
    lines: list[Json] = [{"capture": capture.name, **capture.about}]
    for number, call in enumerate(capture.calls):
        lines.append({"call": number, "request": call.request})
        lines += [{"call": number, "ms": ms, "event": event} for ms, event in call.timed]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")


def _from_lines(path: Path) -> Capture:
    about, *lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    calls: list[RecordedCall] = []
    for line in lines:
        if "request" in line:
            calls.append(RecordedCall(b"", line["request"]))
        else:
            calls[line["call"]].timed.append((line["ms"], line["event"]))
    for call in calls:
        call.body = b"".join(frame(event) for _, event in call.timed)
    return Capture(about.pop("capture"), calls, about)
