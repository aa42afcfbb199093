"""Recorded answers of the API, as files.

`.jsonl` is what `turnlog diagnose capture` writes: a line about the capture, then for every
model call one with its request and one for each event, with its time. `.sse` is the raw body
of one answer; `.gz` the same, compressed, as `keep_raw` stores it.
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
class Recorded:
    """One model call: the request, where it is known, and the bytes that came back."""

    body: bytes
    request: Json | None = None
    timed: list[tuple[float, Json]] = field(default_factory=list)  # milliseconds since the ask

    @cached_property
    def events(self) -> list[Json]:
        return list(parsed(self.body))

    @cached_property
    def whole(self) -> bool:
        """Whether the model ended it, and every piece belongs to a block that had begun."""
        begun: set[object] = set()
        for event in self.events:
            match event["type"]:
                case "content_block_start":
                    begun.add(event.get("index"))
                case "content_block_delta" | "content_block_stop" if (
                    event.get("index") not in begun
                ):
                    return False
                case "message_stop":
                    return True
        return False


@dataclass
class Capture:
    """The model calls of one capability, in order."""

    name: str
    calls: list[Recorded]
    about: Json = field(default_factory=dict)


def parsed(body: bytes) -> Iterator[Json]:
    """The events of a body. Read by lines, apart from the engine's reader, which it checks."""
    lines: list[bytes] = []
    for line in [*body.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].strip())
        elif not line and lines:
            yield from _decoded(b"\n".join(lines))
            lines = []


def _decoded(data: bytes) -> Iterator[Json]:
    """Nothing for what is no event: `[DONE]`, or a last line that was cut."""
    try:
        event = json.loads(data)
    except ValueError:
        return
    if isinstance(event, dict) and "type" in event:
        yield event


def framed(event: Json) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event.get('type')}\ndata: {data}\n\n".encode()


def find(places: Iterable[Path]) -> list[Path]:
    """The captures that these files and folders are."""
    found: list[Path] = []
    for place in places:
        if not place.exists():
            raise NotFound(f"There is no {str(place)!r}.")
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        found += [file for file in files if file.name.endswith(SUFFIXES)]
    if not found:
        raise NotFound(f"There is no capture here. They end in {', '.join(SUFFIXES)}.")
    return found


def read(path: Path) -> Capture:
    """Raises BadInput for a file that is no capture."""
    try:
        if path.suffix == ".jsonl":
            return _from_lines(path)
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        return Capture(path.name, [Recorded(body)])
    except (EOFError, KeyError, TypeError, ValueError, OSError) as error:
        raise BadInput(f"{str(path)!r} is no capture: {error}.") from error


def write(capture: Capture, path: Path) -> None:
    lines: list[Json] = [{"capture": capture.name, **capture.about}]
    for number, call in enumerate(capture.calls):
        lines.append({"call": number, "request": call.request})
        lines += [{"call": number, "ms": ms, "event": event} for ms, event in call.timed]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")


def _from_lines(path: Path) -> Capture:
    about, *lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    calls: list[Recorded] = []
    for line in lines:
        if "request" in line:
            calls.append(Recorded(b"", line["request"]))
        else:
            calls[line["call"]].timed.append((line["ms"], line["event"]))
    for call in calls:
        call.body = b"".join(framed(event) for _, event in call.timed)
    return Capture(about.pop("capture"), calls, about)
