"""`turnlog doctor`: what is wrong with this installation, and what to do about it."""

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from turnlog.commands.shared import (
    Add,
    add_app,
    add_data,
    count,
    load_app,
    say,
    server_of,
    settings_of,
)
from turnlog.config import ENVIRONMENT, Settings, refuse_open_door
from turnlog.errors import ConfigError, NotFound, TurnlogError
from turnlog.net import is_on_loopback
from turnlog.transports.access.jwks import Issuer, Unusable, keys_of

LEAST_FREE, LITTLE_FREE = 100_000_000, 1_000_000_000  # bytes
MOST_DRIFT = 60.0  # seconds
ANSWERS_WITHIN = 5.0


class Finding(NamedTuple):
    """What a check found: a sentence, which says what to do unless all is well."""

    state: Literal["ok", "warn", "bad"]
    name: str
    sentence: str


class Subject(NamedTuple):
    """What is examined."""

    app: Any
    settings: Settings
    data: str | None = None  # what --data names


Check = Callable[[Subject], list[Finding] | Awaitable[list[Finding]]]


def doctor(args: argparse.Namespace) -> int:
    """Check configuration, database, model access, MCP servers, clock and disk; 1 if bad."""
    if args.data is not None:
        os.environ["TURNLOG_DATA"] = args.data
    settings_of(args, whole=True)  # they are checked before anything is loaded
    app = load_app(args.app)
    return asyncio.run(_examine(Subject(app, app.settings, args.data)))


async def _examine(subject: Subject) -> int:
    bad = 0
    for check in CHECKS:
        found = check(subject)
        for finding in await found if isinstance(found, Awaitable) else found:
            say(f"{finding.state:5} {finding.name:15} {finding.sentence}")
            bad += finding.state == "bad"
    say("All is well." if not bad else f"{bad} to repair.")
    return 1 if bad else 0


def _configuration(subject: Subject) -> list[Finding]:
    given = [name for name in ENVIRONMENT if os.environ.get(name)]
    if subject.data is not None:  # this command has put it into the environment
        given = ["--data", *(name for name in given if name != "TURNLOG_DATA")]
    file = "turnlog.toml" if Path("turnlog.toml").exists() else "no turnlog.toml here"
    return [Finding("ok", "configuration", ", ".join([file, *given]))]


async def _users(subject: Subject) -> list[Finding]:
    settings = subject.settings
    try:
        refuse_open_door(settings)
    except ConfigError as error:
        return [Finding("bad", "users", str(error))]
    if (issuer := settings.issuer) is not None:
        return [await _provider(issuer)]
    if settings.auth_secret:
        return [Finding("ok", "users", "signed in by tokens of our own secret")]
    return [Finding("ok", "users", "one local user, without a token, on this machine only")]


async def _provider(issuer: Issuer) -> Finding:
    """Nobody can sign in while its keys are unknown."""
    try:
        keys = await keys_of(issuer)
    except Unusable as error:
        why = f"{issuer.name} does not give its keys: {error} Check 'auth_issuer', 'auth_jwks_url'."
        return Finding("bad", "users", why)
    if not keys:
        why = f"{issuer.name} has no key that can be used (RS256, ES256 or EdDSA, with a 'kid')."
        return Finding("bad", "users", why)
    return Finding(
        "ok", "users", f"signed in by {issuer.name}, which has {count(len(keys), 'key')}"
    )


def _folder(subject: Subject) -> list[Finding]:
    place = _existing(Path(subject.settings.data))
    if problem := _folder_problem(place):
        return [Finding("bad", "folder", problem)]
    free = shutil.disk_usage(place).free
    sentence = f"{free / 1e9:.1f} GB are free at {str(place)!r}"
    if free < LEAST_FREE:
        return [Finding("bad", "disk", f"{sentence}: make room before anything is lost.")]
    if free < LITTLE_FREE:
        return [Finding("warn", "disk", f"{sentence}: make room soon.")]
    return [Finding("ok", "disk", sentence)]


def _files(subject: Subject) -> list[Finding]:
    """Nodes share a PostgreSQL, and not their disks."""
    settings = subject.settings
    if settings.files_url or not settings.store_url.startswith("postgresql:"):
        return []
    place = str(Path(settings.data) / "files")
    why = f"they are in {place!r}, which other nodes do not see. Set 'files_url' for all of them."
    return [Finding("warn", "files", why)]


def _existing(folder: Path) -> Path:
    """The folder, or the one in which it would be made."""
    folder = folder.absolute()
    return next(each for each in (folder, *folder.parents) if os.path.exists(each))


def _folder_problem(place: Path) -> str | None:
    if not place.is_dir():
        return f"{str(place)!r} is not a folder. Name a folder with --data."
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return f"{str(place)!r} cannot be written: {error.strerror}. Change its owner, or --data."
    return None


def _is_out_of_reach(url: str) -> bool:
    """SQLite needs a folder to write to, also to read what is there."""
    scheme, _, folder = url.partition(":")
    return scheme == "sqlite" and _folder_problem(_existing(Path(folder))) is not None


