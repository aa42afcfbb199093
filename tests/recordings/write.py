"""Writes our own recordings: `python tests/recordings/write.py`. A test compares.

`NAME.sse` is the body of a response, `NAME.final.json` the message that Anthropic's SDK builds
from it, `NAME.request.json` the request, for some.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from anthropic.lib.streaming._beta_messages import accumulate_event
from recordings.scenes import REQUESTS, SCENES

CRLF = ("plain_text/greeting",)  # some proxies end lines so
NO_FINAL = (
    "unknown_block/mood",  # the SDK takes an unknown block for a text block
    "max_tokens/inside_a_call",  # the SDK invents the end of unfinished arguments
)


def files():
    """Every file with its bytes."""
    for name, events in SCENES.items():
        yield FOLDER / f"{name}.sse", body(events, b"\r\n" if name in CRLF else b"\n")
        if name not in NO_FINAL and (message := final(events)):
            yield FOLDER / f"{name}.final.json", pretty(message)
    for name, request in REQUESTS.items():
        yield FOLDER / f"{name}.request.json", pretty(request)


def body(events, newline):
    lines = []
    for event in events:
        data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        lines += [f"event: {event['type']}".encode(), f"data: {data}".encode(), b""]
    return newline.join([*lines, b""])


def final(events):
    """The SDK's message as far as the stream goes; None where the SDK gives up."""
    snapshot, pieces = None, {}
    try:
        for event in events:
            if event["type"] not in ("ping", "error"):
                snapshot = accumulate_event(
                    event=event, current_snapshot=snapshot, json_bufs=pieces, request_headers={}
                )
    except (IndexError, RuntimeError, ValueError):
        return None
    return snapshot and snapshot.model_dump(mode="json", by_alias=True, exclude_none=True)


def pretty(value):
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


if __name__ == "__main__":
    for path, content in files():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
