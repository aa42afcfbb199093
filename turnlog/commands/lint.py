"""`turnlog lint`: whether the Messages API accepts a history, and a repaired one that it accepts.

It reads any file: a request body, or just its messages. Whatever the file holds, the answer is a
sentence.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.commands.shared import Add, count, say

if TYPE_CHECKING:
    from turnlog.projections.history.lint import Finding
    from turnlog.projections.history.repair import Repaired

MOST_BYTES = 256 * 1024 * 1024  # eight times what the API takes
MOST_LINES = 200
OK, BROKEN, NO_HISTORY = 0, 1, 2


class _NotAHistory(Exception):
    """The file is not a history; the message says why."""


def lint(args: argparse.Namespace) -> int:
    """Name every rule of the API that a history breaks; repair it with --fix."""
    try:
        return _lint(args)
    except _NotAHistory as error:
        say(f"turnlog: {args.file}: {error}", sys.stderr)
    except RecursionError:
        say(f"turnlog: {args.file}: it is nested too deeply to be a history.", sys.stderr)
    return NO_HISTORY


def _lint(args: argparse.Namespace) -> int:
    from turnlog.projections.history.lint import advise
    from turnlog.projections.history.repair import repair
    from turnlog.projections.history.request import Request

    if args.write and (not args.fix or args.file == "-"):
        raise _NotAHistory("--write goes with --fix, and needs a file to write to.")
    raw = _read(args.file)
    value = _decode(raw)
    body = value if isinstance(value, dict) else {"messages": value}
    request = Request(body, size=len(msgspec.json.encode(value)), for_model=args.model or "")
    repaired = repair(request)
    findings = repaired.found + advise(request)
    _report(findings, len(body["messages"]), sys.stderr if args.fix else sys.stdout)
    if not args.fix:
        return BROKEN if repaired.found else OK
    _write(args, _encode(value, repaired) if repaired.found else raw)
    return _report_unrepaired(repaired)


def _read(name: str) -> bytes:
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(name, "rb") as file:
                raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _NotAHistory(f"it cannot be read: {error.strerror}.") from None
    if len(raw) > MOST_BYTES:
        raise _NotAHistory(f"it has more than {MOST_BYTES} bytes; the API takes 32 MB.")
    return raw


def _decode(raw: bytes) -> Any:
    try:
        value = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _NotAHistory(f"it is not JSON: {error}.") from None
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not _are_messages(messages):
        raise _NotAHistory(
            "it is neither a request with a list of `messages`, nor a list of messages."
        )
    return value


def _are_messages(messages: list[Any]) -> bool:
    return not messages or any(isinstance(each, dict) and "role" in each for each in messages)


def _report(findings: "list[Finding]", messages: int, to: Any) -> None:
    from turnlog.projections.history.lint import RULES

    for rule, place, problem in findings[:MOST_LINES]:
        kind = "advice" if RULES[rule].advice else "fix"
        say(f"{place or 'request'}  {rule}: {problem} ({kind}: {RULES[rule].fix})", to)
    if len(findings) > MOST_LINES:
        say(f"... and {len(findings) - MOST_LINES} more", to)
    broken = [finding for finding in findings if not RULES[finding.rule].advice]
    rules = count(len({finding.rule for finding in broken}), "rule")
    verdict = f"{rules} broken in {count(len(broken), 'place')}" if broken else "ok"
    say(f"{count(messages, 'message')}: {verdict}", to)


def _report_unrepaired(repaired: "Repaired") -> int:
    for rule, place, problem in repaired.left[:MOST_LINES]:
        say(f"{place or 'request'}  {rule}: cannot be repaired: {problem}", sys.stderr)
    return BROKEN if repaired.left else OK


def _encode(value: Any, repaired: "Repaired") -> bytes:
    """The history in its own form: a request, or only messages."""
    history = repaired.body if isinstance(value, dict) else repaired.body["messages"]
    return msgspec.json.format(msgspec.json.encode(history), indent=2) + b"\n"


def _write(args: argparse.Namespace, history: bytes) -> None:
    if not args.write:
        sys.stdout.buffer.write(history)
        sys.stdout.flush()
        return
    target = Path(args.file).resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_bytes(history)
        shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _NotAHistory(f"it cannot be written: {error.strerror}.") from None


def register(add: Add) -> None:
    parser = add(lint)
    parser.add_argument("file", metavar="FILE", help="a request body or its messages; - is stdin")
    parser.add_argument("--fix", action="store_true", help="print the repaired history")
    parser.add_argument("--write", action="store_true", help="with --fix: into FILE instead")
    parser.add_argument("--model", metavar="M", help="the model it is for, if not the one it names")
