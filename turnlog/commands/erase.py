"""`turnlog erase`: what a session or a user has said is destroyed. Seals and bills stay."""

import argparse
import asyncio
import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.commands.shared import Add, add_data, count, say, settings_of
from turnlog.config import Settings
from turnlog.errors import ConfigError

if TYPE_CHECKING:
    from turnlog.stores.sql.store import SqlStore

AT_ONCE = 200  # sessions in one look
Gone = list[tuple[int, str]]  # how many, and of what


def erase(args: argparse.Namespace) -> int:
    """Destroy what a session says, or all that a user has said and sent. Stop the server first."""
    from turnlog.app.shipped import forget_user
    from turnlog.stores.files.urls import archives_beside
    from turnlog.stores.sql.store import SqlStore
    from turnlog.stores.urls import keep_archives, open_store

    if bool(args.session) == bool(args.user):
        raise ConfigError("Name a session, or a user with --user.")
    settings = settings_of(args)
    url = settings.store_url

    async def run() -> int:
        async with open_store(url, read_only=True):
            pass  # what is not there, or is older, is named and not made
        async with open_store(url, server="turnlog erase") as store:
            if not isinstance(store, SqlStore):
                raise ConfigError("A store in memory ends with its process.")
            store.seals = settings.seals
            keep_archives(store, archives_beside(url, settings.files_url, settings.data))
            ids = [args.session] if args.session else await _sessions_of(store, args.user)
            if not args.yes:
                whose = f", and the files, documents and tasks of {args.user!r}" * bool(args.user)
                say(f"{count(len(ids), 'session')}{whose}: --yes destroys them for good.")
                return 1
            gone, left = await _erased(store, ids, settings)
            if args.user:
                gone.append((await _files_gone(store, args.user, settings), "file"))
                gone += await forget_user(store, settings, args.user)
            say(f"Destroyed: {', '.join(count(*each) for each in gone)}.")
            if left:
                say(f"{count(left, 'event')} of an old form stay, sealed with what they say.")
            return 1 if left else 0

    code = asyncio.run(run())
    return max(code, _overwritten(url)) if args.yes else code


def _overwritten(url: str) -> int:
    """1 where words are left in a file, which is said."""
    from turnlog.stores.sqlite.files import overwrite

    scheme, _, folder = url.partition(":")
    held = overwrite(Path(folder)) if scheme == "sqlite" else []
    for name in held:
        say(f"Another program reads {name}, where the words still are: end it, and erase again.")
    return 1 if held else 0


async def _erased(store: "SqlStore", ids: list[str], settings: Settings) -> tuple[Gone, int]:
    """What is gone, and how many events are not: they are sealed with what they say."""
    from turnlog.events.ids import provider_id
    from turnlog.stores.raw_ledger import forget

    by = f"turnlog erase ({getpass.getuser()})"
    events = raw = left = 0
    for session_id in ids:
        tables = (await store.evidence(session_id)).tables
        calls = {provider_id(row["message_id"]) for row in [*tables["messages"], *tables["usage"]]}
        events += await store.erase(session_id, by)
        raw += forget(Path(settings.data), calls)
        left += sum(bool(row.body) for row in (await store.evidence(session_id)).log)
    return [(len(ids), "session"), (events, "event"), (raw, "raw answer")], left


async def _sessions_of(store: "SqlStore", user_id: str) -> list[str]:
    ids: list[str] = []
    while some := await store.audit.sessions(
        user_id=user_id, search="", limit=AT_ONCE, after=ids[-1] if ids else None
    ):
        ids += [session.id for session in some]
    return ids


async def _files_gone(store: "SqlStore", user_id: str, settings: Settings) -> int:
    """Copies that a provider has are removed by the next server, which looks for such."""
    from turnlog.files.sweep import Sweep, every_file, place_of
    from turnlog.stores.files.urls import blobs_beside

    blobs = blobs_beside(settings.store_url, settings.files_url, settings.data)
    await blobs.open()
    gone = 0
    async for file in every_file(store.files):
        if file.user_id == user_id:
            if not file.deleted:  # else somebody was interrupted who deleted it
                await store.files.mark_deleted(user_id, file.id)
            await blobs.delete(place_of(file))
            await store.files.forget(user_id, file.id)
            gone += 1
    alone = settings.store_url.startswith("sqlite:")  # its server does not work
    await Sweep(store.files, blobs, alone=alone).run()  # what a killed one left of uploads
    return gone


def register(add: Add) -> None:
    parser = add(erase)
    parser.add_argument("session", nargs="?", metavar="SESSION")
    about = "all sessions, files, documents and tasks of this user"
    parser.add_argument("--user", metavar="USER", help=about)
    parser.add_argument("--yes", action="store_true", help="without it, nothing is destroyed")
    add_data(parser)
