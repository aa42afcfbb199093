"""What every table of files promises."""

import asyncio

import msgspec
import pytest

from turnlog.errors import BeingDeleted, NotFound, QuotaUsedUp
from turnlog.ports import File, Store
from turnlog.testing.contracts.base import Contract

QUOTA = 1000


def file(name: str, user: str = "ann", sha256: str = "", size: int = 100) -> File:
    return File(
        id=f"id-{user}-{name}",
        user_id=user,
        session_id="s",
        created_at=f"2026-11-17T00:00:00.{len(name):06d}Z",
        name=name,
        kind="pdf",
        media_type="application/pdf",
        size=size,
        sha256=sha256 or f"sha-{name}",
        pages=3,
        text_length=12,
        metadata={"title": "Ünï", "n": 1},
    )


class FilesContract(Contract):
    """Files have one owner and one row for one content."""

    async def test_a_file_reads_back_as_it_was_added(self, store: Store) -> None:
        added = await store.files.add(file("a"), quota=QUOTA)
        assert added == file("a")
        assert await store.files.get("ann", added.id) == file("a")
        assert await store.files.find("ann", "sha-a") == file("a")
        assert await store.files.get_all("ann", [added.id, "none"]) == {added.id: file("a")}

    async def test_someone_elses_file_is_not_found(self, store: Store) -> None:
        mine = await store.files.add(file("a"), quota=QUOTA)
        for look in (store.files.get, store.files.mark_deleted):
            with pytest.raises(NotFound):
                await look("bob", mine.id)
        assert await store.files.find("bob", "sha-a") is None
        assert await store.files.get_all("bob", [mine.id]) == {}
        assert await store.files.page("bob", limit=9) == []
        assert await store.files.used("bob") == 0
        await store.files.forget("bob", mine.id)
        assert await store.files.get("ann", mine.id)

    async def test_the_same_content_again_keeps_its_id_and_takes_the_new_name(
        self, store: Store
    ) -> None:
        first = await store.files.add(file("a"), quota=QUOTA)
        again = await store.files.add(file("bb", sha256="sha-a"), quota=QUOTA)
        assert (again.id, again.created_at, again.name) == (first.id, first.created_at, "bb")
        assert await store.files.page("ann", limit=9) == [again]
        assert await store.files.used("ann") == 100

    async def test_two_users_have_the_same_content_each_for_themselves(self, store: Store) -> None:
        await store.files.add(file("a"), quota=QUOTA)
        other = await store.files.add(file("a", user="bob"), quota=QUOTA)
        assert other.id == "id-bob-a"

    async def test_the_quota_is_kept_also_when_many_come_at_once(self, store: Store) -> None:
        names = ["f" * n for n in range(1, 9)]
        adding = (store.files.add(file(n, size=300), quota=QUOTA) for n in names)
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        assert sum(isinstance(each, QuotaUsedUp) for each in outcomes) == 5
        assert await store.files.used("ann") == 900

    async def test_pages_are_newest_first_and_whole(self, store: Store) -> None:
        for name in ("a", "bb", "ccc"):
            await store.files.add(file(name), quota=QUOTA)
        first = await store.files.page("ann", limit=2)
        rest = await store.files.page("ann", limit=2, after=first[-1].id)
        assert [each.name for each in (*first, *rest)] == ["ccc", "bb", "a"]

    async def test_a_deleted_file_is_found_only_by_the_sweep_until_it_is_forgotten(
        self, store: Store
    ) -> None:
        mine = await store.files.add(file("a"), quota=QUOTA)
        await store.files.forget("ann", mine.id)  # it is not deleted: nothing happens
        await store.files.mark_deleted("ann", mine.id)
        with pytest.raises(NotFound):
            await store.files.get("ann", mine.id)
        assert await store.files.get_all("ann", [mine.id]) == {}
        assert await store.files.find("ann", "sha-a") is None
        with pytest.raises(BeingDeleted):
            await store.files.add(file("a"), quota=QUOTA)
        gone = msgspec.structs.replace(mine, deleted=True)
        assert await store.files.every(limit=9) == [gone]
        await store.files.forget("ann", mine.id)
        assert await store.files.every(limit=9) == []
        assert await store.files.add(file("a"), quota=QUOTA) == mine

    async def test_what_comes_again_does_not_bring_back_what_is_being_deleted(
        self, store: Store
    ) -> None:
        for name in ("f" * n for n in range(1, 40)):
            mine = await store.files.add(file(name, size=1), quota=QUOTA)
            again = [store.files.add(mine, quota=QUOTA) for _ in range(2)]
            marking = store.files.mark_deleted("ann", mine.id)
            await asyncio.gather(again[0], marking, again[1], return_exceptions=True)
        assert all(each.deleted for each in await store.files.every(limit=99))

    async def test_the_sweep_sees_everybodys_page_by_page(self, store: Store) -> None:
        for user in ("ann", "bob", "cid"):
            await store.files.add(file("a", user=user), quota=QUOTA)
        first = await store.files.every(limit=2)
        rest = await store.files.every(limit=2, after=first[-1].id)
        assert [each.user_id for each in (*first, *rest)] == ["ann", "bob", "cid"]

    async def test_uses_are_counted_for_the_owner_and_outlast_another_upload(
        self, store: Store
    ) -> None:
        mine = await store.files.add(file("a"), quota=QUOTA)
        await store.files.note_use("bob", [mine.id], "2026-11-17T00:00:01Z")
        await store.files.note_use("ann", [mine.id, "unknown"], "2026-11-17T00:00:02Z")
        await store.files.note_use("ann", [mine.id], "2026-11-17T00:00:03Z")
        await store.files.add(file("bb", sha256="sha-a"), quota=QUOTA)
        used = await store.files.get("ann", mine.id)
        assert (used.uses, used.last_used_at) == (2, "2026-11-17T00:00:03Z")
