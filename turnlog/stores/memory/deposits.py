"""Deposits in a dictionary."""

from turnlog.ports.files import Part
from turnlog.ports.storage.deposits import Deposit
from turnlog.stores.memory.attached import AttachedFiles


class MemoryDeposits:
    """Deposits without a disk."""

    def __init__(self, files: AttachedFiles) -> None:
        self._files = files
        self._rows: dict[tuple[str, str], Deposit] = {}

    async def add(self, deposit: Deposit) -> None:
        self._rows[deposit.account, deposit.provider_id] = deposit

    async def find(
        self, account: str, user_id: str, file_id: str, part: Part, now: str
    ) -> Deposit | None:
        found = await self._of_file(account, user_id, file_id)
        lasting = [each for each in found if each.part == part and each.expires_at > now]
        return max(lasting, key=lambda each: each.expires_at, default=None)

    async def _of_file(self, account: str, user_id: str, file_id: str) -> list[Deposit]:
        place = (account, user_id, file_id)
        rows = self._rows.values()
        return [each for each in rows if (each.account, each.user_id, each.file_id) == place]

    async def orphans(self, account: str, *, limit: int) -> list[Deposit]:
        kept = {file.id for file in self._files.kept() if not file.deleted}
        mine = await self.every(account, limit=len(self._rows))
        return [each for each in mine if each.file_id not in kept][:limit]

    async def every(self, account: str, *, limit: int) -> list[Deposit]:
        return [each for each in self._rows.values() if each.account == account][:limit]

    async def forget(self, deposit: Deposit) -> None:
        self._rows.pop((deposit.account, deposit.provider_id), None)

    async def forget_expired(self, now: str) -> None:
        self._rows = {key: each for key, each in self._rows.items() if each.expires_at > now}
