"""`turnlog diagnose`: record what the API sends, and compare it with our events."""

import argparse
import asyncio
import logging
from pathlib import Path

from turnlog.commands.shared import Add, say
from turnlog.config import load
from turnlog.errors import ConfigError

NAMES = ("thinking", "tools", "thinking-tools", "citations", "interleaved", "vision", "web-search")


def diagnose(args: argparse.Namespace) -> int:
    """Record the API's raw events, or compare recorded ones with our events."""
    return int(args.task(args))


def capture(args: argparse.Namespace) -> int:
    """Write one file for each capability."""
    from turnlog.diagnosis import captures, recorder
    from turnlog.diagnosis.capabilities import CAPABILITIES

    wanted = NAMES if args.all else args.names
    if not wanted or not set(wanted) <= set(NAMES):
        raise ConfigError(f"Say --all, or which: {', '.join(NAMES)}.")
    settings = load(model=args.model)
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    for capability in (each for each in CAPABILITIES if each.name in wanted):
        recording = asyncio.run(recorder.capture(capability, settings))
        path = folder / f"{capability.name}.jsonl"
        captures.write(recording, path)
        events = sum(len(call.timed) for call in recording.calls)
        model = settings.model + (" (simulated)" if settings.simulated else "")
        say(f"{str(path):40} {len(recording.calls)} calls, {events:4} events, {model}")
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print a table for each capture. The exit code is 1 if anything is lost without a name."""
    from turnlog.diagnosis import captures, comparison, player, table

    logging.disable(logging.WARNING)  # recorded failures fail again, as they should
    bad = 0
    paths = captures.find(map(Path, args.captures))
    for path in paths:
        capture = captures.read(path)
        compared = comparison.compare(capture, asyncio.run(player.play(capture)))
        bad += not compared.ok
        if args.brief and compared.ok:
            say(f"{compared.name}: {table.summary(compared)}")
        else:
            for line in table.lines(compared):
                say(line)
    say(f"\n{len(paths)} captures: {'nothing lost without a name' if not bad else f'{bad} bad'}")
    return 1 if bad else 0


def register(add: Add) -> None:
    tasks = add(diagnose).add_subparsers(required=True, metavar="TASK")
    parser = tasks.add_parser("capture", help="ask the API, and record what it sends")
    parser.set_defaults(task=capture)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--out", default="diagnosis", metavar="DIR", help="default: ./diagnosis")
    parser.add_argument("--model", help="default: that of the settings")
    parser = tasks.add_parser("compare", help="preserved, lost and added, field by field")
    parser.set_defaults(task=compare)
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="files or folders")
    parser.add_argument("--brief", action="store_true", help="a line for each, if all is well")
