"""`turnlog backup`: the data folder, copied while the server works, and proven."""

import argparse
import asyncio
from pathlib import Path

from turnlog.commands.shared import Add, add_data, count, say, settings_of
from turnlog.errors import ConfigError


def backup(args: argparse.Namespace) -> int:
    """Copy the data folder, also while a server works there, and prove the copy."""
    from turnlog.projections.proof import prove
    from turnlog.stores.files.urls import archives_beside
    from turnlog.stores.sqlite.backup import back_up
    from turnlog.stores.urls import keep_archives, open_store

    scheme, _, folder = settings_of(args).store_url.partition(":")
    if scheme != "sqlite":
        raise ConfigError(
            f"`turnlog backup` copies SQLite folders. A {scheme} database has a tool of its own:"
            " for PostgreSQL that is pg_dump."
        )

    async def count_problems() -> int:
        async with open_store(f"sqlite:{args.folder}", read_only=True) as copy:
            keep_archives(copy, archives_beside(copy.url, None, args.folder))
            ids = await copy.session_ids()
            bad = [each for each in ids if not prove(await copy.evidence(each)).ok]
            say(f"{args.folder}: {count(len(ids), 'session')} copied, {len(bad)} not ok")
            return len(bad)

    try:
        back_up(Path(folder), Path(args.folder))
    except OSError as error:
        place = str(error.filename or args.folder)
        raise ConfigError(
            f"The copy cannot be made: {place!r}: {error.strerror or error}."
            " Name a new folder in a place that you may write to."
        ) from None
    return 1 if asyncio.run(count_problems()) else 0


def register(add: Add) -> None:
    parser = add(backup)
    parser.add_argument("folder", metavar="FOLDER", help="a new folder for the copy")
    add_data(parser)
