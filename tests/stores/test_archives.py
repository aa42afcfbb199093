"""Contents of closed sessions in compressed files: everything reads as before, and comes back."""

import asyncio
import gzip
import sqlite3
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from stores.archived import Archived, OnPostgres, OnSqlite, close
from stores.evidence import stored

from turnlog.cli import main
from turnlog.errors import ArchiveMissing, ConfigError
from turnlog.events import kinds as k
from turnlog.events.rows.seal import Seals
from turnlog.projections.proof import prove
from turnlog.stores import texts
from turnlog.stores.files.urls import archives_beside
from turnlog.stores.sql import archives
from turnlog.stores.texts import BOUNDS
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import said

COMMANDS = (["verify"], ["verify", "s"], ["replay", "s"], ["export", "s"], ["bill"], ["heads"])
TOUCHED = (  # what nobody may do to a log, whether it has archives or not
    "UPDATE events SET body = ''",
    "UPDATE events SET body = 'x', seal = 'x'",
    "UPDATE events SET salt = NULL",
    "UPDATE events SET type = 'message', body = 'x'",
    "DELETE FROM events",
    "UPDATE archives SET place = 'elsewhere'",
    "DELETE FROM archives",
    "INSERT INTO archives SELECT session_id, last_seq, last_seq + 5, place, size, unpacked,"
    " made_at FROM archives",
)


