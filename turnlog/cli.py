"""The command line: a table of modules, each with a few commands. Heavy imports happen inside."""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from turnlog.commands import (
    archive,
    backup,
    bill,
    chat,
    copy,
    diagnose,
    doctor,
    erase,
    lint,
    new,
    serve,
    sessions,
    stored,
    webhooks,
)
from turnlog.commands.shared import Work, say
from turnlog.errors import BadInput, ConfigError, TurnlogError

COMMANDS = (
    serve, new, chat, doctor, sessions, stored, backup, archive, erase, copy, lint, diagnose,
    bill, webhooks,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 when all is well, 1 when not, 2 for wrong usage."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.command(args)
        return code
    except TurnlogError as error:
        say(f"turnlog: {error}", sys.stderr)
        return 2 if isinstance(error, ConfigError | BadInput) else 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130


@cache
def _parser() -> argparse.ArgumentParser:
    about = "turnlog: a self-hosted agent server whose every step is an event in a gap-free log."
    parser = argparse.ArgumentParser(prog="turnlog", description=about)
    parser.add_argument("--version", action="version", version=version("turnlog"))
    parser.set_defaults(command=lambda args: _help(parser))
    commands = parser.add_subparsers(metavar="COMMAND")

    def add(work: Work) -> argparse.ArgumentParser:
        about = (work.__doc__ or "").strip()
        added = commands.add_parser(work.__name__, help=about, description=about)
        added.set_defaults(command=work)
        return added

    for module in COMMANDS:
        module.register(add)
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