async def _database(subject: Subject) -> list[Finding]:
    from turnlog.stores.urls import open_store

    url = subject.app.store.url
    if url == "memory:":
        sentence = "in memory: everything is gone when the server ends"
        return [Finding("warn", "database", sentence)]
    if _is_out_of_reach(url):
        sentence = f"{url}: not looked at, its folder cannot be used. Repair the folder first."
        return [Finding("warn", "database", sentence)]
    try:
        # What an app names its store by has no password.
        async with open_store(
            getattr(subject.app.store, "secret_url", url), read_only=True
        ) as store:
            sessions = count(len(await store.session_ids()), "session")
    except NotFound:
        return [Finding("ok", "database", f"{url}: none yet, the first start makes it")]
    except TurnlogError as error:
        return [Finding("bad", "database", str(error))]
    if problem := await asyncio.to_thread(_file_problem, url):
        advice = "Stop the server, keep a copy, and restore a backup."
        return [Finding("bad", "database", f"{url}: {problem}. {advice}")]
    return [Finding("ok", "database", f"{url}: {sessions}; `turnlog verify` proves them")]


def _file_problem(url: str) -> str | None:
    from turnlog.stores.sqlite.health import problem_of

    scheme, _, folder = url.partition(":")
    return problem_of(Path(folder) / "turnlog.db") if scheme == "sqlite" else None


async def _live(subject: Subject) -> list[Finding]:
    """What is between the nodes."""
    url = subject.settings.redis_url
    if url is None:
        return []
    from turnlog.buses.redis.servers import connect
    from turnlog.buses.stream import Away, Unfit

    try:
        servers = await connect({url})
    except Unfit as error:
        return [Finding("bad", "live events", str(error))]
    except Away as error:
        why = f"{error}: they come by the log, whole messages at once. Check 'redis_url'."
        return [Finding("warn", "live events", why)]
    await servers.commands.aclose()
    return [Finding("ok", "live events", "Redis answers")]


async def _port(subject: Subject) -> list[Finding]:
    from turnlog.transports.listening import listening

    settings = subject.settings
    if (address := server_of(settings)) is not None:
        if (status := await _ask(f"{address}/healthz")) and status[0] == 200:
            return [Finding("ok", "port", f"the server of this folder answers at {address}")]
        why = f"The server of this folder does not answer at {address}: see its log, or stop it."
        return [Finding("bad", "port", why)]
    try:
        for each in listening(settings.host, settings.port):
            each.close()
    except ConfigError as error:
        if (status := await _ask(f"{settings.address}/healthz")) and status[0] == 200:
            sentence = f"a server of another folder answers at {settings.address}"
            return [Finding("ok", "port", sentence)]
        return [Finding("bad", "port", str(error))]
    return [Finding("ok", "port", f"{settings.address} is free")]


async def _others(subject: Subject) -> list[Finding]:
    """The model, the MCP servers and the connections."""
    found = await subject.app.examine()
    return [
        Finding("ok" if well else _weight(name), name, sentence + ("" if well else _advice(name)))
        for name, (well, sentence) in found.items()
    ]


def _weight(name: str) -> Literal["warn", "bad"]:
    return "warn" if name.startswith("mcp ") else "bad"  # turns go on without its tools


def _advice(name: str) -> str:
    if name == "model":
        return " Check ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and the setting 'model'."
    if name.startswith("mcp "):
        return (
            ". Is it running, and is its address right? A program that ends at once has said why"
            " on stderr. Turns go on without its tools."
        )
    return ""


def _prices(subject: Subject) -> list[Finding]:
    from turnlog.events.clock import now
    from turnlog.prices import PriceBook

    settings = subject.settings
    try:
        price = PriceBook.of(settings.prices).price(settings.model, now())
    except TurnlogError as error:
        return [Finding("bad", "prices", str(error))]
    if price is None:
        why = f"nothing is known of {settings.model!r}: costs are unknown. Name it in 'prices'."
        return [Finding("warn", "prices", why)]
    return [Finding("ok", "prices", f"the price of {settings.model} is known")]


async def _clock(subject: Subject) -> list[Finding]:
    """Tokens, tickets and approvals expire by it."""
    drifts = _ahead(subject.app.store.url)
    if not subject.settings.simulated:
        drifts += await _off(subject.settings.base_url or "https://api.anthropic.com")
    if not drifts:
        return [Finding("ok", "clock", "agrees with what could be compared")]
    return [Finding("bad", "clock", f"{each} Set the clock (NTP).") for each in drifts]


def _ahead(url: str) -> list[str]:
    """Files that were written in the future: the clock has been set back."""
    late = [(file, file.stat().st_mtime - time.time()) for file in _database_files(url)]
    return [
        f"{file.name} was written {ahead:.0f} seconds in the future."
        for file, ahead in late
        if ahead > MOST_DRIFT
    ]


async def _off(url: str) -> list[str]:
    answer = await _ask(url)
    with suppress(TypeError, ValueError):
        theirs = parsedate_to_datetime((answer or (0, ""))[1])
        drift = (datetime.now(UTC) - theirs).total_seconds()
        if abs(drift) > MOST_DRIFT:
            return [f"It is {drift:+.0f} seconds off the provider's."]
    return []


def _database_files(url: str) -> Iterator[Path]:
    scheme, _, folder = url.partition(":")
    file = Path(folder) / "turnlog.db"
    if scheme == "sqlite" and os.path.exists(file):  # False where nobody may look
        yield file


async def _ask(url: str) -> tuple[int, str] | None:
    """Status and Date of whoever answers there; None: nobody."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=ANSWERS_WITHIN)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=not is_on_loopback(url)) as http,
            http.get(url, allow_redirects=False) as response,
        ):
            return response.status, response.headers.get("date", "")
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None


CHECKS: tuple[Check, ...] = (
    _configuration,
    _users,
    _folder,
    _files,
    _database,
    _live,
    _port,
    _prices,
    _clock,
    _others,
)


def register(add: Add) -> None:
    parser = add(doctor)
    add_app(parser)
    add_data(parser)
