"""Commands that look at what is stored: prove it, play it back, print it, bring it up to date."""

import argparse
import asyncio
import math
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

from turnlog.commands.shared import Add, add_data, count, log_of, say, settings_of, with_store
from turnlog.errors import ConfigError, NotStored, StoreUnusable
from turnlog.events.kinds import UserMessageSent
from turnlog.ports import Evidence, Store

TRAIL = "audit_reads"  # in the place of a session: the trail of what auditors read


def verify(args: argparse.Namespace) -> int:
    """Prove one session or all of them; 1 when anything is off."""
    from turnlog.projections.proof import prove

    seals = settings_of(args).seals
    kept = _heads_of(args.heads) if args.heads else {}

    async def run(store: Store) -> int:
        store.seals = seals
        ids = [args.session] if args.session else await store.session_ids()
        events = bad = claims = erased = 0
        for session_id in ids:
            evidence = await _evidence(store, session_id, args.session)
            if evidence is None:
                bad += 1
                continue
            proof = prove(evidence, seals)
            problems = [*proof.problems, *_unlike_head(evidence, kept)]
            events += proof.count
            bad += bool(problems)
            erased += len(proof.erased)
            for problem in problems:
                say(f"{session_id}  {problem}")
            claims += _say_claims(evidence) if args.claims else 0
        broken = [each async for each in _file_problems(args, store)]
        for problem in broken:
            say(problem)
        flaws = [] if args.session else [*_gone(ids, kept), *await _flaws(store, kept)]
        for flaw in flaws:
            say(f"store  {flaw}")
        verdict = "ok" if not bad else f"{bad} not ok"
        verdict += f", {count(len(broken), 'problem')} with files" if broken else ""
        remarks = [f"the content of {erased} was erased"] if erased else []
        remarks += [count(claims, "unfounded claim")] if args.claims else []
        remarks += [f"{count(len(flaws), 'flaw')} of the store"] if flaws else []
        remarks += [f"compared with {count(len(kept), 'head')}"] if kept else []
        say(
            ", ".join(
                [f"{count(len(ids), 'session')}, {count(events, 'event')}: {verdict}", *remarks]
            )
        )
        return 1 if bad or broken or flaws else 0

    return with_store(args, run)


async def _evidence(store: Store, session_id: str, only: str | None) -> Evidence | None:
    """None where it cannot be read, which is said: the other sessions are proven all the same."""
    try:
        return await store.evidence(session_id)
    except (StoreUnusable, NotStored) as error:
        if only:
            raise
        say(f"{session_id}  {error}")
        return None


async def _flaws(store: Store, kept: Mapping[str, tuple[int, str]]) -> list[str]:
    try:
        return [*await store.audit.flaws(), *await _unlike_trail(store, kept)]
    except StoreUnusable as error:
        return [str(error)]


async def _file_problems(args: argparse.Namespace, store: Store) -> AsyncIterator[str]:
    """Of all files, or of those that the session names."""
    from turnlog.files.examination import examine, examine_attached
    from turnlog.projections.proof import readable
    from turnlog.stores.files.urls import blobs_beside

    settings = settings_of(args)
    # It is not opened: that would make folders, and remove what is left of uploads.
    blobs = blobs_beside(settings.store_url, settings.files_url, settings.data)
    if not args.session:
        async for problem in examine(store.files, blobs):
            yield problem
        return
    evidence = await store.evidence(args.session)
    events = [entry.event for entry in readable(evidence.log)[0]]
    facts = [file for e in events if isinstance(e, UserMessageSent) for file in e.files]
    user_id = evidence.session.user_id
    async for problem in examine_attached(facts, user_id, store.files, blobs):
        yield problem


def heads(args: argparse.Namespace) -> int:
    """Print the newest number and seal of every session and of the auditors' trail, to be kept."""

    async def run(store: Store) -> int:
        for session_id in await store.session_ids():
            for row in (await store.evidence(session_id)).log[-1:]:
                say(f"{session_id} {row.seq} {row.seal.hex()}")
        for number, seal in list((await _trail(store)).items())[-1:]:
            say(f"{TRAIL} {number} {seal.hex()}")
        return 0

    return with_store(args, run)


