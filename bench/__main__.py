"""`python -m bench [--quick] [--sockets]`: what a turn costs, and 500 sockets at once."""

import argparse
import sys

from bench.all import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--sockets", action="store_true", help="500 sockets at once, only")
    args = parser.parse_args()
    return run(_say, quick=args.quick, sockets=args.sockets)


def _say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


sys.exit(main())
