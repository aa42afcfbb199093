"""Commands that run the server or the simulation, and that mint tokens."""

import argparse
import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from turnlog.commands.shared import Add, add_app, add_data, load_app, say, settings_of
from turnlog.config import Settings, address_of, load, refuse_open_door
from turnlog.errors import ConfigError, StoreUnusable
from turnlog.ports import Store
from turnlog.stores.urls import store_at
from turnlog.transports.listening import listening

MOST_PORT = 65_535


def serve(args: argparse.Namespace) -> int:
    """Start the server and say what runs."""
    # The app of a module makes its own settings: the flags reach it through the environment.
    flags = {"TURNLOG_HOST": args.host, "TURNLOG_PORT": args.port, "TURNLOG_DATA": args.data}
    flags["TURNLOG_KEEP_RAW"] = args.keep_raw
    os.environ |= {name: str(value) for name, value in flags.items() if value is not None}
    settings = settings_of(args, whole=True)
    if args.reload:
        from turnlog.commands.reloading import run_again_and_again

        return run_again_and_again(settings)
    try:
        return _serve(args.app, settings)
    except StoreUnusable as error:  # at the start that is wrong usage: another folder will do
        raise ConfigError(str(error)) from error


def _serve(target: str | None, settings: Settings) -> int:
    """What cannot work is found before the app is loaded, and before anything is printed."""
    app = load_app(target) if target or settings.app else None
    settings = app.settings if app else settings
    refuse_open_door(settings)
    store = app.store if app else store_at(settings.store_url)
    asyncio.run(_try(store, settings.address))
    with ExitStack() as stack:
        sockets = [stack.enter_context(each) for each in listening(settings.host, settings.port)]
        return _run(app or load_app(None), sockets)


def _run(app: Any, sockets: Sequence[socket.socket]) -> int:
    from turnlog.telemetry import logs
    from turnlog.transports.http.serving.server import run

    def greet() -> None:
        for name, value in app.describe().items():
            say(f"  {name:11} {value}")

    settings = app.settings
    app.address = address_of(settings.host, sockets[0].getsockname()[1])
    logs.set_up(
        settings.log_format,
        settings.log_level,
        content=settings.log_content,
        tools=app.tools.modules,
        development=settings.tells_errors,
        at_once=False,
    )
    return run(app, sockets, on_ready=greet, on_stop=app.end_turns)


async def _try(store: Store, address: str) -> None:
    """Whether the store can be used. Raises StoreUnusable or StoreTaken."""
    await store.open(server=address)
    await store.close()


def token(args: argparse.Namespace) -> int:
    """Mint a bearer token."""
    from turnlog.ports.user import LONGEST_ID, LONGEST_ROLE, is_role, is_user_id
    from turnlog.tokens import mint

    settings = load(whole=False)
    if settings.auth_issuer is not None:
        raise ConfigError(f"{settings.auth_issuer} makes the tokens here: sign in there.")
    if settings.auth_secret is None:
        raise ConfigError("Set TURNLOG_AUTH_SECRET first: tokens are signed with it.")
    refuse_open_door(settings)
    if not args.user.strip() or not 0 < args.days <= 36_500:
        raise ConfigError("A token needs a user, and between 0 and 36500 days.")
    if not is_user_id(args.user):
        raise ConfigError(f"A user's id is printable text of 1 to {LONGEST_ID} characters.")
    for role in args.role:
        if not is_role(role):
            raise ConfigError(f"{role!r} cannot be a role: 1 to {LONGEST_ROLE} characters.")
    given = {"admin": args.admin, "roles": args.role, "days": args.days}
    say(mint(settings.auth_secret, args.user, **given))
    return 0


def tools(args: argparse.Namespace) -> int:
    """List every tool of every agent: whether it writes, whether a person is asked, and why."""
    from turnlog.tools.agents.listing import table

    listed, servers = asyncio.run(load_app(args.app).list_tools(args.user))
    for line in table(listed):
        say(line)
    if servers:
        say(f"MCP servers: {servers}")
    return 0


def sim(args: argparse.Namespace) -> int:
    """Run the simulated Claude alone."""
    from turnlog.simulator import SimulatedClaude

    if not (0 <= args.port <= MOST_PORT and args.pace >= 0):
        raise ConfigError(f"'--port' must be between 0 and {MOST_PORT}, and '--pace' not negative.")
    for each in listening("127.0.0.1", args.port):  # so that a port that is taken is told
        each.close()

    async def run() -> int:
        async with SimulatedClaude(pace=args.pace).serve(port=args.port) as url:
            say(f"The simulated Claude listens on {url}")
            await asyncio.Event().wait()
        return 0

    return asyncio.run(run())


def register(add: Add) -> None:
    parser = add(serve)
    add_app(parser)
    parser.add_argument("--host", help="default: 127.0.0.1")
    parser.add_argument("--port", type=int, help="default: 8000")
    keep = "store the provider's bytes in DIR/raw too"
    parser.add_argument("--keep-raw", action="store_const", const=True, help=keep)
    again = "for development: start again whenever a Python file or turnlog.toml changes"
    parser.add_argument("--reload", action="store_true", help=again)
    add_data(parser)
    parser = add(token)
    parser.add_argument("--user", required=True)
    parser.add_argument("--admin", action="store_true", help="the same as --role admin")
    about = "admin, auditor, or a name that approvals ask for; may be given again"
    parser.add_argument("--role", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--days", type=float, default=30)
    parser = add(tools)
    add_app(parser)
    about = "as whom MCP servers are asked that must know who asks; default: local"
    parser.add_argument("--user", default="local", help=about)
    parser = add(sim)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between two events")
