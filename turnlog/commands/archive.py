"""`turnlog archive`: contents of closed sessions move into compressed files, and back."""

import argparse
import asyncio
import getpass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from turnlog.commands.shared import Add, add_data, count, say, settings_of
from turnlog.errors import ConfigError

if TYPE_CHECKING:
    from turnlog.stores.sql.store import SqlStore

DAYS = 30.0
MOST_DAYS = 36_500


def archive(args: argparse.Namespace) -> int:
    """Move contents of closed sessions into compressed files, also while a server works."""
    from turnlog.stores.files.urls import archives_beside
    from turnlog.stores.sql.store import SqlStore
    from turnlog.stores.urls import keep_archives, open_store

    settings = settings_of(args)
    url, by = settings.store_url, f"turnlog archive ({getpass.getuser()})"

    async def run() -> int:
        async with open_store(url, read_only=True):
            pass  # what is not there, or is older, is named and not made
        async with open_store(url) as store:
            if not isinstance(store, SqlStore):
                raise ConfigError("A store in memory has no archives.")
            store.seals = settings.seals
            keep_archives(store, blobs := archives_beside(url, settings.files_url, settings.data))
            await blobs.open()
            try:
                return await (_restore if args.restore else _archive)(store, args, by)
            finally:
                await blobs.close()

    return asyncio.run(run())


async def _archive(store: "SqlStore", args: argparse.Namespace, by: str) -> int:
    """A session that is not what was written stays as it is: an archive would hide nothing."""
    from turnlog.projections.proof import prove

    if not 0 <= args.older_than <= MOST_DAYS:
        raise ConfigError(f"'--older-than' must be between 0 and {MOST_DAYS} days.")
    before = datetime.now(UTC) - timedelta(days=args.older_than)
    time = before.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    ids = [args.session] if args.session else await store.archives.closed(time)
    if begun := await store.archives.sweep():
        say(f"{begun} archives that were begun and not finished: their files are removed.")
    files = size = unpacked = bad = 0
    for session_id in ids:
        if problems := prove(await store.evidence(session_id), store.seals).problems:
            say(f"{session_id}  {problems[0]}")
            bad += 1
            continue
        made = await store.archives.make(session_id, by)
        files += len(made)
        size += sum(each.size for each in made)
        unpacked += sum(each.unpacked for each in made)
    verdict = f", {bad} not ok: nothing of those was moved" if bad else ""
    say(
        f"{count(len(ids), 'closed session')}, {count(files, 'new archive')}:"
        f" {unpacked} bytes in {size}{verdict}."
        f" They are in {store.archives.url}."
    )
    return 1 if bad else 0


async def _restore(store: "SqlStore", args: argparse.Namespace, by: str) -> int:
    ids = [args.session] if args.session else await store.archives.sessions()
    files = 0
    for session_id in ids:
        files += len(await store.archives.restore(session_id, by))
    brought = f"{count(len(ids), 'session')}, {count(files, 'archive')}"
    say(f"{brought}: everything is in the database again.")
    return 0


def register(add: Add) -> None:
    parser = add(archive)
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="default: all that are closed"
    )
    about = "leave out sessions where something went on within so many days; default: 30"
    parser.add_argument("--older-than", type=float, metavar="DAYS", default=DAYS, help=about)
    about = "bring the contents back into the database, and remove the files"
    parser.add_argument("--restore", action="store_true", help=about)
    add_data(parser)
