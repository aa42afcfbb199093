"""`turnlog copy`: an installation moves to another store, and the copy is proven."""

import argparse
import asyncio
import shutil
from typing import TYPE_CHECKING

from turnlog.commands.shared import Add, count, say
from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.ports import Blobs, Evidence

if TYPE_CHECKING:
    from turnlog.stores.sql.store import SqlStore

_MANY = 500  # files in one look


def copy(args: argparse.Namespace) -> int:
    """Copy everything of one store into an empty one, and prove the copy. Stop the server first."""
    from turnlog.stores.files.urls import archives_beside, blobs_beside
    from turnlog.stores.sql.store import SqlStore
    from turnlog.stores.urls import keep_archives, open_store

    settings = load(whole=False)

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
            blobs = (  # beside the source they are in its folder: else they are there already
                blobs_beside(args.source, None, settings.data),
                blobs_beside(args.target, settings.files_url, settings.data),
            )
            return await _copied(source, target, *blobs)

    return asyncio.run(run())


async def _copied(
    source: "SqlStore", target: "SqlStore", bytes_from: Blobs, bytes_to: Blobs
) -> int:
    from turnlog.files.examination import examine_bytes
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
    await _copy_bytes(target, bytes_from, bytes_to)
    await target.copy_beside(source)
    await target.audit.restore(await source.audit.trail())
    flaws = await target.audit.flaws()
    flaws += [problem async for problem in examine_bytes(target.files, bytes_to)]
    for problem in flaws:
        say(problem)
    bad += bool(flaws)
    verdict = "the copy is proven" if not bad else f"{bad} not ok"
    copied = (len(ids), "session"), (events, "event"), (files, "file")
    say(f"{', '.join(count(*each) for each in copied)}: {verdict}.")
    say("Not copied: the tasks and the library of the demo. Tickets live for a minute.")
    return 1 if bad else 0


async def _copy_files(source: "SqlStore", target: "SqlStore") -> int:
    """What is known of users' files."""
    count, after = 0, ""
    while some := await source.files.every(limit=_MANY, after=after):
        for file in some:
            if not file.deleted:
                await target.files.add(file, quota=2**62)
                count += 1
        after = some[-1].id
    return count


async def _copy_bytes(target: "SqlStore", source: Blobs, there: Blobs) -> None:
    """What is not there yet. Two installations may share one place for files."""
    from turnlog.files.examination import MADE
    from turnlog.files.sweep import every_file, place_of

    if there.url == source.url:
        return
    await there.open()
    async for file in every_file(target.files):
        place = place_of(file)
        for part in ("original", MADE[file.kind]):
            if await there.has(place, part) or not await source.has(place, part):
                continue
            async with source.local(place, part) as path, there.incoming() as folder:
                copied = await asyncio.to_thread(shutil.copyfile, path, folder / part)
                await there.put(place, part, copied)
    await there.close()


def _differences(one: Evidence, other: Evidence) -> list[str]:
    same = [row.seal for row in one.log] == [row.seal for row in other.log]
    return [] if same else ["the seals are not those of the original"]


def register(add: Add) -> None:
    parser = add(copy)
    parser.add_argument("source", metavar="FROM", help="such as sqlite:turnlog-data")
    parser.add_argument("target", metavar="TO", help="such as postgresql://USER:PASSWORD@HOST/NAME")