def _heads_of(path: str) -> dict[str, tuple[int, str]]:
    """What `turnlog heads` printed. Raises ConfigError for a file that is something else."""
    try:
        lines = [line.split() for line in Path(path).read_text().splitlines() if line.strip()]
        return {session_id: (int(seq), seal) for session_id, seq, seal in lines}
    except OSError as error:
        raise ConfigError(f"{path!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise ConfigError(f"{path!r} does not hold what `turnlog heads` prints.") from None


def _unlike_head(evidence: Evidence, kept: Mapping[str, tuple[int, str]]) -> list[str]:
    from turnlog.projections.proof import unlike_head

    head = kept.get(evidence.session.id)
    seals = {row.seq: row.seal for row in evidence.log}
    problem = unlike_head(seals, *head) if head else None
    return [f"head: {problem}"] if problem else []


async def _unlike_trail(store: Store, kept: Mapping[str, tuple[int, str]]) -> list[str]:
    """The same of what auditors have read: its newest rows could be taken off unseen."""
    from turnlog.projections.proof import unlike_head

    head = kept.get(TRAIL)
    problem = unlike_head(await _trail(store), *head) if head else None
    return [f"{TRAIL}: {problem}"] if problem else []


async def _trail(store: Store) -> dict[int, bytes]:
    """The seals of what auditors have read, by number."""
    from turnlog.stores.sql.store import SqlStore

    assert isinstance(store, SqlStore)  # one in memory cannot be looked at from here
    return {row["number"]: bytes(row["seal"]) for row in await store.audit.trail()}


def _gone(ids: Collection[str], kept: Mapping[str, tuple[int, str]]) -> list[str]:
    gone = sorted(kept.keys() - {*ids, TRAIL})
    return [f"the session {id!r} is gone, which was there when the heads were kept" for id in gone]


def _say_claims(evidence: Evidence) -> int:
    """Check every turn that is over again, by the rules of today."""
    from turnlog.projections.claims import by_turn
    from turnlog.projections.proof import readable

    log = [entry for entry in readable(evidence.log)[0] if entry.turn_id not in evidence.running]
    found = by_turn(log)
    for entry, finding in found:
        where = f"turn {entry.turn_id} number {entry.seq}"
        say(f"{entry.session_id}  claim: {where}: {finding.claim!r} {finding.why}")
    return len(found)


def replay(args: argparse.Namespace) -> int:
    """Play a session back in the terminal."""
    from turnlog.terminal.replay import play

    if not 0 <= args.speed < math.inf:
        raise ConfigError(f"'--speed' must be 0 or more, not {args.speed}.")

    async def run(store: Store) -> int:
        await play(await log_of(store, args.session), say, to=args.to, speed=args.speed)
        return 0

    return with_store(args, run)


def export(args: argparse.Namespace) -> int:
    """Print a session: every kept event as a line of JSON, or as a page to read."""
    from turnlog.terminal.export import as_jsonl, as_markdown

    async def run(store: Store) -> int:
        log = await log_of(store, args.session)
        say(as_jsonl(log) if args.format == "jsonl" else as_markdown(log))
        return 0

    return with_store(args, run)


def migrate(args: argparse.Namespace) -> int:
    """Bring the database up to date. No server may be working there."""
    from turnlog.stores.urls import open_store

    url = settings_of(args).store_url
    scheme, _, folder = url.partition(":")
    is_new = scheme == "sqlite" and not (Path(folder) / "turnlog.db").exists()

    async def run() -> int:
        async with open_store(url, server="turnlog migrate"):
            made = f"There was no database in {folder!r}: a new one is made."
            say(made if is_new else "The database is up to date.")
        return 0

    return asyncio.run(run())


def register(add: Add) -> None:
    parser = add(verify)
    parser.add_argument("session", nargs="?", metavar="SESSION", help="default: all")
    about = (
        "also name claims of answers that no tool result bears out; the exit code is the proof's"
    )
    parser.add_argument("--claims", action="store_true", help=about)
    kept = "compare with what `turnlog heads` printed into this file"
    parser.add_argument("--heads", metavar="FILE", help=kept)
    add_data(parser)
    add_data(add(heads))
    parser = add(replay)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--to", type=int, metavar="SEQ", help="stop after this number")
    parser.add_argument("--speed", type=float, default=0, help="1: as it was; 0: at once")
    add_data(parser)
    parser = add(export)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--format", choices=["jsonl", "md"], default="jsonl")
    add_data(parser)
    add_data(add(migrate))
