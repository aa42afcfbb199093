"""The command line. Each command is one function; heavy imports happen inside."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.config import load, refuse_open_door
from turnlog.errors import ConfigError, NotFound, TurnlogError

if TYPE_CHECKING:
    from turnlog.ports import Store


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 when all is well, 1 when not, 2 for wrong usage."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.command(args)
        return code
    except TurnlogError as error:
        _say(f"turnlog: {error}", sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130


def serve(args: argparse.Namespace) -> int:
    """Start the server and say what runs."""
    from turnlog.observing import logs
    from turnlog.transports.server import run

    # The app of a module makes its own settings: the flags reach it through the environment.
    flags = {"TURNLOG_HOST": args.host, "TURNLOG_PORT": args.port, "TURNLOG_DATA": args.data}
    os.environ |= {name: str(value) for name, value in flags.items() if value is not None}
    app = _app(args.app)
    refuse_open_door(app.settings)
    for name, value in app.describe().items():
        _say(f"  {name:10} {value}")
    settings = app.settings
    logs.set_up(settings.log_format, settings.log_level, content=settings.log_content)
    return run(app, settings.host, settings.port, grace=settings.grace, on_stop=app.end_turns)


def token(args: argparse.Namespace) -> int:
    """Mint a bearer token."""
    from turnlog.transports.auth import mint

    settings = load()
    if settings.auth_secret is None:
        raise ConfigError("Set TURNLOG_AUTH_SECRET first: tokens are signed with it.")
    refuse_open_door(settings)
    if not args.user.strip() or not 0 < args.days <= 36_500:
        raise ConfigError("A token needs a user, and between 0 and 36500 days.")
    _say(mint(settings.auth_secret, args.user, admin=args.admin, days=args.days))
    return 0


def sim(args: argparse.Namespace) -> int:
    """Run the simulated Claude alone."""
    from turnlog.simulators.claude import SimulatedClaude

    async def run() -> int:
        async with SimulatedClaude(pace=args.pace).serve(port=args.port) as url:
            _say(f"The simulated Claude listens on {url}")
            await asyncio.Event().wait()
        return 0

    return asyncio.run(run())


def verify(args: argparse.Namespace) -> int:
    """Prove one session or all of them; 1 when anything is off."""
    from turnlog.projections.proof import prove

    async def run(store: "Store") -> int:
        ids = [args.session] if args.session else await store.session_ids()
        events = bad = 0
        for session_id in ids:
            proof = prove(await store.evidence(session_id))
            events += proof.count
            bad += not proof.ok
            for problem in proof.problems:
                _say(f"{session_id}  {problem}")
        _say(f"{len(ids)} sessions, {events} events: {'ok' if not bad else f'{bad} not ok'}")
        return 1 if bad else 0

    return _with_store(args, run)


def replay(args: argparse.Namespace) -> int:
    """Play a session back in the terminal."""
    from turnlog.transports.playback import play

    async def run(store: "Store") -> int:
        await play(await _log(store, args.session), _say, to=args.to, speed=args.speed)
        return 0

    return _with_store(args, run)


def export(args: argparse.Namespace) -> int:
    """Print a session: every kept event as a line of JSON, or as a page to read."""
    from turnlog.transports.playback import as_jsonl, as_markdown

    async def run(store: "Store") -> int:
        log = await _log(store, args.session)
        _say(as_jsonl(log) if args.format == "jsonl" else as_markdown(log))
        return 0

    return _with_store(args, run)


def migrate(args: argparse.Namespace) -> int:
    """Bring the database up to date."""

    async def run(store: "Store") -> int:
        _say("The database is up to date.")
        return 0

    return _with_store(args, run, make=True)


def bench(args: argparse.Namespace) -> int:
    """Measure what a turn costs, and print a table."""
    from turnlog.bench import run

    return run(_say, quick=args.quick)


def _app(named: str | None) -> Any:
    """The app of MODULE:APP, or the one that ships."""
    from turnlog.app import Turnlog, create_app

    if named is None:
        return create_app()
    module, _, name = named.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), name or "app")
    except Exception as error:  # whatever the module does when it is imported
        raise ConfigError(
            f"{named!r} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(found, Turnlog):
        raise ConfigError(f"{named!r} is not an app made by create_app.")
    return found


def _with_store(
    args: argparse.Namespace, work: Callable[["Store"], Awaitable[int]], make: bool = False
) -> int:
    from turnlog.stores.sqlite import SqliteStore

    folder = Path(load(data=args.data).data)
    if not make and not (folder / "turnlog.db").exists():
        raise NotFound(f"There is no turnlog database in {str(folder)!r}. Name its --data folder.")

    async def run() -> int:
        store = SqliteStore(folder)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def _log(store: "Store", session_id: str) -> list[Any]:
    from turnlog.events.record import stamped

    return [stamped(row) for row in (await store.evidence(session_id)).log]


def _say(line: str, to: Any = None) -> None:
    (to or sys.stdout).write(line + "\n")
    (to or sys.stdout).flush()


def _parser() -> argparse.ArgumentParser:
    about = "turnlog: a self-hosted agent server whose every step is an event in a gap-free log."
    parser = argparse.ArgumentParser(prog="turnlog", description=about)
    parser.add_argument("--version", action="version", version=version("turnlog"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(work: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        about = (work.__doc__ or "").strip()
        added = commands.add_parser(work.__name__, help=about, description=about)
        added.set_defaults(command=work)
        return added

    serve_ = command(serve)
    serve_.add_argument("app", nargs="?", metavar="MODULE:APP", help="default: the demo")
    serve_.add_argument("--host", help="default: 127.0.0.1")
    serve_.add_argument("--port", type=int, help="default: 8000")
    token_ = command(token)
    token_.add_argument("--user", required=True)
    token_.add_argument("--admin", action="store_true")
    token_.add_argument("--days", type=float, default=30)
    sim_ = command(sim)
    sim_.add_argument("--port", type=int, default=8001)
    sim_.add_argument("--pace", type=float, default=0.02, help="seconds between two events")
    verify_ = command(verify)
    verify_.add_argument("session", nargs="?", metavar="SESSION", help="default: all")
    replay_ = command(replay)
    replay_.add_argument("session", metavar="SESSION")
    replay_.add_argument("--to", type=int, metavar="SEQ", help="stop after this number")
    replay_.add_argument("--speed", type=float, default=0, help="1: as it was; 0: at once")
    export_ = command(export)
    export_.add_argument("session", metavar="SESSION")
    export_.add_argument("--format", choices=["jsonl", "md"], default="jsonl")
    migrate_ = command(migrate)
    bench_ = command(bench)
    bench_.add_argument("--quick", action="store_true", help="fewer rounds")
    for one in (serve_, verify_, replay_, export_, migrate_):
        one.add_argument("--data", metavar="DIR", help="default: ./turnlog-data")
    return parser


if __name__ == "__main__":
    sys.exit(main())
