"""Commands that run the server or the simulation, and that mint tokens."""

import argparse
import asyncio
import os
import sys
from importlib import import_module
from typing import Any

from turnlog.commands.shared import Add, add_data, say, settings_of
from turnlog.config import load, refuse_open_door
from turnlog.errors import ConfigError


def serve(args: argparse.Namespace) -> int:
    """Start the server and say what runs."""
    from turnlog.telemetry import logs
    from turnlog.transports.http.server import run

    # The app of a module makes its own settings: the flags reach it through the environment.
    flags = {"TURNLOG_HOST": args.host, "TURNLOG_PORT": args.port, "TURNLOG_DATA": args.data}
    flags["TURNLOG_KEEP_RAW"] = args.keep_raw
    os.environ |= {name: str(value) for name, value in flags.items() if value is not None}
    settings_of(args)
    app = _load_app(args.app)
    refuse_open_door(app.settings)
    for name, value in app.describe().items():
        say(f"  {name:10} {value}")
    settings = app.settings
    logs.set_up(settings.log_format, settings.log_level, content=settings.log_content)
    return run(app, settings.host, settings.port, on_stop=app.end_turns)


def token(args: argparse.Namespace) -> int:
    """Mint a bearer token."""
    from turnlog.ports.user import LONGEST_ROLE, is_role
    from turnlog.tokens import mint

    settings = load()
    if settings.auth_secret is None:
        raise ConfigError("Set TURNLOG_AUTH_SECRET first: tokens are signed with it.")
    refuse_open_door(settings)
    if not args.user.strip() or not 0 < args.days <= 36_500:
        raise ConfigError("A token needs a user, and between 0 and 36500 days.")
    for role in args.role:
        if not is_role(role):
            raise ConfigError(f"{role!r} cannot be a role: 1 to {LONGEST_ROLE} characters.")
    given = {"admin": args.admin, "roles": args.role, "days": args.days}
    say(mint(settings.auth_secret, args.user, **given))
    return 0


def tools(args: argparse.Namespace) -> int:
    """List every tool of every agent: whether it writes, whether a person is asked, and why."""
    from turnlog.tools.listing import table

    listed, servers = asyncio.run(_load_app(args.app).list_tools(args.user))
    for line in table(listed):
        say(line)
    if servers:
        say(f"MCP servers: {servers}")
    return 0


def sim(args: argparse.Namespace) -> int:
    """Run the simulated Claude alone."""
    from turnlog.simulator import SimulatedClaude

    async def run() -> int:
        async with SimulatedClaude(pace=args.pace).serve(port=args.port) as url:
            say(f"The simulated Claude listens on {url}")
            await asyncio.Event().wait()
        return 0

    return asyncio.run(run())


def _load_app(target: str | None) -> Any:
    """The app of MODULE:APP, or the one that ships."""
    from turnlog.app import Turnlog, create_app

    if target is None:
        return create_app()
    module, _, name = target.partition(":")
    sys.path.insert(0, "")
    try:
        app = getattr(import_module(module), name or "app")
    except Exception as error:  # whatever the module does when it is imported
        raise ConfigError(
            f"{target!r} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(app, Turnlog):
        raise ConfigError(f"{target!r} is not an app made by create_app.")
    return app


def register(add: Add) -> None:
    parser = add(serve)
    parser.add_argument("app", nargs="?", metavar="MODULE:APP", help="default: the demo")
    parser.add_argument("--host", help="default: 127.0.0.1")
    parser.add_argument("--port", type=int, help="default: 8000")
    keep = "store the provider's bytes in DIR/raw too"
    parser.add_argument("--keep-raw", action="store_const", const=True, help=keep)
    add_data(parser)
    parser = add(token)
    parser.add_argument("--user", required=True)
    parser.add_argument("--admin", action="store_true", help="the same as --role admin")
    about = "admin, auditor, or a name that approvals ask for; may be given again"
    parser.add_argument("--role", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--days", type=float, default=30)
    parser = add(tools)
    parser.add_argument("app", nargs="?", metavar="MODULE:APP", help="default: the demo")
    about = "as whom MCP servers are asked that must know who asks; default: local"
    parser.add_argument("--user", default="local", help=about)
    parser = add(sim)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between two events")
