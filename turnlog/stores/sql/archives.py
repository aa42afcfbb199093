"""Contents of closed sessions in compressed files, beside any SQL database.

A row of the log never leaves the database: it keeps its number, its digest and its seal there, so
that no archive can shorten or change a log. Its body moves into a file and back. Bills, budgets,
approvals and the list of sessions do not need the bodies, and stay as they are.

Each step leaves the log whole: first the file is written, synced and read again; then one
transaction notes where it is and empties the bodies. A process that dies between the two has left
a file that nobody needs.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from turnlog.errors import ArchiveMissing, ConfigError, NotFound
from turnlog.events.clock import now
from turnlog.events.record import NO_SEAL, Record, has_its_body
from turnlog.events.seal import Seals
from turnlog.ports import AuditRead, Blobs
from turnlog.stores.archive import Damaged, pack, unpack
from turnlog.stores.sql import log, sessions
from turnlog.stores.sql.attached import OnConnection
from turnlog.stores.sql.audit import add_read
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL, insert

MOST = 1000  # rows in one archive, so that a page of a long log does not open all of it
LARGEST = 4_000_000  # bytes of bodies in one archive, but for one row that has more


class Archive(NamedTuple):
    """One file, and whose contents are in it. The order of the fields is that of the columns."""

    session_id: str
    first_seq: int
    last_seq: int
    place: str
    size: int
    unpacked: int
    made_at: str

    def has(self, row: Record) -> bool:
        return self.first_seq <= row.seq <= self.last_seq


class SqlArchives:
    """Makes archives, reads them, and brings back what is in them."""

    def __init__(
        self, look: OnConnection, change: OnConnection, seals: Callable[[], Seals]
    ) -> None:
        self._look = look
        self._change = change
        self._seals = seals
        self.blobs: Blobs | None = None  # where the files are; None: nowhere

    @property
    def url(self) -> str:
        return self._writable().url

    async def closed(self, before: str) -> list[str]:
        """Sessions that are archived, and where nothing went on since then."""
        values = {"before": before}
        return await self._look(
            lambda db: [row[0] for row in db.execute(SQL["list_closed_sessions"], values)]
        )

    async def sessions(self) -> list[str]:
        """Those that have archives."""
        return await self._look(
            lambda db: [row[0] for row in db.execute(SQL["list_archived_sessions"])]
        )

    async def make(self, session_id: str, by: str) -> list[Archive]:
        """Move what is not in an archive yet. `by`: who does it, for the trail.

        Raises ConfigError where the session is not archived, or something goes on in it.
        """
        made: list[Archive] = []
        await self._look(lambda db: _refuse_open(db, session_id))
        after = await self._look(lambda db: _last(db, session_id))
        while (part := await self._part(session_id, after)).rows:
            if any(_moves(row) for row in part.rows):
                made.append(await self._make_one(part, by))
            after = part.rows[-1].seq
        return made

    async def restore(self, session_id: str, by: str) -> list[Archive]:
        """Bring everything back into the log, then remove the files. Raises ArchiveMissing."""
        archives = await self._look(lambda db: _list(db, session_id))
        for archive in reversed(archives):
            await self._restore_one(archive, by)
        return archives

    async def _part(self, session_id: str, after: int) -> "_Part":
        return await self._look(lambda db: _next(db, session_id, after))

    async def _make_one(self, part: "_Part", by: str) -> Archive:
        blobs = self._writable()
        archive, file = await asyncio.to_thread(_packed, part)
        async with blobs.incoming() as folder:
            path = folder / "archive"
            await asyncio.to_thread(path.write_bytes, file)
            await blobs.put(archive.place, "original", path)
        bodies = await self._bodies(archive)
        if any(_moves(row) and not _whole(row, bodies) for row in part.rows):
            raise ArchiveMissing(archive.session_id)
        await self._change(lambda db: _move(db, archive, by, self._seals()))
        return archive

    async def _restore_one(self, archive: Archive, by: str) -> None:
        blobs, bodies = self._writable(), await self._bodies(archive)
        await self._change(lambda db: _bring_back(db, archive, bodies, by, self._seals()))
        await blobs.delete(archive.place)

    async def filled(self, rows: Sequence[Record]) -> list[Record]:
        """The same rows of one session with their bodies, as far as the archives have them."""
        needy = [row for row in rows if row.is_archived]
        bodies: dict[int, bytes] = {}
        for archive in await self._look(lambda db: _list(db, needy[0].session_id)):
            if any(archive.has(row) for row in needy):
                bodies |= await self._bodies(archive)
        return await asyncio.to_thread(
            lambda: [(_whole(row, bodies) or row) if row.is_archived else row for row in rows]
        )

    async def _bodies(self, archive: Archive) -> dict[int, bytes]:
        """By their numbers; nothing where the file is not there, or is not what was written."""
        try:
            if self.blobs is None:
                return {}
            file = await self.blobs.read(archive.place, "original")
            if _place(archive.session_id, file) != archive.place:
                return {}
            return await asyncio.to_thread(unpack, file, archive.unpacked)
        except (NotFound, Damaged):
            return {}

    def _writable(self) -> Blobs:
        if self.blobs is None:
            raise ConfigError("There is no place for archives. Set files_url to one.")
        return self.blobs


class _Part(NamedTuple):
    """Rows for one archive, and what comes before them."""

    user_id: str
    before: bytes
    rows: list[Record]


def _refuse_open(db: Connection, session_id: str) -> None:
    session = sessions.find(db, None, session_id)
    if not session.archived:
        raise ConfigError(
            f"The session {session_id!r} is not archived: its user may go on with it."
        )
    waits = db.execute(SQL["list_line"], {"session_id": session_id}).fetchone()
    if session.state != "idle" or waits is not None:
        raise ConfigError(f"In the session {session_id!r} a turn is not over. Try again later.")


def _last(db: Connection, session_id: str) -> int:
    archives = _list(db, session_id)
    return archives[-1].last_seq if archives else -1


def _next(db: Connection, session_id: str, after: int) -> _Part:
    user_id = sessions.find(db, None, session_id).user_id
    rows = log.records_of(db, session_id, after=max(after - 1, -1), limit=MOST + 1)
    before = rows.pop(0).seal if after >= 0 and rows else NO_SEAL
    size = 0
    taken: list[Record] = []
    for row in rows[:MOST]:
        size += len(row.body)
        if taken and size > LARGEST:
            break
        taken.append(row)
    return _Part(user_id, before, taken)


def _packed(part: _Part) -> tuple[Archive, bytes]:
    # Never the place of an archive before: whoever restores that one may be removing it just now.
    file, unpacked = pack(uuid4().hex, *part)
    first, last = part.rows[0], part.rows[-1]
    place = _place(first.session_id, file)
    return Archive(first.session_id, first.seq, last.seq, place, len(file), unpacked, now()), file


def _place(session_id: str, file: bytes) -> str:
    return f"{sha256(session_id.encode()).hexdigest()[:32]}/{sha256(file).hexdigest()}"


def _moves(row: Record) -> bool:
    """A row of an old form is sealed with its body, and keeps it."""
    return bool(row.body) and bool(row.digest) and bool(row.salt)


def _whole(row: Record, bodies: Mapping[int, bytes]) -> Record | None:
    """With its body, if that is the one that was written."""
    filled = row._replace(body=bodies.get(row.seq, b""))
    return filled if filled.body and has_its_body(filled) else None


def _list(db: Connection, session_id: str) -> list[Archive]:
    rows = db.execute(SQL["list_archives"], {"session_id": session_id})
    return [Archive._make(row) for row in rows]


def _move(db: Connection, archive: Archive, by: str, seals: Seals) -> None:
    db.lock(archive.session_id)
    _refuse_open(db, archive.session_id)
    if _last(db, archive.session_id) >= archive.first_seq:
        raise ConfigError(f"Somebody else archives the session {archive.session_id!r} too.")
    values: dict[str, Any] = archive._asdict()
    db.execute(insert("archives", Archive._fields), values)
    db.execute(SQL["move_bodies"], values | {"nothing": b""})
    _note(db, archive, "archived", by, seals)


def _bring_back(
    db: Connection, archive: Archive, bodies: Mapping[int, bytes], by: str, seals: Seals
) -> None:
    db.lock(archive.session_id)
    bounds = {"after": archive.first_seq - 1, "limit": archive.last_seq - archive.first_seq + 1}
    for row in log.records_of(db, archive.session_id, **bounds):
        if row.is_archived:
            whole = _whole(row, bodies)
            if whole is None:
                raise ArchiveMissing(archive.session_id)
            key = {"session_id": row.session_id, "seq": row.seq}
            db.execute(SQL["bring_body_back"], key | {"body": whole.body})
    db.execute(SQL["forget_archive"], archive._asdict())
    _note(db, archive, "restored", by, seals)


def _note(db: Connection, archive: Archive, what: str, by: str, seals: Seals) -> None:
    """Who did it is in the audit's trail for good."""
    what = f"{what} the numbers {archive.first_seq} to {archive.last_seq}"
    read = AuditRead(at=now(), auditor=by, session_id=archive.session_id, what=what)
    add_read(db, read, seals)
