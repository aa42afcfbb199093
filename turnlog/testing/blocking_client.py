"""The client without `async`, from the one with it: `make docs` writes it, and a test compares."""

from pathlib import Path

_HEAD = '''"""The client for programs that do not use asyncio.

Written by `make docs` from waiting.py. Do not edit.
"""
# fmt: off
# ruff: noqa: UP028 - loops that were `async for`
'''
# fmt: off
WORDS = {
    "async ":                      "",
    "await ":                      "",
    "AsyncGenerator[Event, None]": "Generator[Event, None, None]",
    "AsyncGenerator":              "Generator",
    "AsyncClient":                 "Client",
    "__aenter__":                  "__enter__",
    "__aexit__":                   "__exit__",
    "aclosing":                    "closing",
    "aclose":                      "close",
    "asyncio":                     "time",
    "aread":                       "read",
    "aiter_bytes":                 "iter_bytes",
}
# fmt: on


def source(waiting: Path) -> str:
    """The module's text: the other one's, word by word, under a line of its own."""
    _, _, text = waiting.read_text().partition("\n")
    for word, plain in WORDS.items():
        text = text.replace(word, plain)
    return _HEAD + text
