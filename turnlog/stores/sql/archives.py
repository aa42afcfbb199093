"""Contents of closed sessions in compressed files, beside any SQL database.

A row of the log never leaves the database: it keeps its number, its digest and its seal there, so
that no archive can shorten or change a log. Its body moves into a file and back. Bills, budgets,
approvals and the list of sessions do not need the bodies, and stay as they are.

Each step leaves the log whole: first the name of the file is noted; then the file is written,
synced and read again; then one transaction notes where it is and empties the bodies. What a
process leaves that dies meanwhile is removed by a later one, by the note. A file that has no note
is never touched: another database may have its archives in the same place.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from turnlog.errors import ArchiveMissing, ConfigError, NotFound
from turnlog.events.clock import in_seconds, now
from turnlog.events.rows.record import NO_SEAL, Record, has_its_body
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead, Blobs
from turnlog.stores import texts
from turnlog.stores.archive import Damaged, pack, unpack
from turnlog.stores.sql.audit import add_read
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL, insert
from turnlog.stores.sql.tables import log, sessions

MOST = 1000  # rows in one archive, so that a page of a long log does not open all of it
LARGEST = 4_000_000  # bytes of bodies in one archive, but for one row that has more
NOBODY = ""  # as the owner of a file that is being made or removed
LATEST = 86_400.0  # seconds after which a process that was taken for dead writes no file any more
FORGET = "forget_file_of_archive"
Works = Callable[[Connection, Collection[str]], Collection[str]]  # those of the owners that live


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
        self,
        look: OnConnection,
        change: OnConnection,
        seals: Callable[[], Seals],
        me: str,
        works: Works,
    ) -> None:
        """`me`: the name of this process; `works`: which of such processes live."""
        self._look = look
        self._change = change
        self._seals = seals
        self._me = me
        self._works = works
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
        archives = await self._look(lambda db: archives_of(db, session_id))
        for archive in reversed(archives):
            await self._restore_one(archive, by)
        return archives

    async def sweep(self) -> int:
        """Remove what dead processes left of archives. How many they began and did not finish."""
        begun = 0
        for file in await self._look(lambda db: _unneeded(db, self._me, self._works)):
            if await self._remove(file) and file.owner != NOBODY:
                begun += 1
        return begun

    async def _remove(self, file: "_File") -> bool:
        """Unless it was finished meanwhile. Its maker, if it lives after all, may not finish it;
        it may still write it, so that the note stays for a while.
        """
        if not await self._change(lambda db: _done(db, "disown_file", file)):
            return False
        await self._writable().delete(file.place)
        if file.owner == self._me or file.noted_at < in_seconds(-LATEST):
            await self._change(lambda db: _done(db, FORGET, file._replace(owner=NOBODY)))
        return True

    async def _part(self, session_id: str, after: int) -> "_Part":
        return await self._look(lambda db: _next(db, session_id, after))

    async def _make_one(self, part: "_Part", by: str) -> Archive:
        archive, file = await asyncio.to_thread(_packed, part)
        noted = _File(archive.place, archive.session_id, self._me, now())
        await self._change(lambda db: _note_file(db, noted))
        try:
            await self._finish(part, archive, file, noted, by)
        except Exception:
            await self._remove(noted)
            raise
        return archive

    async def _finish(
        self, part: "_Part", archive: Archive, file: bytes, noted: "_File", by: str
    ) -> None:
        blobs = self._writable()
        async with blobs.incoming() as folder:
            path = folder / "archive"
            await asyncio.to_thread(path.write_bytes, file)
            await blobs.put(archive.place, "original", path)
        bodies = await self._bodies(archive)
        if any(_moves(row) and not _whole(row, bodies) for row in part.rows):
            raise ArchiveMissing(archive.session_id)
        await self._change(lambda db: _move(db, archive, noted, by, self._seals()))

    async def _restore_one(self, archive: Archive, by: str) -> None:
        blobs, bodies = self._writable(), await self._bodies(archive)
        noted = _File(archive.place, archive.session_id, NOBODY, now())

        def bring_back(db: Connection) -> None:
            _bring_back(db, archive, bodies, by, self._seals())
            _note_file(db, noted)

        await self._change(bring_back)
        await blobs.delete(archive.place)
        await self._change(lambda db: _done(db, FORGET, noted))

    async def filled(self, rows: Sequence[Record]) -> list[Record]:
        """The same rows of one session with their bodies, as far as the archives have them."""
        needy = [row for row in rows if row.is_archived]
        bodies: dict[int, bytes] = {}
        for archive in await self._look(lambda db: archives_of(db, needy[0].session_id)):
            if any(archive.has(row) for row in needy):
                bodies |= await self._bodies(archive)
        return await asyncio.to_thread(
            lambda: [(_whole(row, bodies) or row) if row.is_archived else row for row in rows]
        )

    async def said(self, user_id: str, archived: bool, search: str) -> set[str]:
        """Sessions of the user in whose archives the words are, within the bounds of a search."""
        if not search:
            return set()
        asked = {"user_id": user_id, "archived": archived} | texts.BOUNDS
        rows = await self._look(lambda db: list(db.execute(SQL["list_newest_archives"], asked)))
        found: set[str] = set()
        size = 0
        for archive in map(Archive._make, rows):
            size += archive.unpacked
            if size > texts.BOUNDS["size"]:
                break
            if archive.session_id not in found:
                bodies = await self._bodies(archive, texts.SAID)
                said = [(archive.session_id, body) for body in bodies.values()]
                found |= await asyncio.to_thread(texts.sessions_with, search, said)
        return found

    async def _bodies(self, archive: Archive, types: Collection[str] = ()) -> dict[int, bytes]:
        """By their numbers; nothing where the file is not there, or is not what was written."""
        try:
            if self.blobs is None:
                return {}
            file = await self.blobs.read(archive.place, "original")
            if _place(archive.session_id, file) != archive.place:
                return {}
            return await asyncio.to_thread(unpack, file, archive.unpacked, types)
        except (NotFound, Damaged):
            return {}

    def _writable(self) -> Blobs:
        if self.blobs is None:
            raise ConfigError("There is no place for archives. Set files_url to one.")
        return self.blobs


class _File(NamedTuple):
    """A file that is being made or removed. The order of the fields is that of the columns."""

    place: str
    session_id: str
    owner: str
    noted_at: str


def _note_file(db: Connection, file: _File) -> None:
    db.execute(insert("archiving", _File._fields), file._asdict())


def _done(db: Connection, statement: str, file: _File) -> bool:
    """Whether there was something to do."""
    return db.execute(SQL[statement], file._asdict()).fetchone() is not None


def _unneeded(db: Connection, me: str, works: Works) -> list[_File]:
    files = [_File._make(row) for row in db.execute(SQL["list_archiving"])]
    others = {file.owner for file in files} - {me, NOBODY}
    living = {me, *(works(db, others) if others else ())}
    return [file for file in files if file.owner not in living]


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
    archives = archives_of(db, session_id)
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


def archives_of(db: Connection, session_id: str) -> list[Archive]:
    rows = db.execute(SQL["list_archives"], {"session_id": session_id})
    return [Archive._make(row) for row in rows]


def _move(db: Connection, archive: Archive, noted: _File, by: str, seals: Seals) -> None:
    db.lock(archive.session_id)
    if not _done(db, FORGET, noted):
        raise ConfigError("Another process took this one for dead. Run the command again.")
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
