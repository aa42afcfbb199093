"""Who is killed while it archives leaves the log whole, and what it leaves is removed."""

import pytest
from stores.archived import Archived, OnPostgres, OnSqlite
from stores.evidence import stored

from turnlog.errors import ConfigError


class Killed(BaseException):
    """In the place of kill -9."""


class Killing(Archived):
    """At every step."""

    @pytest.mark.parametrize(
        ("work", "step", "begun"),
        [
            ("make", "note", 0),
            ("make", "put", 1),
            ("make", "move", 1),
            ("make", "after", 0),
            ("restore", "bring back", 0),
            ("restore", "delete", 0),
            ("restore", "forget", 0),
        ],
    )
    async def test_who_dies_between_two_steps_leaves_the_log_whole_and_no_file(
        self, store, closed, place, tmp_path, monkeypatch, work, step, begun
    ):
        if work == "restore":
            await store.archives.make("s", "eve")
        beside = tmp_path / "archives" / "content" / "ab" / "cd" / "of another database"
        beside.mkdir(parents=True)
        with monkeypatch.context() as patch:
            self.kill_at(patch, store.archives, step)
            with pytest.raises(Killed):
                await getattr(store.archives, work)("s", "eve")
        async with self.opened(place, tmp_path) as other:
            assert await other.archives.sweep() == 0, "it lives, as far as anybody knows"
            await self.dies(store)
            assert await stored(other, "s") == closed
            assert await other.archives.sweep() == begun
            assert await other.archives.sweep() == 0
            assert files(tmp_path) == await self.places(other)
            assert await other.audit.flaws() == []
            await other.archives.restore("s", "eve")
            assert len(await other.archives.make("s", "eve")) == 1
            assert await stored(other, "s") == closed
            assert len(files(tmp_path)) == 1 and beside.exists()

    def kill_at(self, patch, archives, step):
        """`change` is asked for the note, the move or the return, and to forget."""
        numbers = {"note": 1, "move": 2, "bring back": 1, "forget": 2}
        change, count = archives._change, [0]

        async def changes(work):
            count[0] += 1
            if step == "after":
                await change(work)
            if count[0] == numbers.get(step, 2):
                raise Killed
            return await change(work) if step != "after" else None

        async def dies(*args):
            raise Killed

        if step in ("put", "delete"):
            patch.setattr(archives.blobs, step, dies)
        else:
            patch.setattr(archives, "_change", changes)

    async def test_who_was_taken_for_dead_does_not_finish(
        self, store, closed, place, tmp_path, monkeypatch
    ):
        """It hung while its file was written, and goes on."""
        put = store.archives.blobs.put

        async def late(*args):
            await self.dies(store)
            async with self.opened(place, tmp_path) as other:
                assert await other.archives.sweep() == 1
            await put(*args)

        monkeypatch.setattr(store.archives.blobs, "put", late)
        with pytest.raises(ConfigError, match="took this one for dead"):
            await store.archives.make("s", "eve")
        assert await stored(store, "s") == closed
        async with self.opened(place, tmp_path) as other:
            assert await other.archives.sweep() == 0
        assert files(tmp_path) == []

    async def places(self, store):
        rows = await store._look(lambda db: list(db.execute("SELECT place FROM archives")))
        return [row[0] for row in rows]


def files(folder):
    content = folder / "archives" / "content"
    return [str(file.parent.relative_to(content))[3:] for file in content.rglob("original")]


class TestSqliteArchives(OnSqlite, Killing):
    pass


@pytest.mark.slow
class TestPostgresArchives(OnPostgres, Killing):
    pass
