"""`turnlog copy`: an installation moves to another store, and the copy is proven."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from turnlog.commands.shared import Add, say
from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.ports import Evidence

if TYPE_CHECKING:
    from turnlog.stores.sql.store import SqlStore

_MANY = 500  # files in one look


def copy(args: argparse.Namespace) -> int:
    """Copy everything of one store into an empty one, and prove the copy. Stop the server first."""
    from turnlog.stores.files.urls import archives_beside
    from turnlog.stores.sql.store import SqlStore
    from turnlog.stores.urls import keep_archives, open_store

    settings = load()

    async def run() -> int:
        async with (
            open_store(args.source, read_only=True) as source,
            open_store(args.target) as target,
        ):
            if not isinstance(source, SqlStore) or not isinstance(target, SqlStore):
                raise ConfigError("Copy into sqlite:FOLDER or postgresql://…: others do not last.")
            if await target.session_ids():
                raise ConfigError(f"{target.url} is not empty. Name a new place for the copy.")
            source.seals = target.seals = settings.seals
            keep_archives(source, archives_beside(args.source, settings.files_url, settings.data))
            return await _copied(source, target)

    return asyncio.run(run())


async def _copied(source: "SqlStore", target: "SqlStore") -> int:
    from turnlog.projections.proof import prove

    events = bad = 0
    ids = await source.session_ids()
    for session_id in ids:
        evidence = await source.evidence(session_id)
        await target.restore(evidence)
        there = await target.evidence(session_id)
        problems = prove(there, target.seals).problems + _differences(evidence, there)
        for problem in problems:
            say(f"{session_id}  {problem}")
        events += len(there.log)
        bad += bool(problems)
    files = await _copy_files(source, target)
    await target.audit.restore(await source.audit.trail())
    for problem in (flaws := await target.audit.flaws()):
        say(problem)
    bad += bool(flaws)
    verdict = "the copy is proven" if not bad else f"{bad} not ok"
    say(f"{len(ids)} sessions, {events} events, {files} files: {verdict}.")
    say(
        "Not copied: the bytes of files, tasks, the library, tickets, messages that wait in line,"
        " deposits, and webhooks on their way."
    )
    return 1 if bad else 0


async def _copy_files(source: "SqlStore", target: "SqlStore") -> int:
    """What is known of users' files; their bytes stay where they are."""
    count, after = 0, ""
    while some := await source.files.every(limit=_MANY, after=after):
        for file in some:
            if not file.deleted:
                await target.files.add(file, quota=2**62)
                count += 1
        after = some[-1].id
    return count


def _differences(one: Evidence, other: Evidence) -> list[str]:
    same = [row.seal for row in one.log] == [row.seal for row in other.log]
    return [] if same else ["the seals are not those of the original"]


def register(add: Add) -> None:
    parser = add(copy)
    parser.add_argument("source", metavar="FROM", help="such as sqlite:turnlog-data")
    parser.add_argument("target", metavar="TO", help="such as postgresql://USER:PASSWORD@HOST/NAME")
