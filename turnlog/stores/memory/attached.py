"""The table of users' files in a dictionary."""

from collections.abc import Sequence

import msgspec

from turnlog.errors import BeingDeleted, NotFound, QuotaUsedUp
from turnlog.ports import File


class AttachedFiles:
    """A FileTable without a disk."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}

    async def add(self, file: File, *, quota: int) -> File:
        before = self._same(file.user_id, file.sha256)
        if before is not None and before.deleted:
            raise BeingDeleted(f"{file.name!r} is being deleted at this moment. Try again.")
        if before is not None:
            kept = ("id", "created_at", "uses", "last_used_at")
            file = msgspec.structs.replace(file, **{name: getattr(before, name) for name in kept})
        elif (used := await self.used(file.user_id)) + file.size > quota:
            raise QuotaUsedUp(used, file.size, quota)
        self._files[file.id] = file
        return file

    async def get(self, user_id: str, file_id: str) -> File:
        file = self._files.get(file_id)
        if file is None or file.user_id != user_id or file.deleted:
            raise NotFound(f"There is no file {file_id!r}.")
        return file

    async def get_all(self, user_id: str, file_ids: Sequence[str]) -> dict[str, File]:
        found = {id: self._files[id] for id in file_ids if id in self._files}
        return {id: f for id, f in found.items() if f.user_id == user_id and not f.deleted}

    async def find(self, user_id: str, sha256: str) -> File | None:
        file = self._same(user_id, sha256)
        return None if file is None or file.deleted else file

    async def page(self, user_id: str, *, limit: int, after: str | None = None) -> list[File]:
        mine = [f for f in self._files.values() if f.user_id == user_id and not f.deleted]
        mine.sort(key=lambda file: (file.created_at, file.id), reverse=True)
        if after is not None:
            last = await self.get(user_id, after)
            mine = [f for f in mine if (f.created_at, f.id) < (last.created_at, last.id)]
        return mine[:limit]

    async def used(self, user_id: str) -> int:
        return sum(file.size for file in self._files.values() if file.user_id == user_id)

    async def note_use(self, user_id: str, file_ids: Sequence[str], at: str) -> None:
        for file_id in file_ids:
            file = self._files.get(file_id)
            if file is not None and file.user_id == user_id:
                used = msgspec.structs.replace(file, uses=file.uses + 1, last_used_at=at)
                self._files[file_id] = used

    async def mark_deleted(self, user_id: str, file_id: str) -> File:
        file = await self.get(user_id, file_id)
        self._files[file_id] = msgspec.structs.replace(file, deleted=True)
        return self._files[file_id]

    async def forget(self, user_id: str, file_id: str) -> None:
        file = self._files.get(file_id)
        if file is not None and file.user_id == user_id and file.deleted:
            del self._files[file_id]

    async def every(self, *, limit: int, after: str = "") -> list[File]:
        return [self._files[key] for key in sorted(self._files) if key > after][:limit]

    def kept(self) -> list[File]:
        return list(self._files.values())

    def _same(self, user_id: str, sha256: str) -> File | None:
        same = (f for f in self._files.values() if (f.user_id, f.sha256) == (user_id, sha256))
        return next(same, None)
