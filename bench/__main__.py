"""`python -m bench [--quick] [--sockets] [--calls] [--engines]`: what a turn costs, 500 sockets."""

import argparse
import sys

from bench.all import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--sockets", action="store_true", help="500 sockets at once, only")
    parser.add_argument("--calls", action="store_true", help="Python calls of a chunk, only")
    parser.add_argument("--engines", action="store_true", help="a chunk on each engine, only")
    parser.add_argument("--write", action="store_true", help="keep the calls, to compare with")
    args = parser.parse_args()
    return run(
        _say,
        quick=args.quick,
        sockets=args.sockets,
        calls=args.calls,
        engines=args.engines,
        write=args.write,
    )


def _say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


sys.exit(main())
