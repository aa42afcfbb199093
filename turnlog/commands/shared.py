"""What every command needs: a way to say things, the settings, and a store to look at."""

import argparse
import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.config import Settings, load
from turnlog.errors import ConfigError, NotFound
from turnlog.events.base import Stamped
from turnlog.ports import Store

Work = Callable[[argparse.Namespace], int]
Add = Callable[[Work], argparse.ArgumentParser]  # makes a command of a function

SESSIONS_ARE_LISTED = "`turnlog sessions` lists those that there are."


def say(line: str, to: Any = None) -> None:
    (to or sys.stdout).write(line + "\n")
    (to or sys.stdout).flush()


def count(number: int, noun: str) -> str:
    """As "1 session" and "2 sessions"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def settings_of(args: argparse.Namespace, *, whole: bool = False) -> Settings:
    """The settings, with the --data folder of the command line.

    `whole`: for what answers people; who looks at a store needs no secret of a webhook.
    Raises ConfigError where `database_url` names the store already: whoever names a copy by
    --data must not be told about another database.
    """
    settings = load(data=args.data, whole=whole)
    if args.data is not None and settings.database_url is not None:
        raise ConfigError(
            "--data and the setting 'database_url' both say where the database is. Leave one out."
        )
    return settings


def load_app(target: str | None) -> Any:
    """The app of MODULE:APP, else of the setting 'app', else the one that ships.

    Raises ConfigError that says where it broke.
    """
    from turnlog.app import Turnlog, create_app
    from turnlog.app.modules import find_modules_here, is_missing, missing

    find_modules_here()
    target = target or load().app
    if target is None:
        return create_app()
    name, _, attribute = target.partition(":")
    if name.endswith(".py"):
        module_name = name.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise ConfigError(
            f"{target!r} is a file. Write its module: {module_name}:{attribute or 'app'}."
        )
    try:
        module = import_module(name)
    except ConfigError as error:  # it says itself what to do
        raise ConfigError(f"{target!r}: {error}") from error
    except Exception as error:  # whatever the module does when it is imported
        if is_missing(name, error):
            raise ConfigError(f"{target!r} cannot be loaded. {missing(name)}") from None
        raise ConfigError(
            f"{target!r} cannot be loaded: {type(error).__name__}: {error}{_place(error)}."
        ) from error
    app = getattr(module, attribute or "app", None)
    if not isinstance(app, Turnlog):
        there = [f"{name}:{each}" for each, v in vars(module).items() if isinstance(v, Turnlog)]
        apps = f"There is: {', '.join(there)}." if there else "Write app = create_app(…) there."
        raise ConfigError(f"{target!r} is not an app made by create_app. {apps}")
    return app


def server_of(settings: Settings) -> str | None:
    """The address of the server that works in the data folder; None: there is none."""
    from turnlog.stores.sqlite.owners import server_in

    scheme, _, folder = settings.store_url.partition(":")
    return server_in(Path(folder)) if scheme == "sqlite" else None


def _place(error: Exception) -> str:
    """The line of the user's own code at which it broke, if there is one."""
    own = str(Path.cwd())
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(own)]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def with_store(args: argparse.Namespace, work: Callable[[Store], Awaitable[int]]) -> int:
    """Do the work on a store that is only looked at: a server may be working there."""
    from turnlog.stores.files.urls import archives_beside
    from turnlog.stores.urls import keep_archives, open_store

    settings = settings_of(args)

    async def run() -> int:
        async with open_store(settings.store_url, read_only=True) as store:
            keep_archives(
                store, archives_beside(settings.store_url, settings.files_url, settings.data)
            )
            try:
                return await work(store)
            except NotFound as error:
                if getattr(args, "session", None) is None:
                    raise
                raise NotFound(f"{error} {SESSIONS_ARE_LISTED}") from None

    return asyncio.run(run())


async def log_of(store: Store, session_id: str) -> list[Stamped]:
    from turnlog.events.rows.erasure import shown

    return [shown(row) for row in (await store.evidence(session_id)).log]


def add_app(parser: argparse.ArgumentParser) -> None:
    about = "default: the setting 'app', else the demo"
    parser.add_argument("app", nargs="?", metavar="MODULE:APP", help=about)


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="default: ./turnlog-data")