class Archives(Archived):
    """What every store with archives does."""

    async def test_an_erased_session_has_no_archive_any_more(self, store, closed, tmp_path):
        await store.archives.make("s", "eve")
        assert await store.erase("s", "eve") == len(closed.log)
        assert await store.archives.sessions() == await store.audit.flaws() == []
        assert [each for each in (tmp_path / "archives").rglob("*") if each.is_file()] == []
        proof = prove(await store.evidence("s"))
        assert (proof.problems, len(proof.erased)) == ([], len(closed.log))

    async def test_a_session_that_somebody_has_left_unprotected_is_told(self, store, closed):
        await self.execute(store, "INSERT INTO erasing VALUES ('s')")
        flaws = ["erasing: what the session 's' says is not protected"]
        assert await store.audit.flaws() == flaws
        await store.erase("s", "eve")
        assert await store.audit.flaws() == []

    async def test_a_session_reads_the_same_from_its_archive(self, store, closed, tmp_path):
        reads = await everything(store)
        (archive,) = await store.archives.make("s", "eve")
        assert {row.body for row in await self.rows(store)} == {b""}
        assert await stored(store, "s") == closed
        assert await everything(store) == reads
        assert await store.audit.flaws() == []
        assert (await store.audit.reads())[0].what == "archived the numbers 0 to 6"
        file = (tmp_path / "archives" / "content").joinpath(
            archive.place[:2], archive.place, "original"
        )
        first, *lines = map(msgspec.json.decode, gzip.decompress(file.read_bytes()).split(b"\n"))
        assert (first["session_id"], first["user_id"]) == ("s", "alice")
        assert [line["seal"] for line in lines] == [row.seal.hex() for row in closed.log]

        assert await store.archives.restore("s", "eve") == [archive]
        assert await self.rows(store) == closed.log
        assert not file.exists()
        assert await store.archives.sessions() == await store.archives.restore("s", "eve") == []
        assert (await store.audit.reads())[0].what == "restored the numbers 0 to 6"

    async def test_an_archive_is_bounded_and_the_next_one_goes_on(self, store, closed, monkeypatch):
        monkeypatch.setattr(archives, "MOST", 3)
        made = await store.archives.make("s", "eve")
        assert [(each.first_seq, each.last_seq) for each in made] == [(0, 2), (3, 5), (6, 6)]
        await store.update_session("alice", "s", archived=False)
        turn = await store.begin_turn(s.new_turn("next"), s.placed(s.asked("Again.")))
        await store.append(turn, said(1))
        await store.finish_turn(turn)
        monkeypatch.setattr(archives, "LARGEST", 1)
        await store.update_session("alice", "s", archived=True)
        made = await store.archives.make("s", "eve")
        assert [(each.first_seq, each.last_seq) for each in made] == [(7, 7), (8, 8)]
        evidence = await store.evidence("s")
        assert prove(evidence).problems == []
        assert evidence.log[:7] == closed.log
        assert [e.seq for e in await store.tail("alice", "s", limit=3)] == [6, 7, 8]
        assert len(await store.archives.restore("s", "eve")) == 5
        assert await self.rows(store) == evidence.log

    async def test_a_search_looks_into_archives(self, store, monkeypatch):
        for number, name in enumerate("abc"):
            words = [f"The goose of {name}.", "A secret thought."]
            await store.create_session(
                replace(s.new_session(name), created_at=f"2026-11-15T11:00:0{number}.000Z")
            )
            turn = await store.begin_turn(s.new_turn(name, name), s.placed(s.asked(words[0])))
            thought = k.Thinking(message_id="m", block_index=0, content=words[1], duration=1)
            await store.append(turn, s.placed(thought, s.said("Quack.")))
            await store.finish_turn(turn)
            await store.update_session("alice", name, archived=True)
            await store.archives.make(name, "eve")

        async def found(search, **more):
            listed = await store.list_sessions(
                "alice", limit=9, archived=True, search=search, **more
            )
            active = await store.list_active_sessions(
                "alice", limit=9, archived=True, search=search
            )
            assert {each.id for each in listed} <= {each.id for each in active}
            return "".join(each.id for each in listed)

        assert [await found(words) for words in ("GOOSE", "goose of b", "quack", "secret")] == [
            "cba", "b", "cba", ""
        ]  # fmt: skip
        assert await found("goose", after="c") == "ba"
        assert await store.list_sessions("bob", limit=9, archived=True, search="goose") == []
        assert await store.list_sessions("alice", limit=9, search="goose") == []
        (newest,) = await store._look(lambda db: archives.archives_of(db, "c"))
        assert await store.reaches_all("alice", archived=True)
        for bound in ({"archives": 1}, {"size": newest.unpacked + 9}, {"sessions": 1}):
            monkeypatch.setattr(texts, "BOUNDS", BOUNDS | bound)
            assert await found("goose") == "c"
            assert not await store.reaches_all("alice", archived=True)
            assert await store.reaches_all("alice")

    async def test_nobody_changes_a_log_in_the_name_of_its_archive(self, store, closed):
        await store.archives.make("s", "eve")
        for sql in TOUCHED:
            with pytest.raises(self.REFUSED, match="append-only|archive"):
                await self.execute(store, sql)
        await self.execute(store, "UPDATE events SET body = 'other' WHERE seq = 3")
        assert "number 3 is not what was written" in str(prove(await store.evidence("s")).changed)
        await self.execute(store, "UPDATE events SET body = '' WHERE seq = 3")
        await store.archives.restore("s", "eve")
        assert await stored(store, "s") == closed

    async def test_what_was_erased_comes_back_from_no_archive(self, store, closed):
        """Whether its salt is NULL or empty, and whether it was in the archive or not."""
        await self.erase(store, erased(0, self.NOTHING, "NULL"))
        await self.erase(store, erased(1, "''", self.NOTHING))
        await store.archives.make("s", "eve")
        await self.erase(store, erased(2, self.NOTHING, "NULL"))
        await self.erase(store, erased(3, self.NOTHING, self.NOTHING))
        for number in range(4):
            with pytest.raises(self.REFUSED, match="append-only"):
                sql = f"UPDATE events SET body = 'other' WHERE seq = {number}"
                await self.execute(store, sql)
        assert len(await store.archives.restore("s", "eve")) == 1
        rows = await self.rows(store)
        assert [row.is_erased for row in rows] == [True] * 4 + [False] * 3
        assert rows[4:] == closed.log[4:]
        assert prove(await store.evidence("s")).problems == []

    async def test_an_archive_that_is_not_there_is_told(self, store, closed, tmp_path):
        await store.archives.make("s", "eve")
        (file,) = (tmp_path / "archives").rglob("original")
        whole = file.read_bytes()
        for content in (whole[:-9], gzip.compress(gzip.decompress(whole) + b" "), None):
            file.write_bytes(content) if content is not None else file.unlink()
            with pytest.raises(ArchiveMissing, match="turnlog verify"):
                await store.read("alice", "s")
            with pytest.raises(ArchiveMissing):
                await store.archives.restore("s", "eve")
            problems = prove(await store.evidence("s")).problems
            assert "changed: number 0 lost its content: it is neither in the log" in problems[0]
        file.write_bytes(whole)
        assert await stored(store, "s") == closed

    async def test_only_a_session_that_is_closed_is_archived(self, store):
        await store.create_session(s.new_session("s"))
        with pytest.raises(ConfigError, match="is not archived"):
            await store.archives.make("s", "eve")
        turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
        await store.update_session("alice", "s", archived=True)
        assert await store.archives.closed("9") == []
        with pytest.raises(ConfigError, match="a turn is not over"):
            await store.archives.make("s", "eve")
        await store.finish_turn(turn)
        assert await store.archives.closed("9") == ["s"]
        assert await store.archives.closed("2026-01-01") == []

    async def test_who_reads_while_it_is_restored_reads_the_same(self, store, closed, monkeypatch):
        await store.archives.make("s", "eve")
        fill = store.archives.filled

        async def late(rows):
            await store.archives.restore("s", "eve")
            return await fill(rows)

        monkeypatch.setattr(store.archives, "filled", late)
        assert len(await store.read("alice", "s")) == 7
        assert await stored(store, "s") == closed

    def test_every_command_says_the_same(self, place, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv("TURNLOG_DATABASE_URL", place)
        monkeypatch.setenv("TURNLOG_DATA", str(tmp_path))
        monkeypatch.setenv("TURNLOG_SEAL_KEY", key := "a key of at least 32 characters, say")

        async def fill():
            async with open_store(place) as store:
                store.seals = Seals(key)
                await close(store)

        def answers():
            assert [main(command) for command in COMMANDS] == [0] * len(COMMANDS)
            lines = capsys.readouterr().out.splitlines()
            return [line for line in lines if not line.startswith("audit_reads")]  # it grows

        asyncio.run(fill())
        before = answers()
        assert main(["archive", "s"]) == 0
        assert "1 closed session, 1 new archive" in capsys.readouterr().out
        assert answers() == before
        assert main(["archive", "--older-than", "0"]) == 0
        assert "1 closed session, 0 new archives" in capsys.readouterr().out
        copy = f"sqlite:{tmp_path / 'copy'}"
        assert main(["copy", place, copy]) == 0
        assert main(["archive", "--restore"]) == 0
        assert "1 session, 1 archive: everything is in the database" in capsys.readouterr().out
        assert answers() == before


def erased(number, body, salt):
    return f"UPDATE events SET body = {body}, salt = {salt} WHERE seq = {number}"


async def everything(store):
    return [
        await store.read("alice", "s", after=2, limit=3),
        await store.tail("alice", "s", limit=4, before=6),
        await store.recall("s", 1),
        await store.has_message("msg_every"),
        await store.citations_of_session("alice", "s", limit=9),
        await store.charges(),
        await store.list_sessions("alice", limit=9, archived=True),
        await store.newest_turn("alice", "s"),
        await store.count_messages("alice", "s"),
    ]


class TestSqliteArchives(OnSqlite, Archives):
    pass


@pytest.mark.slow
class TestPostgresArchives(OnPostgres, Archives):
    pass


async def test_rows_that_are_sealed_with_their_bodies_keep_them(tmp_path):
    """They come from the first versions, which had no digests."""
    old = Path(__file__).parent.parent / "schema_6.sql"
    db = sqlite3.connect(tmp_path / "turnlog.db")
    db.executescript(old.read_text())
    db.close()
    async with Archived().opened(f"sqlite:{tmp_path}", tmp_path) as store:
        await store.update_session("alice", "whole", archived=True)
        turn = s.new_turn("new", "whole")
        turn = await store.begin_turn(turn, s.placed(s.asked()))
        await store.finish_turn(turn)
        before = await store.evidence("whole")
        (archive,) = await store.archives.make("whole", "eve")
        bodies = await store._look(
            lambda db: [len(row[0]) for row in db.execute("SELECT body FROM events"
                                                          " WHERE session_id = 'whole'")]
        )  # fmt: skip
        assert (0 in bodies[:-1], bodies[-1]) == (False, 0)
        assert await store.evidence("whole") == before
        assert len(await store.archives.restore("whole", "eve")) == 1


@pytest.mark.parametrize(
    ("store", "files", "archives"),
    [
        ("sqlite:here", None, "file:here/archives"),
        ("sqlite:here", "s3://bucket/p", "file:here/archives"),
        ("postgresql://db/x", None, "file:data/archives"),
        ("postgresql://db/x", "file:/mnt/files/", "file:/mnt/files/archives"),
        ("postgresql://db/x", "s3://bucket/p", "s3://bucket/p/archives"),
        ("postgresql://db/x", "s3://bucket", "s3://bucket/archives"),
    ],
)
def test_archives_are_where_every_node_finds_them(store, files, archives):
    assert archives_beside(store, files, "data").url == archives
